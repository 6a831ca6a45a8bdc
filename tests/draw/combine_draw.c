/* Draws reduces and scans, prints them and makes them smaller. */
#include "combine_case.h"

#include <string.h>

/* ---- shapes ---- */

static void insert_axis(combine_case *of, int at, int64_t extent, bool combined) {
  uint32_t low = (1u << at) - 1;
  memmove(&of->shape[at + 1], &of->shape[at], sizeof *of->shape * (size_t)(of->rank++ - at));
  of->shape[at] = extent;
  of->axes = (of->axes & low) | (uint32_t)combined << at | (of->axes & ~low) << 1;
}

/* Axes of one position, and axes split in two that are combined alike. */
static void raise_rank(uint64_t *seed, combine_case *of) {
  int wanted = draw_pick(seed, LIST_RANK);
  for (int turn = 0; turn < 8 && of->rank < wanted; turn++) {
    int at = (int)draw_below(seed, of->rank);
    bool combined = of->axes >> at & 1;
    int64_t part = 2 + draw_below(seed, 4), extent = of->shape[at];
    if (draw_one_in(seed, 2))
      insert_axis(of, (int)draw_below(seed, of->rank + 1), 1, !of->scan && draw_one_in(seed, 2));
    else if (!(of->scan && combined) && extent > part && extent % part == 0) {
      of->shape[at] = extent / part;
      insert_axis(of, at + 1, part, combined);
    }
  }
}

int combine_shape(const combine_case *of, int t, int64_t *shape) {
  int rank = 0;
  for (int a = 0; a < of->rank; a++) {
    bool reduced = t > 0 && !of->scan && of->axes >> a & 1;
    if (reduced && !of->keeps) continue;
    shape[rank++] = reduced ? 1 : of->shape[a];
  }
  return rank;
}

/* ---- sides ---- */

static int tensors_of(const combine_case *of) { return of->values ? 3 : 2; }

static llrt_dtype type_of(const combine_case *of, int t) {
  combine_kind whole =
      combine_reference_resolve(of->kind.op, of->kind.from, of->kind.accumulate, of->kind.to);
  return t == 1 ? whole.to : whole.from;
}

static side_wish wish_of(const combine_case *of, int t, int64_t *shape) {
  side_wish wish = {
      .shape = shape, .bits = llrt_dtype_bits(type_of(of, t)), .written = t > 0, .most = 1 << 19};
  wish.rank = combine_shape(of, t, shape);
  return wish;
}

static void draw_sides(uint64_t *seed, combine_case *of) {
  int64_t shape[LLRT_MAX_RANK];
  for (int t = 0; t < tensors_of(of); t++) {
    side_wish wish = wish_of(of, t, shape);
    draw_side_make(seed, &wish, &of->side[t]);
    of->side[t].address = draw_address(seed, type_of(of, t));
    of->tight[t] = draw_pick(seed, LIST_MEMORY) == MEMORY_TIGHT;
  }
}

static bool suits(const combine_case *of) {
  int64_t shape[LLRT_MAX_RANK];
  for (int t = 0; t < tensors_of(of); t++) {
    side_wish wish = wish_of(of, t, shape);
    if (!side_suits(&wish, &of->side[t])) return false;
    if (t < 2 && of->has_other[t] && !side_suits(&wish, &of->other[t])) return false;
  }
  return true;
}

static void draw_words(uint64_t *seed, combine_case *of) {
  int64_t shape[LLRT_MAX_RANK];
  for (int t = 0; t < 2; t++) {
    side_wish wish = wish_of(of, t, shape);
    of->has_other[t] = draw_other_words(seed, &wish, &of->side[t], &of->other[t]);
  }
  if (!of->has_other[0] && !of->has_other[1]) of->context = CONTEXT_KEPT;
}

/* ---- the whole ---- */

static void draw_counts(uint64_t *seed, combine_case *of) {
  bool arg = combine_is_arg(of->kind.op);
  if (of->scan || !draw_one_in(seed, 6)) return;
  for (int a = 0; a < of->rank; a++) {
    if (!(of->axes >> a & 1) || of->shape[a] == 0 || draw_one_in(seed, 2)) continue;
    of->counted |= 1u << a;
    of->count[a] = draw_one_in(seed, 5) ? (int32_t)of->shape[a] + 3
                                        : 1 + (int32_t)draw_below(seed, of->shape[a]);
    if (!arg && draw_one_in(seed, 7)) of->count[a] = draw_one_in(seed, 2) ? 0 : -2;
  }
}

void combine_case_make(uint64_t seed, draw_speed speed, bool scan, combine_case *made) {
  uint64_t *s = &seed;
  combine_problem drawn;
  memset(made, 0, sizeof *made);
  int64_t most = draw_size(s, speed);
  if (scan) combine_random_scan(draw_next(s), most, &drawn);
  else combine_random_reduce(draw_next(s), most, &drawn);
  *made = (combine_case){.scan = scan,
                         .keeps = drawn.keeps,
                         .values = drawn.values,
                         .exclusive = drawn.exclusive,
                         .reverse = drawn.reverse,
                         .kind = drawn.kind,
                         .data = drawn.data,
                         .rank = drawn.rank,
                         .axes = drawn.axes};
  memcpy(made->shape, drawn.shape, sizeof drawn.shape);
  raise_rank(s, made);
  draw_counts(s, made);
  made->route = draw_pick(s, LIST_ROUTE);
  made->context = draw_pick(s, LIST_CONTEXT);
  draw_sides(s, made);
  bool brought = side_brings_strides(&made->side[1]) || made->values;
  if (made->route == ROUTE_ALLOCATED && brought) made->route = ROUTE_CALL;
  if (made->context == CONTEXT_WORDS) draw_words(s, made);
  made->data_seed = draw_next(s);
  made->promise_seed = draw_next(s);
  made->promised = 0xFFF;
}

/* ---- print ---- */

void combine_case_print(const combine_case *of, char *text, size_t size) {
  static const char *const ops[] = {"",       "sum",    "prod", "min", "max",
                                    "argmin", "argmax", "any",  "all"};
  static const char *const names[] = {"from", "to", "values to"};
  combine_kind whole =
      combine_reference_resolve(of->kind.op, of->kind.from, of->kind.accumulate, of->kind.to);
  side_text to = {text, 0, size};
  int64_t shape[LLRT_MAX_RANK];
  side_say(&to, "%s %s of %s in %s to %s ", of->scan ? "scan" : "reduce", ops[whole.op],
           llrt_dtype_name(whole.from), llrt_dtype_name(whole.accumulate),
           llrt_dtype_name(whole.to));
  side_say_shape(&to, of->rank, of->shape);
  side_say(&to, " along");
  for (int a = 0; a < of->rank; a++)
    if (of->axes >> a & 1) side_say(&to, " %d", a);
  for (int a = 0; a < of->rank; a++)
    if (of->counted >> a & 1) side_say(&to, ", count %d of axis %d", of->count[a], a);
  side_say(&to, "%s%s%s; %s; %s", of->exclusive ? ", exclusive" : "",
           of->reverse ? ", reverse" : "", of->keeps && !of->scan ? ", axes kept" : "",
           draw_choice_text(LIST_ROUTE, of->route), draw_choice_text(LIST_CONTEXT, of->context));
  for (int t = 0; t < tensors_of(of); t++) {
    side_print(&to, names[t], &of->side[t], combine_shape(of, t, shape));
    if (of->tight[t]) side_say(&to, " tight");
    if (t == 2 || !of->has_other[t]) continue;
    side_say(&to, "\n      in other words ");
    side_say_storage(&to, &of->other[t].storage);
  }
}

/* ---- smaller ---- */

static bool clear(bool *flag) {
  bool was = *flag;
  *flag = false;
  return was;
}

static bool set(int32_t *number, int32_t to) {
  bool differs = *number != to;
  *number = to;
  return differs;
}

static bool shrink_axis(combine_case *of, int axis, int way) {
  int64_t extent = axis < of->rank ? of->shape[axis] : 0, to = way == 0   ? 1
                                                               : way == 1 ? extent / 2
                                                               : way == 2 ? extent - 1
                                                                          : 3 * extent / 4;
  if (to < 1 || to >= extent) return false;
  of->shape[axis] = to;
  if (of->counted >> axis & 1 && of->count[axis] > to) of->count[axis] = (int32_t)to;
  return true;
}

static bool shrink_fixed(combine_case *of, int axis, int way) {
  for (int t = 0, own; t < 3; t++) {
    if (t < 2 && of->has_other[t]) return false;
    own = axis;
    for (int a = 0; a < axis; a++) own -= t > 0 && !of->scan && !of->keeps && of->axes >> a & 1;
    side_follow_extent(&of->side[t], own);
  }
  return shrink_axis(of, axis, way);
}

static uint32_t without(uint32_t mask, int axis) {
  uint32_t low = (1u << axis) - 1;
  return (mask & low) | (mask >> 1 & ~low);
}

/* An axis of one position; of what is combined not the last one. */
static bool drop_axis(combine_case *of, int axis) {
  if (axis >= of->rank || of->shape[axis] != 1 || of->counted >> axis & 1 || of->axes == 1u << axis)
    return false;
  bool reduced = !of->scan && of->axes >> axis & 1;
  for (int t = 0; t < tensors_of(of); t++) {
    int own = axis;
    for (int a = 0; a < axis; a++) own -= t > 0 && !of->scan && !of->keeps && of->axes >> a & 1;
    if (t > 0 && reduced && !of->keeps) continue;
    if (!side_without_axis(&of->side[t], own)) return false;
    if (t < 2 && of->has_other[t] && !side_without_axis(&of->other[t], own)) return false;
  }
  memmove(&of->shape[axis], &of->shape[axis + 1],
          sizeof *of->shape * (size_t)(LLRT_MAX_RANK - 1 - axis));
  memmove(&of->count[axis], &of->count[axis + 1],
          sizeof *of->count * (size_t)(LLRT_MAX_RANK - 1 - axis));
  of->shape[--of->rank] = 0;
  of->axes = without(of->axes, axis);
  of->counted = without(of->counted, axis);
  return true;
}

static bool plain_data(combine_case *of) {
  bool was = of->data.rare || of->data.any_code;
  of->data.rare = 0;
  of->data.any_code = false;
  return was;
}

static bool edit_side(combine_case *of, int t, int way) {
  int64_t shape[LLRT_MAX_RANK];
  if (t >= tensors_of(of) || (t < 2 && of->has_other[t])) return false;
  int rank = combine_shape(of, t, shape);
  return side_edit(&of->side[t], rank, shape, way);
}

static bool is_next(int *left, int n, int *at) {
  *at = *left;
  *left -= n;
  return *at >= 0 && *at < n;
}

static bool edit(combine_case *of, int way, bool *known) {
  int at;
  *known = true;
  if (is_next(&way, 1, &at)) return set(&of->route, ROUTE_CALL);
  if (is_next(&way, 1, &at))
    return of->context != CONTEXT_WORDS && set(&of->context, CONTEXT_FRESH);
  if (is_next(&way, 1, &at)) return clear(&of->values);
  if (is_next(&way, 1, &at)) return clear(&of->exclusive);
  if (is_next(&way, 1, &at)) return clear(&of->reverse);
  if (is_next(&way, 1, &at)) return plain_data(of);
  if (is_next(&way, 3, &at)) return clear(&of->tight[at]);
  if (is_next(&way, 3, &at)) return set(&of->side[at].address, 0);
  if (is_next(&way, 2, &at))
    return clear(&of->has_other[at]) && (of->has_other[0] || of->has_other[1]);
  if (is_next(&way, LLRT_MAX_RANK, &at)) {
    bool counted = of->counted >> at & 1;
    of->counted &= ~(1u << at);
    return counted;
  }
  if (is_next(&way, 12, &at)) {
    bool promised = of->route == ROUTE_PROMISED && of->promised >> at & 1;
    of->promised &= ~(1u << at);
    return promised;
  }
  if (is_next(&way, 4 * LLRT_MAX_RANK, &at)) return shrink_axis(of, at / 4, at % 4);
  if (is_next(&way, 4 * LLRT_MAX_RANK, &at)) return shrink_fixed(of, at / 4, at % 4);
  if (is_next(&way, LLRT_MAX_RANK, &at)) return drop_axis(of, at);
  if (is_next(&way, 3 * SIDE_WAYS, &at)) return edit_side(of, at % 3, at / 3);
  *known = false;
  return false;
}

static int64_t cost_of(const combine_case *of) {
  int64_t cost =
      5 * (of->route != ROUTE_CALL) + (of->context == CONTEXT_KEPT) + of->exclusive + of->reverse;
  cost += (of->data.rare > 0) + of->data.any_code;
  if (of->route == ROUTE_PROMISED) cost += __builtin_popcount(of->promised);
  for (int a = 0; a < of->rank; a++) cost += 20 + 2 * of->shape[a] + 40 * (of->counted >> a & 1);
  for (int t = 0; t < tensors_of(of); t++)
    cost += side_cost(&of->side[t]) + of->tight[t] + (t < 2 && of->has_other[t] ? 50 : 0);
  return cost;
}

int combine_case_edit(combine_case *of, int way) {
  bool known;
  int64_t before = cost_of(of);
  bool done = edit(of, way, &known);
  if (!known) return 0;
  return done && cost_of(of) < before && suits(of) ? 1 : -1;
}
