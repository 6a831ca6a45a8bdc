/* Draws conversions. */
#include "convert_case.h"

#include <string.h>

#define COUNT(list) ((int)(sizeof list / sizeof *list))

/* ---- types and maps ---- */

static const llrt_dtype numbers[] = {LLRT_F64,  LLRT_F32,      LLRT_F16,      LLRT_BF16, LLRT_E4M3,
                                     LLRT_E5M2, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ, LLRT_E2M1, LLRT_I32,
                                     LLRT_I16,  LLRT_I8,       LLRT_I4,       LLRT_U32,  LLRT_U16,
                                     LLRT_U8,   LLRT_U4,       LLRT_E8M0};
static const llrt_dtype moved[] = {LLRT_U8,  LLRT_I8,  LLRT_E4M3, LLRT_F16, LLRT_BF16,
                                   LLRT_U16, LLRT_F32, LLRT_U32,  LLRT_F64, LLRT_I64,
                                   LLRT_U4,  LLRT_I4,  LLRT_E2M1, LLRT_I16, LLRT_I32};
static const llrt_dtype opaque[] = {LLRT_B4,   LLRT_B8,   LLRT_B16,  LLRT_B32, LLRT_B64,
                                    LLRT_B128, LLRT_B128, LLRT_BOOL, LLRT_U64, LLRT_I64};
static const llrt_dtype narrow[] = {LLRT_U4, LLRT_I4, LLRT_E2M1}; /* which most scales are for */
static const llrt_dtype scales[] = {LLRT_F32,  LLRT_F16,  LLRT_BF16,     LLRT_E4M3,
                                    LLRT_E5M2, LLRT_E8M0, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ};

static void draw_types(uint64_t *seed, convert_case *made) {
  int kind = draw_pick(seed, LIST_TYPES);
  if (kind == TYPES_MOVED) made->type[0] = made->type[1] = moved[draw_below(seed, COUNT(moved))];
  if (kind == TYPES_OPAQUE) made->type[0] = made->type[1] = opaque[draw_below(seed, COUNT(opaque))];
  if (kind != TYPES_CAST) return;
  made->type[0] = numbers[draw_below(seed, COUNT(numbers))];
  made->type[1] = numbers[draw_below(seed, COUNT(numbers) - 1)]; /* not e8m0, the last */
}

static void draw_groups(uint64_t *seed, const convert_case *of, llrt_map *map) {
  for (int a = 0; a < of->rank; a++) {
    int64_t extent = of->shape[a];
    switch (draw_below(seed, 9)) {
    case 0: map->group[a] = LLRT_GROUP_ALL; break;
    case 1: map->group[a] = 0; break;
    case 2:
    case 6: map->group[a] = extent > 0 ? extent : 1; break;
    case 3: map->group[a] = extent + 1 + draw_below(seed, 9); break;
    case 4: map->group[a] = 1 + draw_below(seed, extent + 1); break;
    case 5: map->group[a] = 1; break;
    default: map->group[a] = 1ll << draw_below(seed, 6);
    }
  }
}

static void draw_permutation(uint64_t *seed, uint8_t perm[32]) {
  int order[32];
  for (int i = 0; i < 32; i++) order[i] = i;
  if (draw_one_in(seed, 2)) draw_shuffle(seed, order, 32);
  else
    for (int i = 0; i < 32; i++) order[i] = (i & ~12) | (i & 4) << 1 | (i & 8) >> 1; /* nibbles */
  for (int i = 0; i < 32; i++) perm[i] = (uint8_t)order[i];
}

static void draw_maps(uint64_t *seed, convert_case *made) {
  int kind = draw_pick(seed, LIST_MAPS);
  llrt_map *next = made->maps;
  bool wide = llrt_dtype_bits(made->type[0]) > 64;
  if (kind == MAPS_NONE) return;
  if (!wide && (kind == MAPS_XOR || draw_one_in(seed, 4))) {
    *next++ = (llrt_map){.kind = LLRT_MAP_XOR, .constant = draw_next(seed) >> draw_below(seed, 64)};
    if (draw_one_in(seed, 4))
      *next++ = (llrt_map){.kind = LLRT_MAP_XOR, .constant = draw_next(seed)};
  }
  if (kind == MAPS_SCALE) {
    if (made->type[0] == made->type[1] && draw_one_in(seed, 2))
      made->type[1] = numbers[draw_below(seed, COUNT(numbers) - 1)];
    if (draw_one_in(seed, 2)) made->type[0] = narrow[draw_below(seed, COUNT(narrow))];
    made->type[2] = scales[draw_below(seed, COUNT(scales))];
    next->kind = LLRT_MAP_SCALE;
    draw_groups(seed, made, next++);
  }
  if (kind == MAPS_WORDS) {
    next->kind = LLRT_MAP_WORD_BITS;
    draw_permutation(seed, next++->perm);
  }
  made->n_maps = (int32_t)(next - made->maps);
}

/* ---- indices ---- */

static int draw_policy(uint64_t *seed, int s, bool pointer) {
  for (;;) {
    int policy = draw_pick(seed, LIST_POLICY); /* in the order of llrt_out_of_range */
    if (s == 1 && (policy == POLICY_ZERO || policy == POLICY_CLAMP)) continue;
    if (pointer && policy == POLICY_CLAMP) continue;
    return policy;
  }
}

/* Strides of the values: packed in some order of the axes, with room between rows at times, values
 * shared at times. */
static void draw_value_strides(uint64_t *seed, const convert_case *of, llrt_index *index) {
  int order[LLRT_MAX_RANK];
  int64_t next = 1;
  for (int a = 0; a < of->rank; a++) order[a] = a;
  if (draw_one_in(seed, 2)) draw_shuffle(seed, order, of->rank);
  for (int i = of->rank - 1; i >= 0; i--) {
    int a = order[i];
    if (!(index->axes >> a & 1)) continue;
    index->strides[a] = next;
    if (index->out_of_range != LLRT_RANGE_REPORT && draw_one_in(seed, 20)) index->strides[a] = 0;
    else next *= of->shape[a] > 0 ? of->shape[a] : 1;
    if (draw_one_in(seed, 4)) next += draw_below(seed, 6);
  }
}

static bool is_free_axis(const convert_case *of, int s, int axis) {
  for (int i = 0; i < of->n_indices[s]; i++)
    if (of->index[s][i].index.axis == axis || of->index[s][i].index.folded >> axis & 1)
      return false;
  return true;
}

static bool has_pointers(const convert_case *of, int s) {
  for (int i = 0; i < of->n_indices[s]; i++)
    if (of->index[s][i].index.kind == LLRT_INDEX_POINTER) return true;
  return false;
}

static void draw_fold(uint64_t *seed, const convert_case *of, int s, llrt_index *index) {
  for (int a = 0; a < of->rank; a++) {
    bool folds = (index->axes >> a & 1) && a != index->axis && is_free_axis(of, s, a) &&
                 draw_one_in(seed, 3);
    index->folded |= (uint32_t)folds << a;
  }
}

static void add_index(uint64_t *seed, int s, convert_case *made) {
  int axis = (int)draw_below(seed, made->rank);
  drawn_index *drawn = &made->index[s][made->n_indices[s]];
  llrt_index *index = &drawn->index;
  if (!is_free_axis(made, s, axis)) return;
  *drawn = (drawn_index){.seed = draw_next(seed)};
  index->axis = axis;
  index->axes = draw_one_in(seed, 2) ? 1u << axis
                                     : (uint32_t)draw_below(seed, 1ll << made->rank) |
                                           (draw_one_in(seed, 4) ? 0 : 1u << axis);
  bool pointer = !has_pointers(made, s) && draw_one_in(seed, 5);
  index->kind = pointer ? LLRT_INDEX_POINTER : LLRT_INDEX_COORDINATE;
  index->out_of_range = draw_policy(seed, s, pointer);
  index->dtype = pointer                ? (draw_one_in(seed, 2) ? LLRT_I64 : LLRT_U64)
                 : draw_one_in(seed, 2) ? LLRT_I32
                                        : LLRT_I64;
  draw_fold(seed, made, s, index);
  if (pointer) {
    made->layers[s] = 1 + draw_below(seed, made->shape[axis] + 2);
    if (made->layers[s] > 9) made->layers[s] = 9;
    int least = draw_log2(llrt_dtype_bits(made->type[s])) - 3;
    index->alignment =
        draw_one_in(seed, 2) ? 0 : 1ll << ((least > 0 ? least : 0) + draw_below(seed, 5));
  } else {
    index->extent =
        draw_one_in(seed, 3) ? made->shape[axis] : 1 + draw_below(seed, 2 * made->shape[axis] + 3);
    if (draw_one_in(seed, 40) && index->out_of_range != LLRT_RANGE_CLAMP) index->extent = 0;
  }
  draw_value_strides(seed, made, index);
  drawn->bad = draw_one_in(seed, 3) ? 0 : (int32_t)draw_below(seed, draw_one_in(seed, 8) ? 17 : 7);
  drawn->order = (int32_t)draw_below(seed, 4);
  made->n_indices[s]++;
}

static void draw_indices(uint64_t *seed, convert_case *made) {
  int kind = draw_pick(seed, LIST_INDICES);
  made->layers[0] = made->layers[1] = 1;
  if (kind == INDICES_NONE || made->rank == 0) return;
  for (int s = 0; s < 2; s++) {
    if (kind == (s == 0 ? INDICES_DESTINATION : INDICES_SOURCE)) continue;
    int n = draw_one_in(seed, 2) ? 1 + (int)draw_below(seed, LLRT_MAX_INDICES) : 1;
    for (int i = 0; i < n; i++) add_index(seed, s, made);
  }
}

/* Axes beside the gathered one: most are the index's and the store's alike; some one of them lacks.
 */
static void draw_gather_axes(uint64_t *seed, const convert_case *of, llrt_index *index) {
  for (int a = 0; a < of->rank; a++) {
    if (a == index->axis) continue;
    int kind = (int)draw_below(seed, 8);
    if (kind == 0) continue;
    index->axes |= 1u << a;
    if (kind == 1) index->folded |= 1u << a;
  }
}

static void draw_gather(uint64_t *seed, int s, convert_case *made) {
  drawn_index *drawn = &made->index[s][0];
  llrt_index *index = &drawn->index;
  int axis = (int)draw_below(seed, made->rank), form = (int)draw_below(seed, 2);
  made->gather = 1 + form;
  made->n_indices[s] = 1;
  made->layers[0] = made->layers[1] = 1;
  *drawn = (drawn_index){.seed = draw_next(seed), .order = (int32_t)draw_below(seed, 4)};
  *index = (llrt_index){.axis = axis,
                        .axes = 1u << axis,
                        .out_of_range = draw_policy(seed, s, false),
                        .dtype = draw_one_in(seed, 2) ? LLRT_I32 : LLRT_I64};
  if (form == LLRT_GATHER_TAKE_ALONG) draw_gather_axes(seed, made, index);
  index->extent =
      draw_one_in(seed, 3) ? made->shape[axis] : 1 + draw_below(seed, 2 * made->shape[axis] + 3);
  draw_value_strides(seed, made, index);
  drawn->bad = draw_one_in(seed, 3) ? 0 : (int32_t)draw_below(seed, 7);
}

/* ---- counts ---- */

static void draw_counts(uint64_t *seed, convert_case *made) {
  static const int32_t sides[] = {0, 1, 2, 3};
  int kind = draw_pick(seed, LIST_COUNTS);
  if (kind == COUNTS_NONE || made->rank == 0) return;
  made->count_sides = sides[kind == COUNTS_SOURCE ? 1 : kind == COUNTS_DESTINATION ? 2 : 3];
  bool several = draw_one_in(seed, 4);
  int one = (int)draw_below(seed, made->rank);
  for (int a = 0; a < made->rank; a++) {
    if (several ? !draw_one_in(seed, 2) : a != one) continue;
    int64_t extent = made->shape[a];
    made->counted |= 1u << a;
    switch (draw_below(seed, 6)) {
    case 0: made->count[a] = (int32_t)extent; break;
    case 1: made->count[a] = draw_one_in(seed, 2) ? -1 : (int32_t)extent + 5; break;
    case 2: made->count[a] = (int32_t)(extent ? extent - 1 : 0); break;
    default: made->count[a] = (int32_t)draw_below(seed, extent + 1);
    }
  }
  if (!made->counted) made->count_sides = 0;
}

/* ---- sides ---- */

void convert_seen_shape(const convert_case *of, int s, int64_t *shape) {
  memcpy(shape, of->shape, sizeof of->shape);
  if (s == 2) {
    const llrt_map *map = of->maps;
    while (map < of->maps + of->n_maps && map->kind != LLRT_MAP_SCALE) map++;
    for (int a = 0; a < of->rank && map < of->maps + of->n_maps; a++) {
      int64_t group = map->group[a] ? map->group[a] : 1;
      shape[a] = group == LLRT_GROUP_ALL ? 1 : (of->shape[a] + group - 1) / group;
    }
    return;
  }
  for (int i = 0; i < of->n_indices[s]; i++) {
    const llrt_index *index = &of->index[s][i].index;
    shape[index->axis] = index->kind == LLRT_INDEX_POINTER ? 1 : index->extent;
    for (int a = 0; a < of->rank; a++)
      if (index->folded >> a & 1) shape[a] = 1;
  }
}

static bool maps_words(const convert_case *of) {
  return of->n_maps && of->maps[of->n_maps - 1].kind == LLRT_MAP_WORD_BITS;
}

static side_wish wish_of(const convert_case *of, int s, const int64_t *shape) {
  return (side_wish){.rank = of->rank,
                     .shape = shape,
                     .bits = llrt_dtype_bits(of->type[s]),
                     .written = s == 1 || of->in_place,
                     .plain = s == 1 && maps_words(of),
                     .most = of->most};
}

static void draw_sides(uint64_t *seed, convert_case *made) {
  int64_t shape[LLRT_MAX_RANK];
  for (int s = 0; s < (made->type[2] ? 3 : 2); s++) {
    convert_seen_shape(made, s, shape);
    side_wish wish = wish_of(made, s, shape);
    bool named = s == 2 && draw_one_in(seed, 3) && draw_named(seed, &wish, false, &made->side[s]) &&
                 side_suits(&wish, &made->side[s]);
    if (!named) draw_side_make(seed, &wish, &made->side[s]);
    made->side[s].address = draw_address(seed, made->type[s]);
    made->tight[s] = draw_pick(seed, LIST_MEMORY) == MEMORY_TIGHT;
  }
}

static void draw_words(uint64_t *seed, convert_case *made) {
  int64_t shape[LLRT_MAX_RANK];
  for (int s = 0; s < 2; s++) {
    convert_seen_shape(made, s, shape);
    side_wish wish = wish_of(made, s, shape);
    made->has_other[s] = draw_other_words(seed, &wish, &made->side[s], &made->other[s]);
  }
}

bool convert_case_suits(const convert_case *of) {
  int64_t shape[LLRT_MAX_RANK];
  for (int s = 0; s < (of->type[2] ? 3 : 2); s++) {
    convert_seen_shape(of, s, shape);
    side_wish wish = wish_of(of, s, shape);
    if (!side_suits(&wish, &of->side[s])) return false;
    if (s < 2 && of->has_other[s] && !side_suits(&wish, &of->other[s])) return false;
  }
  return true;
}

/* ---- the whole ---- */

static void draw_operands(uint64_t *s, draw_speed speed, convert_case *made) {
  memset(made, 0, sizeof *made);
  made->most = speed == SPEED_INTERPRETED ? 1 << 15 : 1 << 19;
  draw_shape(s, draw_size(s, speed), &made->rank, made->shape);
  draw_types(s, made);
  draw_maps(s, made);
}

/* Everything behind indices and counts. Words of which an index leaves elements out are no whole
 * words. */
static void draw_rest(uint64_t *s, convert_case *made) {
  if (maps_words(made) && (made->n_indices[0] || made->n_indices[1]))
    memset(&made->maps[--made->n_maps], 0, sizeof *made->maps);
  made->route = draw_pick(s, LIST_ROUTE);
  made->context = draw_pick(s, LIST_CONTEXT);
  made->in_place =
      !made->n_indices[0] && !made->n_indices[1] && !made->counted && draw_one_in(s, 14);
  if (made->in_place && !draw_one_in(s, 8)) made->type[1] = made->type[0];
  draw_sides(s, made);
  if (made->in_place) made->side[1].address = made->side[0].address;
  if (made->in_place && made->route == ROUTE_ALLOCATED) made->route = ROUTE_CALL;
  if (made->route == ROUTE_ALLOCATED && (made->n_indices[1] || side_brings_strides(&made->side[1])))
    made->route = ROUTE_CALL;
  if (made->route == ROUTE_ALLOCATED && made->counted && made->count_sides & 2)
    made->count_sides = 1;
  if (made->context == CONTEXT_WORDS) draw_words(s, made);
  if (made->context == CONTEXT_WORDS && !made->has_other[0] && !made->has_other[1])
    made->context = CONTEXT_KEPT;
  made->data = (int32_t)draw_below(s, 3);
  made->data_seed = draw_next(s);
  made->promise_seed = draw_next(s);
  made->promised = 0xFFF;
}

void convert_case_make(uint64_t seed, draw_speed speed, convert_case *made) {
  draw_operands(&seed, speed, made);
  draw_indices(&seed, made);
  draw_counts(&seed, made);
  draw_rest(&seed, made);
}

void convert_case_make_gather(uint64_t seed, draw_speed speed, bool scatter, convert_case *made) {
  do draw_operands(&seed, speed, made);
  while (made->rank == 0);
  draw_gather(&seed, scatter, made);
  draw_counts(&seed, made);
  if (made->counted) made->count_sides = scatter ? 1 : 2; /* the store's shape is another */
  draw_rest(&seed, made);
}

/* ---- print ---- */

static void say_side(side_text *to, const convert_case *of, int s) {
  static const char *const names[] = {"from", "to", "scales"};
  char name[128];
  side_text label = {name, 0, sizeof name};
  int64_t shape[LLRT_MAX_RANK];
  convert_seen_shape(of, s, shape);
  side_say(&label, "%s ", names[s]);
  if (memcmp(shape, of->shape, sizeof shape) != 0) side_say_shape(&label, of->rank, shape);
  side_print(to, name, &of->side[s], of->rank);
  if (of->tight[s]) side_say(to, " tight");
  if (s == 2 || !of->has_other[s]) return;
  side_say(to, "\n      in other words ");
  side_say_storage(to, &of->other[s].storage);
}

static void say_index(side_text *to, const convert_case *of, int s, int i) {
  static const char *const policies[] = {"SKIP", "ZERO", "CLAMP", "REPORT"};
  const drawn_index *drawn = &of->index[s][i];
  const llrt_index *index = &drawn->index;
  side_say(to,
           "\n    %s's index on axis %d: %s %s, axes %x, folded %x, extent %lld, %d in 16 out of "
           "range, strides ",
           s ? "destination" : "source", index->axis, llrt_dtype_name(index->dtype),
           policies[index->out_of_range], index->axes, index->folded, (long long)index->extent,
           drawn->bad);
  side_say_shape(to, of->rank, index->strides);
  if (index->kind == LLRT_INDEX_POINTER)
    side_say(to, ", addresses of %lld allocations aligned to %lld", (long long)of->layers[s],
             (long long)index->alignment);
}

static void say_map(side_text *to, const convert_case *of, const llrt_map *map) {
  if (map->kind == LLRT_MAP_XOR) side_say(to, ", xor %#llx", (unsigned long long)map->constant);
  if (map->kind == LLRT_MAP_WORD_BITS)
    side_say(to, ", word bits %d,%d,%d...", map->perm[0], map->perm[1], map->perm[2]);
  if (map->kind != LLRT_MAP_SCALE) return;
  side_say(to, ", scales %s of groups ", llrt_dtype_name(of->type[2]));
  side_say_shape(to, of->rank, map->group);
}

void convert_case_print(const convert_case *of, char *text, size_t size) {
  side_text to = {text, 0, size};
  side_say(&to, "%s %s to %s ",
           !of->gather        ? "convert"
           : of->n_indices[1] ? "scatter"
                              : "gather",
           llrt_dtype_name(of->type[0]), llrt_dtype_name(of->type[1]));
  side_say_shape(&to, of->rank, of->shape);
  for (int i = 0; i < of->n_maps; i++) say_map(&to, of, &of->maps[i]);
  for (int a = 0; a < of->rank; a++)
    if (of->counted >> a & 1) side_say(&to, ", count %d of axis %d", of->count[a], a);
  if (of->counted)
    side_say(&to, " (%s)",
             of->count_sides == 1   ? "source"
             : of->count_sides == 2 ? "destination"
                                    : "both");
  if (of->gather) side_say(&to, ", %s", of->gather == 2 ? "SELECT" : "TAKE_ALONG");
  side_say(&to, "%s; %s; %s", of->in_place ? ", in place" : "",
           draw_choice_text(LIST_ROUTE, of->route), draw_choice_text(LIST_CONTEXT, of->context));
  for (int s = 0; s < (of->type[2] ? 3 : 2); s++) say_side(&to, of, s);
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < of->n_indices[s]; i++) say_index(&to, of, s, i);
}
