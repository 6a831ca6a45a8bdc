#include "dot_reference.h"

#include "../number_reference.h"
#include "../storage_walk.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t dot_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

int dot_random_below(uint64_t *state, int n) { return (int)(dot_random(state) >> 33) % n; }

/* ---- table 4 ---- */

static const llrt_dtype table4_integers[] = {LLRT_I8, LLRT_I16, LLRT_I32, LLRT_I64};
static const llrt_dtype table4_floats[] = {LLRT_F16, LLRT_BF16, LLRT_F32,
                                           LLRT_F64, LLRT_E4M3, LLRT_E5M2};
static const int64_t table4_extents[] = {1, 8, 16, 32, 64, 128};
#define PAIRS (4 * 6)
#define SHAPES (6 * 6 * 6)

int dot_table4_count(void) { return 2 * PAIRS * SHAPES; }

void dot_table4_problem(int number, dot_problem *made) {
  int shape = number % SHAPES, pair = number / SHAPES % PAIRS;
  bool swapped = number / SHAPES / PAIRS;
  llrt_dtype types[] = {table4_integers[pair % 4], table4_floats[pair / 4]};
  memset(made, 0, sizeof *made);
  made->m = table4_extents[shape % 6];
  made->n = table4_extents[shape / 6 % 6];
  made->k = table4_extents[shape / 36];
  made->type[LLRT_DOT_A] = types[swapped];
  made->type[LLRT_DOT_B] = types[!swapped];
}

/* ---- shapes ---- */

int dot_problem_extents(const dot_problem *p, int role, int64_t *extent) {
  bool of_a = role == LLRT_DOT_A || (role >= LLRT_DOT_SCALE_A && role <= LLRT_DOT_GLOBAL_A);
  bool of_b = role == LLRT_DOT_B || (role >= LLRT_DOT_SCALE_B && role <= LLRT_DOT_GLOBAL_B);
  int64_t last[] = {of_b ? p->k : p->m, of_a ? p->k : p->n};
  const int64_t *group = p->group[of_a ? 0 : of_b ? 1 : 2];
  bool scales = role == LLRT_DOT_SCALE_A || role == LLRT_DOT_ZERO_A || role == LLRT_DOT_SCALE_B ||
                role == LLRT_DOT_ZERO_B || role == LLRT_DOT_SCALE_D;
  int rank = 0;
  if (role == LLRT_DOT_GLOBAL_A || role == LLRT_DOT_GLOBAL_B) return 0;
  if (role == LLRT_DOT_BIAS) {
    extent[0] = p->n;
    return 1;
  }
  for (int i = 0; i < p->n_batch && !(of_a && p->shared[0]) && !(of_b && p->shared[1]); i++)
    extent[rank++] = p->batch[i];
  for (int i = 0; i < 2; i++) {
    int64_t g = scales ? group[i] : 1;
    extent[rank++] = g == LLRT_GROUP_ALL ? 1 : g > 1 ? (last[i] + g - 1) / g : last[i];
  }
  return rank;
}

/* ---- titles ---- */

static int title_type(const dot_problem *p, int role, char *text, size_t size) {
  static const struct {
    int role;
    const char *mark;
  } on[] = {{0, "/"}, {1, "-"}, {2, "*"}};
  int n = snprintf(text, size, "%s", llrt_dtype_name(p->type[role]));
  int first = role == LLRT_DOT_B ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
  for (int i = 0; i < 3; i++) {
    llrt_dtype type = p->type[first + on[i].role];
    const int64_t *group = p->group[role == LLRT_DOT_B];
    if (!type) continue;
    n += snprintf(text + n, size - (size_t)n, "%s%s", on[i].mark, llrt_dtype_name(type));
    if (i == 0)
      n += snprintf(text + n, size - (size_t)n, "(%lld,%lld)", (long long)group[0],
                    (long long)group[1]);
  }
  return n;
}

/* Storages and shifts of tensors that have any, behind the n bytes of a title. */
static void title_places(const dot_problem *p, char *title, size_t n, size_t size) {
  static const char *const names[LLRT_DOT_ROLES] = {
      "A",        "D",        "B",       "C",        "bias", "scales A", "zeros A",
      "global A", "scales B", "zeros B", "global B", "ADD",  "SCALE"};
  for (int r = 0; r < LLRT_DOT_ROLES && n < size; r++) {
    if (!p->storage[r][0] && !p->shift[r]) continue;
    n += (size_t)snprintf(title + n, size - n, "; %s %s", names[r], p->storage[r]);
    if (p->shift[r] && n < size) n += (size_t)snprintf(title + n, size - n, "+%d", p->shift[r]);
  }
}

void dot_problem_title(const dot_problem *p, char *title, size_t size) {
  static const char *const maps[] = {"", "", "", " scale", " add", " relu", " gelu", " silu"};
  char a[64], b[64];
  title_type(p, LLRT_DOT_A, a, sizeof a);
  title_type(p, LLRT_DOT_B, b, sizeof b);
  int n = snprintf(title, size, "%s x %s -> %s [%lld,%lld]x[%lld,%lld]", a, b,
                   llrt_dtype_name(p->type[LLRT_DOT_D]), (long long)p->m, (long long)p->k,
                   (long long)p->k, (long long)p->n);
  for (int i = 0; i < p->n_batch; i++)
    n += snprintf(title + n, size - (size_t)n, " batch %lld", (long long)p->batch[i]);
  if (p->n_batch && (p->shared[0] || p->shared[1]))
    n += snprintf(title + n, size - (size_t)n, " of %s", p->shared[0] ? "B" : "A");
  if (p->alpha != 0) n += snprintf(title + n, size - (size_t)n, " alpha %g", p->alpha);
  if (p->type[LLRT_DOT_C])
    n += snprintf(title + n, size - (size_t)n, " C %g%s", p->beta, p->in_place ? " = D" : "");
  if (p->type[LLRT_DOT_BIAS]) n += snprintf(title + n, size - (size_t)n, " bias");
  for (int i = 0; i < p->n_maps; i++)
    n += snprintf(title + n, size - (size_t)n, "%s", maps[p->map[i]]);
  if (p->tf32) n += snprintf(title + n, size - (size_t)n, " tf32");
  if (p->accumulate)
    n += snprintf(title + n, size - (size_t)n, " in %s", llrt_dtype_name(p->accumulate));
  if (p->fast) n += snprintf(title + n, size - (size_t)n, " fast");
  for (int i = 0; i < 2; i++)
    if (p->range[i][1])
      n += snprintf(title + n, size - (size_t)n, " within %d..%d", p->range[i][0], p->range[i][1]);
  if (p->packed) n += snprintf(title + n, size - (size_t)n, " packed");
  if (p->other) n += snprintf(title + n, size - (size_t)n, " for %s", llrt_dtype_name(p->other));
  if (p->twiddled) n += snprintf(title + n, size - (size_t)n, " twiddled");
  if (p->data)
    n += snprintf(title + n, size - (size_t)n, "%s", p->data == DOT_EXACT ? " exact" : " special");
  title_places(p, title, (size_t)n, size);
}

/* ---- elements ---- */

static bool is_scale_role(int role) {
  return role == LLRT_DOT_SCALE_A || role == LLRT_DOT_SCALE_B || role == LLRT_DOT_SCALE_D ||
         role == LLRT_DOT_GLOBAL_A || role == LLRT_DOT_GLOBAL_B;
}

static double exact_number(uint64_t *seed, int role) {
  static const double scales[] = {0.5, 1, 2};
  if (is_scale_role(role)) return scales[dot_random_below(seed, 3)];
  return dot_random_below(seed, 9) - 4;
}

static double any_number(uint64_t *seed, int role) {
  double x = (double)(dot_random_below(seed, 8193) - 4096) / 2048;
  return is_scale_role(role) ? 0.25 + fabs(x) / 2 : x;
}

static uint64_t make_code(const dot_problem *p, int role, llrt_dtype type, uint64_t *seed) {
  static const double specials[] = {INFINITY, -INFINITY, 0.0, -0.0, NAN};
  int bits = llrt_dtype_bits(type);
  bool integer = dot_is_integer(type), power = type == LLRT_E8M0;
  const uint8_t *range = p->range[role == LLRT_DOT_SCALE_B];
  if (p->data == DOT_EXACT) {
    double x = exact_number(seed, role);
    if (type == LLRT_U8 || type == LLRT_U4) x = fabs(x);
    if (power) return (uint64_t)(126 + dot_random_below(seed, 3));
    return integer ? (uint64_t)(int64_t)x & (bits == 64 ? ~0ull : (1ull << bits) - 1)
                   : reference_encode(type, x);
  }
  if (integer) return dot_random(seed) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
  if (power && range[1])
    return range[0] + (uint64_t)dot_random_below(seed, range[1] - range[0] + 1);
  if (power)
    return p->data == DOT_SPECIAL && dot_random_below(seed, 40) == 0
               ? 0xFF
               : 117 + (uint64_t)dot_random_below(seed, 20);
  if (p->data == DOT_SPECIAL && dot_random_below(seed, 200) == 0)
    return reference_encode(type, specials[dot_random_below(seed, 5)]);
  if (bits == 4) return dot_random(seed) & 15;
  return reference_encode(type, any_number(seed, role));
}

/* ---- tensors ---- */

static void put_code(llrt_dtype type, uint8_t *bytes, int64_t at, uint64_t code) {
  int bits = llrt_dtype_bits(type);
  if (bits >= 8) {
    memcpy(bytes + at * bits / 8, &code, (size_t)bits / 8);
    return;
  }
  uint8_t *byte = bytes + at / 2;
  int shift = (int)(at & 1) * 4;
  *byte = (uint8_t)((*byte & ~(15u << shift)) | (unsigned)code << shift);
}

static int64_t flat_index(const llrt_tensor *tensor, const int64_t *x) {
  int64_t at = 0;
  for (int a = 0; a < tensor->rank; a++) at = at * tensor->shape[a] + x[a];
  return at;
}

/* Elements, and pads' value. */
static void fill_image(dot_part *part) {
  const llrt_storage *storage = &part->storage;
  storage_walk walk;
  if (part->elements == 0) return;
  storage_walk_begin(&walk, storage, &part->binding);
  do {
    if (storage_walk_is_element(&walk, part->tensor.shape))
      put_code(part->tensor.dtype, part->image, walk.place,
               part->code[flat_index(&part->tensor, walk.coords)]);
    else if (storage->pad == LLRT_PAD_VALUE)
      put_code(part->tensor.dtype, part->image, walk.place, storage->pad_value);
  } while (storage_walk_next(&walk));
}

/* Scales that stand on sums, those of blocks and zero points that are floats lie as any tensor. */
static bool is_packed(const dot_problem *p, int role) {
  bool scales = role == LLRT_DOT_SCALE_B || role == LLRT_DOT_ZERO_B;
  if (scales && (p->group[1][0] < 0 || p->group[1][1] > 1)) return false;
  if (role == LLRT_DOT_ZERO_B && !dot_is_integer(p->type[role])) return false;
  return p->packed && (role == LLRT_DOT_B || role == LLRT_DOT_SCALE_B || role == LLRT_DOT_ZERO_B);
}

/* Which of a packing's storages a role has. */
static int packed_storage(int role) {
  return role == LLRT_DOT_B ? 0 : role == LLRT_DOT_SCALE_B ? 1 : 2;
}

/* Targets of NVIDIA share their order. */
static bool make_packing(const dot_problem *p, llrt_dot_packing *packing) {
  llrt_dtype scale = is_packed(p, LLRT_DOT_SCALE_B) ? p->type[LLRT_DOT_SCALE_B] : LLRT_DTYPE_NONE;
  const llrt_dot_pack_params what = {
      .dtype = p->type[LLRT_DOT_B],
      .scale = scale,
      .group = {p->group[1][0], p->group[1][1]},
      .other = p->other ? p->other : p->type[LLRT_DOT_A],
      .zero = is_packed(p, LLRT_DOT_ZERO_B) ? p->type[LLRT_DOT_ZERO_B] : LLRT_DTYPE_NONE,
      .n_batch = p->shared[1] ? 0 : p->n_batch,
      .range_low = p->range[1][0],
      .range_high = p->range[1][1]};
  return llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, packing) == LLRT_OK;
}

static bool make_storage(const dot_problem *p, int role, const llrt_tensor *tensor,
                         llrt_storage *storage) {
  const char *text = p->storage[role][0] ? p->storage[role] : "row_major";
  llrt_dot_packing packing = {0};
  if (p->lies[role]) *storage = *p->lies[role];
  if (p->lies[role]) return true;
  if (!is_packed(p, role))
    return llrt_storage_parse(text, tensor->rank, tensor->shape, storage) == LLRT_OK;
  if (!make_packing(p, &packing)) return false;
  *storage = packing.storages[packed_storage(role)];
  return true;
}

/* Where the bits of words in memory come from, and those of words that elements form. */
static bool find_word_bits(const dot_problem *p, uint8_t packed[32], uint8_t formed[32]) {
  llrt_dot_packing packing = {0};
  if (p->twiddled) {
    reference_hopper_fp4(packed);
    for (int i = 0; i < 32; i++) formed[packed[i]] = (uint8_t)i;
    return true;
  }
  if (!make_packing(p, &packing)) return false;
  for (int i = 0; i < 32; i++) packed[i] = packing.n_maps ? packing.map.perm[i] : (uint8_t)i;
  memcpy(formed, packing.word_bits, sizeof packing.word_bits);
  return true;
}

static bool permutes_words(const dot_problem *p) { return p->packed || p->twiddled; }

static bool permute_words(const dot_problem *p, dot_part *part) {
  uint8_t from[32], formed_from[32];
  if (!find_word_bits(p, from, formed_from)) return false;
  for (size_t at = 0; at + 4 <= part->bytes; at += 4) {
    uint32_t formed, packed = 0;
    memcpy(&formed, part->image + at, 4);
    for (int b = 0; b < 32; b++) packed |= (formed >> from[b] & 1) << b;
    memcpy(part->image + at, &packed, 4);
  }
  return true;
}

static bool make_part(const dot_problem *p, int role, llrt_dtype type, uint64_t *seed,
                      dot_part *part) {
  llrt_tensor *tensor = &part->tensor;
  *tensor = (llrt_tensor){.dtype = type, .storage = &part->storage};
  tensor->rank = dot_problem_extents(p, role, tensor->shape);
  int64_t bytes;
  if (p->strides[role]) memcpy(tensor->strides, p->strides[role], sizeof tensor->strides);
  if (!make_storage(p, role, tensor, &part->storage)) return false;
  if (llrt_storage_bind(&part->storage, tensor->rank, tensor->shape, tensor->strides,
                        &part->binding) != LLRT_OK)
    return false;
  if (llrt_storage_bytes(&part->binding, llrt_dtype_bits(type), &bytes) != LLRT_OK) return false;
  part->elements = 1;
  for (int a = 0; a < tensor->rank; a++) part->elements *= tensor->shape[a];
  part->bytes = (size_t)bytes;
  part->code = malloc(((size_t)part->elements + 1) * sizeof *part->code);
  part->image = malloc(part->bytes + 1);
  if (!part->code || !part->image) return false;
  for (size_t i = 0; i < part->bytes; i++) part->image[i] = (uint8_t)dot_random(seed);
  for (int64_t i = 0; i < part->elements; i++) part->code[i] = make_code(p, role, type, seed);
  if (role != LLRT_DOT_D) fill_image(part);
  tensor->data = part->image;
  return role != LLRT_DOT_B || !permutes_words(p) || permute_words(p, part);
}

static const llrt_tensor *tensor_of(const dot_bench *bench, int role) {
  return bench->problem.type[role] ? &bench->part[role].tensor : NULL;
}

static void fill_scaling(const dot_bench *bench, int operand, llrt_dot_scaling *scaling) {
  const dot_problem *p = &bench->problem;
  int first = operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
  scaling->scale = tensor_of(bench, first);
  scaling->zero = tensor_of(bench, first + 1);
  scaling->global = tensor_of(bench, first + 2);
  bool grouped = scaling->scale || scaling->zero;
  for (int i = 0; i < 2 && grouped; i++)
    scaling->group[i] = p->group[operand][i] ? p->group[operand][i] : 1;
  scaling->range_low = p->range[operand][0];
  scaling->range_high = p->range[operand][1];
  uint8_t packed[32];
  if (operand == 1 && permutes_words(p)) find_word_bits(p, packed, scaling->word_bits);
}

static void fill_params(dot_bench *bench) {
  const dot_problem *p = &bench->problem;
  llrt_dot_params *params = &bench->params;
  int rank = p->n_batch + 2;
  static const double one = 1;
  *params = (llrt_dot_params){.alpha = p->alpha != 0 ? &p->alpha : NULL,
                              .beta = p->beta != 0 ? &p->beta : &one,
                              .accumulate = p->accumulate,
                              .dtype = p->type[LLRT_DOT_D],
                              .tf32 = p->tf32,
                              .fast_accumulate = p->fast,
                              .n_maps = p->n_maps};
  params->c = tensor_of(bench, LLRT_DOT_C);
  params->bias = tensor_of(bench, LLRT_DOT_BIAS);
  params->add = tensor_of(bench, LLRT_DOT_ADD);
  params->scale = tensor_of(bench, LLRT_DOT_SCALE_D);
  fill_scaling(bench, 0, &params->a);
  fill_scaling(bench, 1, &params->b);
  params->maps = bench->maps;
  for (int i = 0; i < p->n_maps; i++) {
    bench->maps[i] = (llrt_map){.kind = (llrt_map_kind)p->map[i]};
    for (int a = 0; a < 2; a++)
      bench->maps[i].group[rank - 2 + a] = p->group[2][a] ? p->group[2][a] : 1;
  }
}

bool dot_bench_make(const dot_problem *problem, uint64_t seed, dot_bench *bench) {
  memset(bench, 0, sizeof *bench);
  bench->problem = *problem;
  dot_problem *p = &bench->problem;
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (p->type[r] && !make_part(p, r, p->type[r], &seed, &bench->part[r])) return false;
  fill_params(bench);
  if (p->type[LLRT_DOT_D]) return true;
  p->type[LLRT_DOT_D] = bench->params.dtype = dot_reference_result(p);
  return make_part(p, LLRT_DOT_D, p->type[LLRT_DOT_D], &seed, &bench->part[LLRT_DOT_D]);
}

void dot_bench_free(dot_bench *bench) {
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    free(bench->part[r].code);
    free(bench->part[r].image);
  }
  memset(bench, 0, sizeof *bench);
}
