#include "reshard_case.h"

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys of a cache, [tokens, heads, dim]: blocks of 16 tokens, each head's together, and blocks of
 * 32, each token's together. */
#define KEYS_BY_HEAD "storage(rank=3, digits=[dim2:rest, dim0:16, dim1:rest, dim0:rest])"
#define KEYS_BY_TOKEN "storage(rank=3, digits=[dim2:rest, dim1:rest, dim0:32, dim0:rest])"
enum { TOKENS_MULTIPLE = 64, HEADS = 8 /* of a rank */, DIM = 128 };

const reshard_case reshard_cases[] = {
    {"rows to columns, transposed", "P(a, None) o row_major", "P(None, a) o col_major", 2,
     LLRT_BF16, RESHARD_ALL, RESHARD_ALL, 0},
    {"rows to columns", "P(a, None) o row_major", "P(None, a) o row_major", 2, LLRT_BF16,
     RESHARD_ALL, RESHARD_ALL, 0},
    {"Shard(0) to Shard(1)", "P(a) o row_major", "P(None, a) o row_major", 4, LLRT_BF16,
     RESHARD_ALL, RESHARD_ALL, 0},
    {"replicated to sharded", "P(None, None) o row_major", "P(a, None) o row_major", 2, LLRT_BF16,
     RESHARD_ALL, RESHARD_ALL, 0},
    {"rows to columns, e4m3", "P(a, None) o row_major", "P(None, a) o col_major", 2, LLRT_E4M3,
     RESHARD_ALL, RESHARD_ALL, 0},
    {"rows to columns, e4m3, scaled", "P(a, None) o row_major", "P(None, a) o row_major", 2,
     LLRT_E4M3, RESHARD_ALL, RESHARD_ALL, 128},
    {"keys, fewer heads a rank", "P(dp, a) o " KEYS_BY_HEAD, "P(None, a) o " KEYS_BY_TOKEN, 3,
     LLRT_BF16, RESHARD_IN_TWO, RESHARD_ALL, 0},
    {"keys, fewer heads, e4m3", "P(dp, a) o " KEYS_BY_HEAD, "P(None, a) o " KEYS_BY_TOKEN, 3,
     LLRT_E4M3, RESHARD_IN_TWO, RESHARD_ALL, 0},
    {"keys to other ranks", "P(None, a) o " KEYS_BY_HEAD, "P(None, a) o " KEYS_BY_TOKEN, 3,
     LLRT_BF16, RESHARD_FIRST_HALF, RESHARD_LAST_HALF, 0},
};
const int reshard_case_count = sizeof reshard_cases / sizeof reshard_cases[0];

/* ---- shardings and shapes ---- */

static llrt_mesh make_mesh(reshard_ranks of, int ranks) {
  static const char *const texts[] = {"mesh(a=%d)", "mesh(dp=2, a=%d)", "mesh(a=%d)",
                                      "mesh(a=%d) + %d"};
  llrt_mesh mesh;
  char text[48];
  snprintf(text, sizeof text, texts[of], of == RESHARD_ALL ? ranks : ranks / 2, ranks / 2);
  harness_must(llrt_mesh_parse(text, &mesh), "mesh");
  return mesh;
}

static void choose_shape(const reshard_case *c, int64_t elements, reshard_problem *p) {
  int64_t *shape = p->shape, unit = 64 * p->ranks;
  if (c->rank == 2) {
    shape[0] = shape[1] = unit;
    for (int axis = 1; 2 * shape[0] * shape[1] <= elements; axis = !axis) shape[axis] *= 2;
    return;
  }
  if (c->rank == 4) {
    shape[0] = 4 * p->ranks;
    shape[1] = 8 * p->ranks;
    shape[3] = 128;
    shape[2] = elements / shape[0] / shape[1] / 128;
    if (shape[2] < 1) shape[2] = 1;
    return;
  }
  shape[1] = HEADS * p->ranks;
  shape[2] = DIM;
  shape[0] = elements / shape[1] / DIM / TOKENS_MULTIPLE * TOKENS_MULTIPLE;
  if (shape[0] == 0) shape[0] = TOKENS_MULTIPLE;
}

bool reshard_problem_make(const reshard_case *c, int ranks, int64_t bytes, uint64_t seed,
                          reshard_problem *out) {
  const llrt_mesh from = make_mesh(c->from_ranks, ranks), to = make_mesh(c->to_ranks, ranks);
  if (ranks % 2 != 0 && (c->from_ranks != RESHARD_ALL || c->to_ranks != RESHARD_ALL)) return false;
  *out = (reshard_problem){.c = c, .ranks = ranks, .seed = seed};
  harness_must(llrt_sharding_parse(c->source, &from, c->rank, NULL, &out->source), c->source);
  harness_must(llrt_sharding_parse(c->destination, &to, c->rank, NULL, &out->destination),
               c->destination);
  out->scale = out->source;
  choose_shape(c, bytes / 2 * (out->source.n_splits ? llrt_mesh_devices(&from) : 1), out);
  memcpy(out->scale_shape, out->shape, sizeof out->shape);
  if (c->group > 0) out->scale_shape[c->rank - 1] = out->shape[c->rank - 1] / c->group;
  return true;
}

/* false: the rank is not of the mesh. */
static bool find_part(const reshard_problem *p, bool destination, int rank, llrt_part *part,
                      llrt_storage_binding *binding) {
  const llrt_sharding *sharding = destination ? &p->destination : &p->source;
  int64_t first = sharding->mesh.first;
  if (rank < first || rank >= first + llrt_mesh_devices(&sharding->mesh)) return false;
  harness_must(llrt_sharding_part(sharding, p->shape, rank, part), "part");
  harness_must(llrt_storage_bind(&sharding->storage, sharding->rank, part->extent, NULL, binding),
               "bind");
  return true;
}

int64_t reshard_problem_bytes(const reshard_problem *p, bool destination, int rank) {
  llrt_part part;
  llrt_storage_binding binding;
  int64_t bytes;
  if (!find_part(p, destination, rank, &part, &binding)) return 0;
  harness_must(
      llrt_storage_bytes(&binding, llrt_dtype_bits(destination ? p->c->to : LLRT_BF16), &bytes),
      "bytes");
  return bytes;
}

/* Elements that both have. */
static int64_t common(const reshard_problem *p, const llrt_part *a, const llrt_part *b) {
  int64_t elements = 1;
  for (int axis = 0; axis < p->c->rank; axis++) {
    int64_t begin = a->begin[axis] > b->begin[axis] ? a->begin[axis] : b->begin[axis];
    int64_t a_end = a->begin[axis] + a->extent[axis], b_end = b->begin[axis] + b->extent[axis];
    int64_t end = a_end < b_end ? a_end : b_end;
    elements *= end > begin ? end - begin : 0;
  }
  return elements;
}

int64_t reshard_problem_crossing(const reshard_problem *p, int from, int to) {
  llrt_part source, destination;
  llrt_storage_binding binding;
  if (from == to || p->source.n_splits == 0 || !find_part(p, false, from, &source, &binding) ||
      !find_part(p, true, to, &destination, &binding))
    return 0;
  return common(p, &source, &destination) * llrt_dtype_bits(p->c->to) / 8;
}

int64_t reshard_problem_busiest(const reshard_problem *p) {
  int64_t most = 0;
  for (int rank = 0; rank < p->ranks; rank++) {
    int64_t out = 0, in = 0;
    for (int other = 0; other < p->ranks; other++) {
      out += reshard_problem_crossing(p, rank, other);
      in += reshard_problem_crossing(p, other, rank);
    }
    if (out > most) most = out;
    if (in > most) most = in;
  }
  return most;
}

/* ---- elements ---- */

/* 0 or 1 or 2, for a scale of 1/2, 1 or 2 at coordinates of the scales. */
static int scale_at(const reshard_problem *p, const int64_t *coords) {
  uint64_t number = p->seed + 1;
  for (int axis = 0; axis < p->c->rank; axis++)
    number = number * (uint64_t)p->scale_shape[axis] + (uint64_t)coords[axis];
  return (int)(harness_mix(number) % 3);
}

/* Small integers, which every type holds: 0 to 7 times 1/2, 1 or 2. */
static unsigned code_of(llrt_dtype dtype, int value, int scale) {
  static const uint16_t bf16[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
  static const uint8_t e4m3[3][8] = {{0, 0x30, 0x38, 0x3c, 0x40, 0x42, 0x44, 0x46},
                                     {0, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e},
                                     {0, 0x40, 0x48, 0x4c, 0x50, 0x52, 0x54, 0x56}};
  return dtype == LLRT_BF16 ? bf16[value] : e4m3[scale][value];
}

float *reshard_problem_scales(const reshard_problem *p, int rank, size_t *bytes) {
  llrt_part part;
  int64_t elements = 1, coords[LLRT_MAX_RANK];
  *bytes = 0;
  if (p->c->group == 0) return NULL;
  harness_must(llrt_sharding_part(&p->scale, p->scale_shape, rank, &part), "scales");
  for (int axis = 0; axis < p->c->rank; axis++) elements *= part.extent[axis];
  *bytes = (size_t)elements * sizeof(float);
  float *scales = malloc(*bytes + 1);
  if (!scales) harness_end(1);
  for (int64_t i = 0; i < elements; i++) {
    int64_t rest = i;
    for (int axis = p->c->rank - 1; axis >= 0; axis--) {
      coords[axis] = part.begin[axis] + rest % part.extent[axis];
      rest /= part.extent[axis];
    }
    scales[i] = 0.5f * (float)(1 << scale_at(p, coords));
  }
  return scales;
}

/* One rank's part of a side, on the host. */
typedef struct part_view {
  const reshard_problem *p;
  bool destination;
  llrt_part part;
  llrt_storage_binding binding;
  int64_t rows, row; /* all axes but the last; positions of that one */
  int64_t step;      /* elements from one position of a row to the next */
} part_view;

static int64_t offset_at(const part_view *v, const int64_t *local) {
  const llrt_sharding *side = v->destination ? &v->p->destination : &v->p->source;
  return llrt_storage_offset(&side->storage, &v->binding, local);
}

/* false: the rank has none. Rows of these cases are of one stride. */
static bool view_part(const reshard_problem *p, bool destination, int rank, part_view *v) {
  int64_t local[LLRT_MAX_RANK] = {0};
  int last = p->c->rank - 1;
  *v = (part_view){.p = p, .destination = destination, .rows = 1};
  if (!find_part(p, destination, rank, &v->part, &v->binding)) return false;
  for (int axis = 0; axis < last; axis++) v->rows *= v->part.extent[axis];
  v->row = v->part.extent[last];
  local[last] = v->row > 1;
  v->step = offset_at(v, local);
  local[last] = v->row - 1;
  if (offset_at(v, local) != v->step * (v->row - 1))
    harness_must(LLRT_INTERNAL, "a row of several strides");
  return true;
}

/* Writes a row's elements, or counts those that are wrong. */
static int64_t visit_row(const part_view *v, int64_t row, uint8_t *bytes, bool compare) {
  const reshard_problem *p = v->p;
  llrt_dtype dtype = v->destination ? p->c->to : LLRT_BF16;
  int64_t local[LLRT_MAX_RANK] = {0}, coords[LLRT_MAX_RANK], group = p->c->group, wrong = 0;
  int last = p->c->rank - 1;
  size_t width = (size_t)llrt_dtype_bits(dtype) / 8;
  uint64_t number = p->seed;
  for (int axis = last - 1; axis >= 0; axis--) {
    local[axis] = row % v->part.extent[axis];
    row /= v->part.extent[axis];
  }
  for (int axis = 0; axis <= last; axis++) {
    coords[axis] = v->part.begin[axis] + local[axis];
    number = number * (uint64_t)p->shape[axis] + (uint64_t)coords[axis];
  }
  uint8_t *at = bytes + offset_at(v, local) * (int64_t)width;
  for (int64_t i = 0; i < v->row; i++, at += v->step * (int64_t)width) {
    int scale = 1;
    if (v->destination && group > 0) {
      coords[last] = (v->part.begin[last] + i) / group;
      scale = scale_at(p, coords);
    }
    unsigned code = code_of(dtype, (int)(harness_mix(number + (uint64_t)i) & 7), scale);
    if (compare) wrong += memcmp(at, &code, width) != 0; /* little-endian */
    else memcpy(at, &code, width);
  }
  return wrong;
}

void reshard_problem_fill(const reshard_problem *p, int rank, uint8_t *bytes) {
  part_view v;
  if (!view_part(p, false, rank, &v)) return;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < v.rows; row++) visit_row(&v, row, bytes, false);
}

int64_t reshard_problem_compare(const reshard_problem *p, int rank, const uint8_t *bytes) {
  part_view v;
  int64_t wrong = 0;
  if (!view_part(p, true, rank, &v)) return 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t row = 0; row < v.rows; row++) wrong += visit_row(&v, row, (uint8_t *)bytes, true);
  return wrong;
}
