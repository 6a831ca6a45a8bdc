/* Problems made of seeds: dot_problem.h. */
#include "dot_problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof list / sizeof *list))

static bool one_in(uint64_t *seed, int n) { return dot_random_below(seed, n) == 0; }

static llrt_dtype one_of(uint64_t *seed, const llrt_dtype *types, int n) {
  return types[dot_random_below(seed, n)];
}

static const llrt_dtype addends[] = {LLRT_F32, LLRT_F16, LLRT_BF16};

/* ---- storages ---- */

#define WORDS "{offset: [[1,0],[0,1],[2,0],[0,2],[4,0],[0,4],[8,8],[0,8]]} -> [dim0:16, dim1:16]"

typedef struct tile {
  int rows, columns;
  const char *text;
} tile;

static const tile tiles[] = {
    {16, 8, "identity1d(8, offset, dim1) * identity1d(16, offset, dim0)"},
    {4, 32, "identity1d(4, offset, dim0) * identity1d(32, offset, dim1)"},
    {16, 16, WORDS},
    {32, 32, "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"},
};

/* Strides of a permutation of the axes, half of them with gaps; of 4-bit elements even ones. */
static void say_strides(uint64_t *seed, int rank, const int64_t *extent, bool pairs, char *text) {
  int order[LLRT_MAX_RANK] = {0}, n;
  int64_t stride[LLRT_MAX_RANK], next = 1;
  bool shuffled = dot_random_below(seed, 2);
  for (int i = 0; i < rank; i++) {
    int at = shuffled ? dot_random_below(seed, i + 1) : i;
    order[i] = order[at];
    order[at] = rank - 1 - i;
  }
  for (int i = 0; i < rank; i++) {
    stride[order[i]] = next;
    next *= extent[order[i]] > 1 ? extent[order[i]] : 1;
    if (dot_random_below(seed, 2)) next += dot_random_below(seed, 9) << dot_random_below(seed, 4);
    if (pairs) next += next & 1;
  }
  n = snprintf(text, DOT_STORAGE_TEXT, "strided(");
  for (int i = 0; i < rank; i++)
    n += snprintf(text + n, DOT_STORAGE_TEXT - (size_t)n, "%c%lld", i ? ',' : '[',
                  (long long)stride[i]);
  snprintf(text + n, DOT_STORAGE_TEXT - (size_t)n, "])");
}

static void say_tile(uint64_t *seed, const int64_t *extent, char *text) {
  const tile *t = &tiles[dot_random_below(seed, COUNT(tiles))];
  int first = dot_random_below(seed, 2);
  if (extent[0] % t->rows || extent[1] % t->columns) return;
  snprintf(text, DOT_STORAGE_TEXT, "tiled([%d,%d], %s, order=[%d,%d])", t->rows, t->columns,
           t->text, first, !first);
}

/* Rows at a pitch, behind a few elements; of what is written twice. */
static void say_pitch(uint64_t *seed, const int64_t *extent, bool written, char *text) {
  int64_t pitch = extent[1] + 2 * dot_random_below(seed, 9);
  int n = snprintf(text, DOT_STORAGE_TEXT, "S[(%lld,%lld):(%lld@m,1@m)]", (long long)extent[0],
                   (long long)extent[1], (long long)pitch);
  if (written && dot_random_below(seed, 2))
    n += snprintf(text + n, DOT_STORAGE_TEXT - (size_t)n, " + R[2:%lld@m]",
                  (long long)(pitch * extent[0] + 8));
  if (dot_random_below(seed, 2))
    snprintf(text + n, DOT_STORAGE_TEXT - (size_t)n, " + %d@m", 2 * dot_random_below(seed, 20));
}

/* Appends to the n bytes of a storage's text; how many there are then. */
static int __attribute__((format(printf, 3, 4))) say(char *text, int n, const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  n += vsnprintf(text + n, DOT_STORAGE_TEXT - (size_t)n, format, rest);
  va_end(rest);
  return n;
}

/* Tiles of the last two axes, side by side with pads; of the last three where `batched`: a bit of
 * the first of them adds to one of the last. */
static void say_padded(uint64_t *seed, int rank, bool written, bool batched, char *text) {
  static const int plain[][3] = {{0, 1, 0}, {0, 0, 8}, {0, 8, 0}, {0, 2, 0},
                                 {0, 4, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 4}};
  const int summed[][3] = {{0, 0, 1}, {0, 0, 2}, {0, 1, 0}, {1, 0, 1 << dot_random_below(seed, 2)}};
  const int(*basis)[3] = batched ? summed : plain,
        size[3] = {batched ? 2 : 1, batched ? 2 : 16, batched ? 4 : 16};
  int first = rank - 3, n = say(text, 0, "storage(digits=[");
  for (int a = rank - 1; a >= 0; a--)
    n = say(text, n, "dim%d:rest%s", a, a ? "," : "],tile={offset:[");
  for (int i = 0; i < (batched ? COUNT(summed) : COUNT(plain)); i++)
    for (int a = 0; a < rank; a++)
      n = say(text, n, "%s%d%s",
              a   ? ","
              : i ? ",["
                  : "[",
              a < first ? 0 : basis[i][a - first], a == rank - 1 ? "]" : "");
  for (int a = 0; a < rank; a++)
    n = say(text, n, "%sdim%d:%d", a ? "," : "]}->[", a, a < first ? 1 : size[a - first]);
  say(text, n, "],pad=%s)", written && one_in(seed, 2) ? "keep" : "0");
}

/* Digits of every axis in any order, of which the last of an axis takes what is left: inner ones of
 * any extents, so that axes have pads, some that count down; of two of an axis's bits the order in
 * memory may be another. Of 4-bit elements the first digit is of pairs. */
static void say_digits(uint64_t *seed, int rank, bool pairs, bool written, char *text) {
  static const int extents[] = {1, 2, 3, 4, 5, 8};
  int inner[LLRT_MAX_RANK], order[2 * LLRT_MAX_RANK], n = 0, at = say(text, 0, "storage(digits=[");
  for (int a = 0; a < rank; a++) {
    inner[a] = one_in(seed, 2) ? extents[dot_random_below(seed, COUNT(extents))] : 0;
    if (inner[a]) order[n++] = a;
  }
  for (int a = 0; a < rank; a++)
    order[n++] = a + rank; /* what is left of an axis, behind its inner digit */
  for (int i = n - 1; i > 0; i--) {
    int j = dot_random_below(seed, i + 1), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  for (int i = 0; i < n; i++) {
    int a = order[i] % rank; /* of an axis's digits the first in memory is the inner one */
    const char *mark = i ? "," : "";
    if (inner[a])
      at = say(text, at, "%sdim%d:%d%s", mark, a, pairs && i == 0 ? 2 * inner[a] : inner[a],
               one_in(seed, 8) ? " reversed" : "");
    else at = say(text, at, "%sdim%d:rest", mark, a);
    inner[a] = 0;
  }
  say(text, at, "],pad=%s)", one_in(seed, 4) ? "keep" : written && one_in(seed, 2) ? "7" : "0");
}

/* A tile of runs along the last axis, whose bits lie in another order. */
static void say_turned(uint64_t *seed, int rank, char *text) {
  int bits[4] = {1, 2, 4, 8}, n = say(text, 0, "storage(digits=[");
  for (int i = 3; i > 0; i--) {
    int j = dot_random_below(seed, i + 1), swap = bits[i];
    bits[i] = bits[j];
    bits[j] = swap;
  }
  for (int a = rank - 1; a >= 0; a--)
    n = say(text, n, "dim%d:rest%s", a, a ? "," : "],tile={offset:[");
  for (int i = 0; i < 4; i++)
    for (int a = 0; a < rank; a++)
      n = say(text, n, "%s%d%s",
              a   ? ","
              : i ? ",["
                  : "[",
              a == rank - 1 ? bits[i] : 0, a == rank - 1 ? "]" : "");
  for (int a = 0; a < rank; a++)
    n = say(text, n, "%sdim%d:%d", a ? "," : "]}->[", a, a == rank - 1 ? 16 : 1);
  say(text, n, "],pad=0)");
}

/* Scales' order of other engines, and tiles like theirs of any tensor. */
static void say_named(uint64_t *seed, char *text) {
  static const char *const names[] = {"scale_128x4", "scale_8x4", "cdna4_scale", "hopper_scale"};
  const char *name = names[dot_random_below(seed, COUNT(names))];
  bool transposed = dot_random_below(seed, 2);
  say(text, 0, transposed ? "transposed(%s)" : "%s", name);
}

/* A storage of a tensor of `rank` axes of these extents. */
static void random_storage(uint64_t *seed, int rank, const int64_t *extent, bool pairs,
                           bool written, char *text) {
  static const char *const image =
      "swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(%lld,64):(64@m,1@m)]";
  bool flat = extent[0] < 2 ||
              extent[rank - 1] < 2; /* one position stands for all of an axis: no tile has more */
  text[0] = 0;
  bool batches = rank > 2 && extent[rank - 3] > 1;
  flat |= rank < 2 || extent[rank - 2] < 2;
  if (!flat && one_in(seed, 3)) {
    if (one_in(seed, 4)) say_turned(seed, rank, text);
    else say_digits(seed, rank, pairs, written, text);
    return;
  }
  switch (dot_random_below(seed, flat ? 2 : rank == 2 ? 10 : 9)) {
  case 0:
  case 1: break;
  case 2: snprintf(text, DOT_STORAGE_TEXT, "col_major"); break;
  case 3:
  case 4: say_strides(seed, rank, extent, pairs, text); break;
  case 5: say_padded(seed, rank, written, false, text); break;
  case 6:
    if (rank == 2 && extent[1] == 64 && extent[0] % 8 == 0)
      snprintf(text, DOT_STORAGE_TEXT, image, (long long)extent[0]);
    else if (batches) say_padded(seed, rank, written, true, text);
    break;
  case 7: say_named(seed, text); break;
  case 8:
    if (rank == 2) say_pitch(seed, extent, written, text);
    break;
  default: say_tile(seed, extent, text);
  }
}

/* Storages and shifts of all tensors there are, but for those of packed elements. */
static void random_places(uint64_t *seed, dot_problem *p) {
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    int64_t extent[LLRT_MAX_RANK] = {0};
    int rank = dot_problem_extents(p, r, extent),
        bits = p->type[r] ? llrt_dtype_bits(p->type[r]) : 32;
    bool plain = (r > LLRT_DOT_B && !one_in(seed, 3)) ||
                 (p->packed && r >= LLRT_DOT_SCALE_B && r <= LLRT_DOT_ZERO_B);
    if (one_in(seed, 12)) p->shift[r] = (uint8_t)dot_random_below(seed, 16);
    if (r == LLRT_DOT_B && p->packed) continue;
    if ((r > LLRT_DOT_B && !p->type[r]) || rank == 0 || p->storage[r][0] || plain) continue;
    random_storage(seed, rank, extent, bits < 8, r == LLRT_DOT_D, p->storage[r]);
  }
}

/* ---- what stands on operands, and on sums ---- */

static void random_range(uint64_t *seed, dot_problem *p, int operand) {
  int low = 100 + dot_random_below(seed, 40), high = low + dot_random_below(seed, 30);
  p->range[operand][0] = (uint8_t)(one_in(seed, 2) ? 122 : low);
  p->range[operand][1] = (uint8_t)(p->range[operand][0] == 122 ? 132 : high);
}

static void random_scales(uint64_t *seed, int operand, dot_problem *p) {
  static const llrt_dtype scales[] = {LLRT_E8M0, LLRT_E8M0, LLRT_E4M3,
                                      LLRT_F16,  LLRT_BF16, LLRT_F32};
  static const int64_t groups[] = {16, 32, 32, 64, 128, LLRT_GROUP_ALL, 8};
  llrt_dtype element = p->type[operand ? LLRT_DOT_B : LLRT_DOT_A];
  llrt_dot_role scale = operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
  int kind = dot_random_below(seed, 6), along_k = operand ? 0 : 1;
  bool narrow = llrt_dtype_bits(element) <= 8;
  p->type[scale] = scales[kind];
  p->group[operand][along_k] =
      narrow ? groups[dot_random_below(seed, COUNT(groups))] : LLRT_GROUP_ALL;
  p->group[operand][!along_k] = dot_random_below(seed, 8) ? 1 : 16;
  if (dot_is_integer(element) && narrow && dot_random_below(seed, 2))
    p->type[scale + 1] = dot_random_below(seed, 4) ? element : LLRT_F16;
  if (kind < 2 && narrow && dot_random_below(seed, 2)) random_range(seed, p, operand);
  if (one_in(seed, 4)) p->type[scale + 2] = LLRT_F32;
}

static void random_edges(uint64_t *seed, dot_problem *p) {
  static const uint8_t activations[] = {LLRT_MAP_RELU, LLRT_MAP_GELU, LLRT_MAP_SILU};
  static const double factors[] = {2, 0.5, -1, 0.75};
  if (one_in(seed, 4)) p->alpha = factors[dot_random_below(seed, 4)];
  if (one_in(seed, 4)) {
    p->type[LLRT_DOT_C] = one_of(seed, addends, 3);
    p->beta = factors[dot_random_below(seed, 4)];
  }
  if (one_in(seed, 4)) p->type[LLRT_DOT_BIAS] = one_of(seed, addends, 3);
  if (one_in(seed, 3)) p->map[p->n_maps++] = activations[dot_random_below(seed, 3)];
  if (one_in(seed, 6)) {
    p->map[p->n_maps++] = LLRT_MAP_ADD;
    p->type[LLRT_DOT_ADD] = one_of(seed, addends, 3);
  }
  if (one_in(seed, 6)) {
    p->map[p->n_maps++] = LLRT_MAP_SCALE;
    p->type[LLRT_DOT_SCALE_D] = LLRT_F32;
    p->group[2][0] = one_in(seed, 2) ? LLRT_GROUP_ALL : 1;
    p->group[2][1] = one_in(seed, 2) ? LLRT_GROUP_ALL : 32;
  }
}

static void random_result(uint64_t *seed, dot_problem *p) {
  static const llrt_dtype results[] = {LLRT_F32, LLRT_F16, LLRT_BF16, LLRT_E4M3, LLRT_I8, LLRT_F64};
  if (dot_random_below(seed, 2)) p->type[LLRT_DOT_D] = one_of(seed, results, COUNT(results));
}

static int count_tensors(const dot_problem *p) {
  int n = p->type[LLRT_DOT_D] ? 0 : 1;
  for (int r = 0; r < LLRT_DOT_ROLES; r++) n += p->type[r] != LLRT_DTYPE_NONE;
  return n;
}

static void random_batch(uint64_t *seed, dot_problem *p) {
  p->n_batch = one_in(seed, 3) ? 1 + dot_random_below(seed, 2) : 0;
  for (int i = 0; i < p->n_batch; i++) p->batch[i] = 1 + dot_random_below(seed, 4);
  if (p->n_batch) p->shared[dot_random_below(seed, 2)] = dot_random_below(seed, 2);
}

/* C lies in D's memory where it can. */
static void random_place_of_c(uint64_t *seed, dot_problem *p) {
  bool same = p->type[LLRT_DOT_C] && p->type[LLRT_DOT_C] == p->type[LLRT_DOT_D];
  if (!same || !dot_random_below(seed, 2)) return;
  p->in_place = true;
  p->shift[LLRT_DOT_C] = p->shift[LLRT_DOT_D];
  memcpy(p->storage[LLRT_DOT_C], p->storage[LLRT_DOT_D], DOT_STORAGE_TEXT);
}

/* ---- products of any two types ---- */

static const llrt_dtype operand_types[] = {
    LLRT_F16, LLRT_BF16, LLRT_F32, LLRT_E4M3, LLRT_E5M2, LLRT_I8,  LLRT_U8,       LLRT_E2M1,
    LLRT_I4,  LLRT_U4,   LLRT_F64, LLRT_I16,  LLRT_I32,  LLRT_I64, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ};

static int64_t random_extent(uint64_t *seed, int most) {
  static const int64_t usual[] = {1, 2, 8, 16, 32, 64, 96, 128};
  if (one_in(seed, 100)) return 0;
  int64_t extent = dot_random_below(seed, 3) ? usual[dot_random_below(seed, 8)]
                                             : 1 + dot_random_below(seed, most);
  return extent < most ? extent : 1 + dot_random_below(seed, most);
}

/* Exact numbers have scales of 1/2, 1 and 2: no promise may say otherwise. */
static void hold_exact_scales(dot_problem *p) {
  for (int i = 0; i < 2; i++) {
    uint8_t *range = p->range[i];
    if (p->data != DOT_EXACT || range[1] == 0 || (range[0] <= 126 && range[1] >= 128)) continue;
    range[0] = 122;
    range[1] = 132;
  }
}

void dot_problem_random(uint64_t seed, int most, dot_problem *made) {
  uint64_t *s = &seed;
  do {
    memset(made, 0, sizeof *made);
    made->m = random_extent(s, most);
    made->n = random_extent(s, most);
    made->k = random_extent(s, most);
    random_batch(s, made);
    llrt_dtype a = one_of(s, operand_types, dot_random_below(s, 3) ? 8 : COUNT(operand_types));
    llrt_dtype b = one_of(s, operand_types, dot_random_below(s, 4) ? 11 : COUNT(operand_types));
    made->type[LLRT_DOT_A] = a;
    made->type[LLRT_DOT_B] = b;
    bool integers = dot_is_integer(a) && dot_is_integer(b);
    if (llrt_dtype_bits(b) <= 8 && !integers && dot_random_below(s, 2)) random_scales(s, 1, made);
    if (!integers && one_in(s, 5)) random_scales(s, 0, made);
    if (!integers) random_edges(s, made);
    if (!integers) random_result(s, made);
    if (one_in(s, 12)) made->accumulate = integers ? LLRT_I64 : LLRT_F64;
    made->fast = one_in(s, 8);
    made->tf32 = one_in(s, 4);
    made->data = one_in(s, 3);
    if (!integers && one_in(s, 12)) made->data = DOT_SPECIAL;
  } while (count_tensors(made) > LLRT_MAX_TENSORS);
  hold_exact_scales(made);
  random_places(s, made);
  random_place_of_c(s, made);
}

/* ---- packed weights ---- */

static const llrt_dtype weight_types[] = {LLRT_E2M1, LLRT_E2M1, LLRT_E2M1, LLRT_U4, LLRT_I4,
                                          LLRT_E4M3, LLRT_E5M2, LLRT_I8,   LLRT_U8};
static const llrt_dtype row_types[] = {LLRT_BF16, LLRT_F16, LLRT_E4M3, LLRT_E5M2,
                                       LLRT_BF16, LLRT_F16, LLRT_F32,  LLRT_I8};

static void random_weights(uint64_t *seed, dot_problem *p) {
  static const llrt_dtype of_floats[] = {LLRT_E8M0, LLRT_E8M0, LLRT_E8M0,
                                         LLRT_E4M3, LLRT_F16,  LLRT_BF16};
  static const llrt_dtype of_integers[] = {LLRT_F16,  LLRT_BF16, LLRT_F16,
                                           LLRT_BF16, LLRT_E8M0, LLRT_E4M3};
  static const llrt_dtype zeros[] = {LLRT_U4, LLRT_I4, LLRT_U8, LLRT_I8, LLRT_F16, LLRT_BF16};
  llrt_dtype element = one_of(seed, weight_types, COUNT(weight_types));
  llrt_dtype a = one_of(seed, row_types, dot_random_below(seed, 4) ? 4 : COUNT(row_types));
  bool integers = dot_is_integer(element);
  p->type[LLRT_DOT_A] = a;
  p->type[LLRT_DOT_B] = element;
  p->type[LLRT_DOT_SCALE_B] = one_of(seed, integers ? of_integers : of_floats, 6);
  p->group[1][0] = 16 << dot_random_below(seed, 4);
  p->group[1][1] = 1;
  if (p->type[LLRT_DOT_SCALE_B] == LLRT_F16 && a == LLRT_BF16)
    p->type[LLRT_DOT_SCALE_B] = LLRT_BF16;
  if (integers && one_in(seed, 2))
    p->type[LLRT_DOT_ZERO_B] = one_of(seed, zeros, one_in(seed, 6) ? 6 : 4);
  if (p->type[LLRT_DOT_SCALE_B] == LLRT_E8M0 && one_in(seed, 2)) random_range(seed, p, 1);
  if (one_in(seed, 6)) p->type[LLRT_DOT_GLOBAL_B] = LLRT_F32;
  if (!one_in(seed, 6)) return;
  /* one for all of K, or for 16 columns; neither is packed */
  if (one_in(seed, 2) && !p->type[LLRT_DOT_ZERO_B]) p->group[1][0] = LLRT_GROUP_ALL;
  else p->group[1][1] = 16;
  p->type[LLRT_DOT_SCALE_B] = one_of(seed, addends, 3);
  p->range[1][0] = p->range[1][1] = 0;
}

/* Another engine's order of elements of so many bits, for multiples of these extents. */
static const struct order {
  const char *text;
  int bits, k, n;
  llrt_dtype type; /* NONE: of any */
} orders[] = {
    {"marlin_w4", 4, 16, 64, LLRT_DTYPE_NONE},
    {"transposed(machete_w4)", 4, 64, 128, LLRT_DTYPE_NONE},
    {"transposed(machete_w4_1wg)", 4, 64, 128, LLRT_DTYPE_NONE},
    {"transposed(machete_w8)", 8, 64, 128, LLRT_DTYPE_NONE},
    {"transposed(cutlass_atom_e2m1)", 4, 16, 16, LLRT_DTYPE_NONE},
    {"transposed(cutlass_atom_int4)", 4, 16, 16, LLRT_DTYPE_NONE},
    {"transposed(hopper_value_w4)", 4, 128, 64, LLRT_E2M1},
    {"gptq_w4", 4, 8, 1, LLRT_DTYPE_NONE},
    {"awq_w4", 4, 1, 8, LLRT_DTYPE_NONE},
    {"marlin_w8", 8, 16, 64, LLRT_DTYPE_NONE},
    {"transposed(aiter_16x16(element_bits=8))", 8, 64, 16, LLRT_DTYPE_NONE},
};

static int64_t multiple(int64_t extent, int of) { return (extent + of - 1) / of * of; }

static void lie_as_others(uint64_t *seed, dot_problem *p) {
  const struct order *o;
  do o = &orders[dot_random_below(seed, COUNT(orders))];
  while (o->bits != llrt_dtype_bits(p->type[LLRT_DOT_B]) ||
         (o->type && o->type != p->type[LLRT_DOT_B]));
  llrt_dtype scale = p->type[LLRT_DOT_SCALE_B];
  bool narrow = scale && llrt_dtype_bits(scale) == 8;
  p->k = multiple(p->k, o->k);
  p->n = multiple(p->n, o->n);
  snprintf(p->storage[LLRT_DOT_B], DOT_STORAGE_TEXT, "%s", o->text);
  p->n_batch = 0;
  p->shared[0] = p->shared[1] = false;
  p->twiddled = o->type && one_in(seed, 2);
  if (!one_in(seed, 2) || p->group[1][0] < 0 || p->group[1][1] > 1) return;
  const char *lie = narrow
                        ? (one_in(seed, 2) ? "transposed(scale_128x4)" : "transposed(hopper_scale)")
                    : p->n % 64 ? "col_major"
                                : "marlin_scales";
  snprintf(p->storage[LLRT_DOT_SCALE_B], DOT_STORAGE_TEXT, "%s", lie);
}

/* Rows of every kernel, columns and positions of K that fill no tile; seldom more columns than a
 * device takes at once. */
static void random_sizes(uint64_t *seed, int most, dot_problem *p) {
  static const int rows[] = {1, 8, 16, 32, 64, 128, 256, 520};
  static const int columns[] = {16, 48, 128, 200, 200, 520, 4200, 9000};
  static const int depths[] = {8, 64, 256, 320, 700, 1300};
  const int64_t limit = (int64_t)most * most * most;
  p->m = 1 + dot_random_below(seed, rows[dot_random_below(seed, COUNT(rows))]);
  p->n = 1 + dot_random_below(seed, columns[dot_random_below(seed, COUNT(columns))]);
  p->k = 1 + dot_random_below(seed, depths[dot_random_below(seed, COUNT(depths))]);
  if (one_in(seed, 2)) p->k = multiple(p->k, 32);
  if (one_in(seed, 2)) p->n = multiple(p->n, 16);
  while (p->m * p->n * p->k > limit) {
    int64_t *longest = p->n > p->m && p->n > p->k ? &p->n : p->m > p->k ? &p->m : &p->k;
    *longest /= 2;
  }
}

void dot_problem_random_packed(uint64_t seed, int most, dot_problem *made) {
  uint64_t *s = &seed;
  do {
    memset(made, 0, sizeof *made);
    random_batch(s, made);
    random_sizes(s, most, made);
    random_weights(s, made);
    if (one_in(s, 2)) random_edges(s, made);
    random_result(s, made);
    made->fast = one_in(s, 8);
    made->data = dot_random_below(s, 3);
  } while (count_tensors(made) > LLRT_MAX_TENSORS);
  hold_exact_scales(made);
  if (one_in(s, 3)) lie_as_others(s, made);
  else made->packed = true;
  if (made->packed && one_in(s, 6)) made->other = one_of(s, row_types, 4);
  if (one_in(s, 2)) random_places(s, made);
  random_place_of_c(s, made);
}
