/* Draws products, prints them and makes them smaller. */
#include "dot_case.h"

#include <string.h>

static const int other_roles[] = {LLRT_DOT_A, LLRT_DOT_D};

/* ---- draw ---- */

/* Scales for any number of positions, of rows too. */
static void draw_groups(uint64_t *seed, dot_problem *p) {
  for (int operand = 0; operand < 2; operand++) {
    int along = operand ? 0 : 1;
    bool narrow = llrt_dtype_bits(p->type[operand ? LLRT_DOT_B : LLRT_DOT_A]) <= 8;
    if (!p->type[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] || (operand && p->packed)) continue;
    if (narrow && draw_one_in(seed, 3)) p->group[operand][along] = 1 + draw_below(seed, p->k + 3);
    if (draw_one_in(seed, 3))
      p->group[operand][!along] = draw_one_in(seed, 4) ? LLRT_GROUP_ALL : 1 + draw_below(seed, 20);
  }
}

static void draw_batches(uint64_t *seed, dot_problem *p) {
  int64_t all = 1;
  if (p->n_batch == 0 || p->packed || !draw_one_in(seed, 2)) return;
  p->n_batch = 1 + (int)draw_below(seed, DOT_MAX_BATCH);
  memset(p->storage, 0, sizeof p->storage); /* those are of another rank */
  for (int i = 0; i < p->n_batch; i++) {
    p->batch[i] = draw_one_in(seed, 2) ? 1 : 1 + draw_below(seed, 3);
    if (all * p->batch[i] > 6) p->batch[i] = 1;
    all *= p->batch[i];
  }
}

static llrt_dtype type_of(const dot_case *of, int role) {
  return of->problem.type[role] ? of->problem.type[role]
                                : LLRT_F64; /* D's default has at most its bits */
}

/* Also of what is read no two elements share a place: each has a number of its own. */
static side_wish wish_of(const dot_case *of, int role, int64_t *shape) {
  side_wish wish = {
      .shape = shape, .bits = llrt_dtype_bits(type_of(of, role)), .written = true, .most = 1 << 18};
  wish.rank = dot_problem_extents(&of->problem, role, shape);
  return wish;
}

/* Packed elements and what lies as another engine has it stay. */
static bool may_lie(const dot_case *of, int role) {
  const dot_problem *p = &of->problem;
  bool weights = role == LLRT_DOT_B || role == LLRT_DOT_SCALE_B || role == LLRT_DOT_ZERO_B;
  return dot_case_has(of, role) && !(weights && (p->packed || p->twiddled));
}

static void draw_sides(uint64_t *seed, dot_case *of) {
  int64_t shape[LLRT_MAX_RANK] = {0};
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    side_wish wish = wish_of(of, r, shape);
    bool own = may_lie(of, r) && !draw_one_in(seed, 3);
    if (!dot_case_has(of, r)) continue;
    if (own) draw_side_make(seed, &wish, &of->side[r]);
    of->lies[r] = own;
    if (r == LLRT_DOT_D && !of->problem.type[r])
      of->side[r].storage.pad_value = 0; /* whose type is not known here */
    of->side[r].address = draw_address(seed, type_of(of, r));
    of->tight |= (uint32_t)(draw_pick(seed, LIST_MEMORY) == MEMORY_TIGHT) << r;
  }
}

/* C lies where D does. */
static void put_in_place(dot_case *of) {
  if (!of->problem.in_place) return;
  of->side[LLRT_DOT_C] = of->side[LLRT_DOT_D];
  of->lies[LLRT_DOT_C] = of->lies[LLRT_DOT_D];
  memcpy(of->problem.storage[LLRT_DOT_C], of->problem.storage[LLRT_DOT_D], DOT_STORAGE_TEXT);
}

static void draw_words(uint64_t *seed, dot_case *of) {
  int64_t shape[LLRT_MAX_RANK] = {0};
  for (int i = 0; i < 2; i++) {
    side_wish wish = wish_of(of, other_roles[i], shape);
    bool drawn = of->lies[other_roles[i]] && !of->problem.in_place;
    of->has_other[i] =
        drawn && draw_other_words(seed, &wish, &of->side[other_roles[i]], &of->other[i]);
  }
  if (!of->has_other[0] && !of->has_other[1]) of->context = CONTEXT_KEPT;
}

/* ---- digits of K ---- */

#define MOST_K_DIGITS 3

typedef struct k_digits {
  int n;
  int64_t extent[MOST_K_DIGITS]; /* from the lowest on */
} k_digits;

/* One of the divisors that are less than the number, those that are no powers of two first; 1:
 * there is none. */
static int64_t draw_part_of(uint64_t *seed, int64_t number) {
  int64_t part[2] = {1, 1}; /* the last one seen of either kind */
  int seen[2] = {0, 0};
  for (int64_t d = 2; d < number && d <= 64; d++) {
    int power = draw_log2(d) >= 0;
    if (number % d == 0 && draw_one_in(seed, ++seen[power])) part[power] = d;
  }
  return part[0] > 1 ? part[0] : part[1];
}

/* Of the K that there is, whose groups of scales stay; else of another one. */
static k_digits draw_k_digits(uint64_t *seed, dot_problem *p, int64_t most) {
  static const int64_t extents[] = {3, 3, 5, 6, 7, 9, 10, 12, 15, 2, 4, 8};
  k_digits made = {.n = 1, .extent = {p->k}};
  int n = 2 + draw_one_in(seed, 3);
  if (p->type[LLRT_DOT_SCALE_A] || p->type[LLRT_DOT_SCALE_B]) {
    for (int64_t part; made.n < n && (part = draw_part_of(seed, made.extent[made.n - 1])) > 1;
         made.n++) {
      made.extent[made.n] = made.extent[made.n - 1] / part;
      made.extent[made.n - 1] = part;
    }
    return made;
  }
  p->k = 1;
  for (made.n = 0; made.n < n; made.n++) {
    int64_t extent = extents[draw_below(seed, sizeof extents / sizeof *extents)];
    if (p->k * extent > most) extent = 3;
    made.extent[made.n] = extent;
    p->k *= extent;
  }
  return made;
}

static void lay_k(uint64_t *seed, dot_case *of, int role, const k_digits *digits) {
  int64_t shape[LLRT_MAX_RANK] = {0};
  side_wish wish = wish_of(of, role, shape);
  int axis = wish.rank - (role == LLRT_DOT_A ? 1 : 2);
  int32_t address = of->side[role].address;
  of->problem.storage[role][0] = 0;
  of->lies[role] = true;
  draw_split(seed, &wish, axis, digits->n, digits->extent, &of->side[role]);
  if (!side_suits(&wish, &of->side[role])) of->lies[role] = false;
  of->side[role].address = address;
}

/* Digits along K that neither side's instruction takes as bits, without gaps between them: all else
 * that the storages' draws make of a small K is hardly ever so. Last, so that it moves no other
 * draw. */
static void draw_depth(uint64_t *seed, dot_case *of, int64_t most) {
  dot_problem *p = &of->problem;
  int depth = draw_pick(seed, LIST_DEPTH);
  if (depth == DEPTH_ANY || p->packed || p->twiddled || p->k == 0 || of->has_other[0]) return;
  k_digits digits = draw_k_digits(seed, p, most), turned = digits;
  for (int i = 0; i < digits.n; i++) turned.extent[i] = digits.extent[digits.n - 1 - i];
  const k_digits whole = {.n = 1, .extent = {p->k}};
  int lone = depth == DEPTH_ONE ? (int)draw_below(seed, 2) : 2;
  lay_k(seed, of, LLRT_DOT_A, lone == 1 ? &whole : &digits);
  lay_k(seed, of, LLRT_DOT_B, lone == 0 ? &whole : depth == DEPTH_TURNED ? &turned : &digits);
}

void dot_case_make(uint64_t seed, draw_speed speed, bool packed, dot_case *made) {
  uint64_t *s = &seed;
  memset(made, 0, sizeof *made);
  int most = draw_one_in(s, 4) ? (speed == SPEED_HARDWARE ? 140 : 70) : 34;
  if (packed) dot_problem_random_packed(draw_next(s), most, &made->problem);
  else dot_problem_random(draw_next(s), most, &made->problem);
  memset(made->problem.shift, 0, sizeof made->problem.shift); /* addresses are drawn here */
  draw_groups(s, &made->problem);
  draw_batches(s, &made->problem);
  made->route = draw_pick(s, LIST_ROUTE);
  made->context = draw_pick(s, LIST_CONTEXT);
  draw_sides(s, made);
  put_in_place(made);
  bool fixed = made->problem.in_place ||
               (made->lies[LLRT_DOT_D] && side_brings_strides(&made->side[LLRT_DOT_D]));
  if (made->route == ROUTE_ALLOCATED && fixed) made->route = ROUTE_CALL;
  if (made->context == CONTEXT_WORDS) draw_words(s, made);
  made->data_seed = draw_next(s);
  made->promise_seed = draw_next(s);
  made->promised = ~0u;
  draw_depth(s, made, speed == SPEED_HARDWARE ? 4096 : speed == SPEED_EMULATED ? 400 : 150);
}

/* ---- print ---- */

static const char *const names[LLRT_DOT_ROLES] = {
    "A",           "D",           "B",          "C",           "bias", "scales of A", "zeros of A",
    "global of A", "scales of B", "zeros of B", "global of B", "ADD",  "SCALE"};

void dot_case_print(const dot_case *of, char *text, size_t size) {
  side_text to = {text, 0, size};
  int64_t shape[LLRT_MAX_RANK] = {0};
  char title[DOT_TITLE_BYTES];
  dot_problem_title(&of->problem, title, sizeof title);
  side_say(&to, "dot %s; %s; %s", title, draw_choice_text(LIST_ROUTE, of->route),
           draw_choice_text(LIST_CONTEXT, of->context));
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    if (!dot_case_has(of, r)) continue;
    int rank = dot_problem_extents(&of->problem, r, shape);
    if (of->lies[r]) side_print(&to, names[r], &of->side[r], rank);
    else
      side_say(&to, "\n    %s %s%s", names[r], of->problem.storage[r],
               of->side[r].address ? " moved" : "");
    side_say(&to, " ");
    side_say_shape(&to, rank, shape);
    if (of->tight >> r & 1) side_say(&to, " tight");
  }
  for (int i = 0; i < 2; i++) {
    if (!of->has_other[i]) continue;
    side_say(&to, "\n    %s in other words ", names[other_roles[i]]);
    side_say_storage(&to, &of->other[i].storage);
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

static void drop_map(dot_problem *p, int kind) {
  int n = 0;
  for (int i = 0; i < p->n_maps; i++)
    if (p->map[i] != kind) p->map[n++] = p->map[i];
  p->n_maps = n;
}

static bool drop_role(dot_case *of, int role) {
  dot_problem *p = &of->problem;
  if (role < LLRT_DOT_C || !p->type[role] || (p->packed && role == LLRT_DOT_SCALE_B)) return false;
  if (role == LLRT_DOT_SCALE_A || role == LLRT_DOT_SCALE_B) {
    if (p->type[role + 1]) return false;
    memset(p->group[role == LLRT_DOT_SCALE_B], 0, sizeof p->group[0]);
    memset(p->range[role == LLRT_DOT_SCALE_B], 0, sizeof p->range[0]);
  }
  if (role == LLRT_DOT_C) p->in_place = false;
  if (role == LLRT_DOT_ADD) drop_map(p, LLRT_MAP_ADD);
  if (role == LLRT_DOT_SCALE_D) drop_map(p, LLRT_MAP_SCALE);
  p->type[role] = LLRT_DTYPE_NONE;
  of->lies[role] = false;
  return true;
}

static bool drop_activation(dot_case *of) {
  int before = of->problem.n_maps;
  drop_map(&of->problem, LLRT_MAP_RELU);
  drop_map(&of->problem, LLRT_MAP_GELU);
  drop_map(&of->problem, LLRT_MAP_SILU);
  return of->problem.n_maps < before;
}

static bool shrink_extent(dot_case *of, int which, int way) {
  dot_problem *p = &of->problem;
  int64_t *extent = which == 0   ? &p->m
                    : which == 1 ? &p->n
                    : which == 2 ? &p->k
                                 : &p->batch[which - 3];
  int64_t to = way % 4 == 0   ? 1
               : way % 4 == 1 ? *extent / 2
               : way % 4 == 2 ? *extent - 1
                              : 3 * *extent / 4;
  if ((which >= 3 && which - 3 >= p->n_batch) || to < 1 || to >= *extent) return false;
  for (int r = 0; r < LLRT_DOT_ROLES && way >= 4; r++)
    for (int a = 0; a < LLRT_MAX_RANK && of->lies[r]; a++) side_follow_extent(&of->side[r], a);
  *extent = to;
  return true;
}

/* The first batch axis, where it has one position. */
static bool drop_batch(dot_case *of) {
  dot_problem *p = &of->problem;
  int64_t shape[LLRT_MAX_RANK];
  if (p->n_batch == 0 || p->batch[0] != 1) return false;
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (of->lies[r] && dot_problem_extents(p, r, shape) == p->n_batch + 2 &&
        !side_without_axis(&of->side[r], 0))
      return false;
  memmove(p->batch, p->batch + 1, sizeof *p->batch * (DOT_MAX_BATCH - 1));
  if (--p->n_batch == 0) p->shared[0] = p->shared[1] = false;
  return true;
}

static bool edit_side(dot_case *of, int role, int way) {
  int64_t shape[LLRT_MAX_RANK];
  if (!of->lies[role] || (role < 2 && of->has_other[role])) return false;
  int rank = dot_problem_extents(&of->problem, role, shape);
  if (way == 0) return clear(&of->lies[role]); /* row_major, or what the problem has */
  return side_edit(&of->side[role], rank, shape, way - 1);
}

static bool drop_text(dot_case *of, int role) {
  bool was = of->problem.storage[role][0] && !of->lies[role] && may_lie(of, role);
  if (was) of->problem.storage[role][0] = 0;
  return was;
}

static bool is_next(int *left, int n, int *at) {
  *at = *left;
  *left -= n;
  return *at >= 0 && *at < n;
}

static bool edit(dot_case *of, int way, bool *known) {
  dot_problem *p = &of->problem;
  int at;
  *known = true;
  if (is_next(&way, 1, &at)) return set(&of->route, ROUTE_CALL);
  if (is_next(&way, 1, &at))
    return of->context != CONTEXT_WORDS && set(&of->context, CONTEXT_FRESH);
  if (is_next(&way, LLRT_DOT_ROLES, &at)) return drop_role(of, at);
  if (is_next(&way, 1, &at)) return drop_activation(of);
  if (is_next(&way, 1, &at)) return clear(&p->in_place);
  if (is_next(&way, 1, &at)) return clear(&p->tf32);
  if (is_next(&way, 1, &at)) return clear(&p->fast);
  if (is_next(&way, 2, &at)) {
    double *factor = at ? &p->beta : &p->alpha, was = *factor;
    *factor = 0;
    return was != 0;
  }
  if (is_next(&way, 1, &at)) {
    llrt_dtype was = p->accumulate;
    p->accumulate = LLRT_DTYPE_NONE;
    return was != LLRT_DTYPE_NONE;
  }
  if (is_next(&way, 2, &at))
    return clear(&of->has_other[at]) && (of->has_other[0] || of->has_other[1]);
  if (is_next(&way, 1, &at)) {
    bool was = of->tight != 0;
    of->tight = 0;
    return was;
  }
  if (is_next(&way, LLRT_DOT_ROLES, &at)) return set(&of->side[at].address, 0);
  if (is_next(&way, 32, &at)) {
    bool was = of->route == ROUTE_PROMISED && of->promised >> at & 1;
    of->promised &= ~(1u << at);
    return was;
  }
  if (is_next(&way, 8 * 8, &at)) return shrink_extent(of, at / 8, at % 8);
  if (is_next(&way, 1, &at)) return drop_batch(of);
  if (is_next(&way, LLRT_DOT_ROLES, &at)) return drop_text(of, at);
  if (is_next(&way, LLRT_DOT_ROLES * (SIDE_WAYS + 1), &at))
    return edit_side(of, at % LLRT_DOT_ROLES, at / LLRT_DOT_ROLES);
  *known = false;
  return false;
}

static bool suits(const dot_case *of) {
  int64_t shape[LLRT_MAX_RANK] = {0};
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    if (!of->lies[r]) continue;
    side_wish wish = wish_of(of, r, shape);
    if (!side_suits(&wish, &of->side[r])) return false;
  }
  for (int i = 0; i < 2; i++) {
    side_wish wish = wish_of(of, other_roles[i], shape);
    if (of->has_other[i] && !side_suits(&wish, &of->other[i])) return false;
  }
  return true;
}

static int64_t cost_of(const dot_case *of) {
  const dot_problem *p = &of->problem;
  int64_t cost = 5 * (of->route != ROUTE_CALL) + (of->context == CONTEXT_KEPT) +
                 2 * (p->m + p->n + p->k) + 5 * p->n_maps;
  cost += 10 * p->in_place + p->tf32 + p->fast + (p->alpha != 0) + (p->beta != 0) +
          (p->accumulate != 0) + (of->tight != 0);
  for (int i = 0; i < p->n_batch; i++) cost += 20 + 2 * p->batch[i];
  if (of->route == ROUTE_PROMISED) cost += __builtin_popcount(of->promised);
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    if (!dot_case_has(of, r)) continue;
    cost += 50 + (of->side[r].address != 0) +
            (of->lies[r]        ? 15 + side_cost(&of->side[r])
             : p->storage[r][0] ? 40
                                : 0);
  }
  return cost + 50 * (of->has_other[0] + of->has_other[1]);
}

int dot_case_edit(dot_case *of, int way) {
  bool known;
  int64_t before = cost_of(of);
  bool done = edit(of, way, &known);
  if (!known) return 0;
  put_in_place(of);
  return done && cost_of(of) < before && suits(of) ? 1 : -1;
}
