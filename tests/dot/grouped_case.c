/* See grouped_case.h. */
#include "grouped_case.h"

#include "dot_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One tensor of the grouped product. */
typedef struct whole {
  llrt_tensor tensor;
  llrt_storage storage;
  llrt_storage_binding binding;
  llrt_index index;
  int64_t bytes;
  uint8_t *image; /* on the host */
} whole;

typedef struct grouped_run {
  const grouped_case *c;
  llrt_device *device;
  dot_bench *bench; /* of each expert */
  int64_t first[GROUPED_EXPERTS + 1], all;
  whole part[LLRT_DOT_ROLES];
  int32_t *row[2]; /* of a, of d: where a row lies; NULL: where it is */
  int64_t rows[2]; /* how many rows a, d have in memory */
  void *memory[2 * LLRT_DOT_ROLES + GROUPED_EXPERTS];
  int n_memory;
  int32_t ends[GROUPED_EXPERTS + 1]; /* what copies read when they run */
  int32_t *expert;                   /* of each row: the same */
  int64_t list[GROUPED_EXPERTS];
  llrt_dot_params params;
  llrt_map maps[LLRT_MAX_MAPS];
  char *why;
  size_t size;
} grouped_run;

static grouped_result fail(grouped_run *r, grouped_result result, const char *what) {
  snprintf(r->why, r->size, "%s: %s", what, llrt_last_error());
  return result;
}

/* ---- where an expert's elements are in the whole ---- */

/* The axis along which a role's tensors of all experts follow each other; -1: a new one, in front;
 * -2: it is the same for all. */
static int joined_axis(const grouped_case *c, int role) {
  switch (role) {
  case LLRT_DOT_A:
  case LLRT_DOT_SCALE_A:
  case LLRT_DOT_ZERO_A: return c->sums ? (role == LLRT_DOT_A ? 1 : -2) : 0;
  case LLRT_DOT_D:
  case LLRT_DOT_C:
  case LLRT_DOT_ADD:
  case LLRT_DOT_SCALE_D: return c->sums ? (role == LLRT_DOT_D ? -1 : -2) : 0;
  case LLRT_DOT_B: return c->sums ? 0 : -1;
  case LLRT_DOT_SCALE_B:
  case LLRT_DOT_ZERO_B:
  case LLRT_DOT_BIAS: return c->sums ? -2 : -1;
  default: return -2;
  }
}

/* What is the same for all experts is the first one's. */
static void share_codes(grouped_run *r, int role) {
  const dot_part *from = &r->bench[0].part[role];
  for (int e = 1; e < r->c->experts; e++) {
    dot_part *to = &r->bench[e].part[role];
    memcpy(to->code, from->code, (size_t)from->elements * sizeof *from->code);
    memcpy(to->image, from->image, from->bytes);
  }
}

static int row_index(int role) { return role == LLRT_DOT_A ? 0 : role == LLRT_DOT_D ? 1 : -1; }

/* The offset of element x of expert e's tensor. */
static int64_t offset_of(const grouped_run *r, int role, int e, const int64_t *x) {
  const whole *w = &r->part[role];
  const int axis = joined_axis(r->c, role), own = r->bench[0].part[role].tensor.rank;
  int64_t at[LLRT_MAX_RANK] = {0};
  for (int a = 0; a < own; a++) at[a + (axis == -1)] = x[a];
  if (axis == -1) at[0] = e;
  if (axis >= 0 && r->bench[0].part[role].tensor.shape[axis] >= 0 &&
      w->tensor.shape[axis] > 1) /* one position of a scale is for all */
    at[axis] += r->first[e];
  int i = row_index(role);
  if (i >= 0 && r->row[i]) at[0] = r->row[i][at[0]];
  return llrt_storage_offset(&w->storage, &w->binding, at);
}

static uint64_t read_code(const uint8_t *image, int bits, int64_t at) {
  uint64_t code = 0;
  if (bits < 8) return image[at / 2] >> (at & 1) * 4 & 15;
  memcpy(&code, image + at * bits / 8, (size_t)bits / 8);
  return code;
}

static void write_code(uint8_t *image, int bits, int64_t at, uint64_t code) {
  if (bits >= 8) memcpy(image + at * bits / 8, &code, (size_t)bits / 8);
  else
    image[at / 2] =
        (uint8_t)((image[at / 2] & ~(15 << (at & 1) * 4)) | (int)(code & 15) << (at & 1) * 4);
}

/* Moves all of expert e's elements: to the whole, or from it to the expert's row-major image. */
static void move_elements(grouped_run *r, int role, int e, bool back) {
  const dot_part *part = &r->bench[e].part[role];
  int bits = llrt_dtype_bits(part->tensor.dtype);
  for (int64_t i = 0; i < part->elements; i++) {
    int64_t x[LLRT_MAX_RANK], rest = i;
    for (int a = part->tensor.rank - 1; a >= 0; a--) {
      x[a] = rest % part->tensor.shape[a];
      rest /= part->tensor.shape[a];
    }
    int64_t at = offset_of(r, role, e, x);
    if (back) write_code(part->image, bits, i, read_code(r->part[role].image, bits, at));
    else write_code(r->part[role].image, bits, at, part->code[i]);
  }
}

/* ---- tensors ---- */

static int count_of(const grouped_case *c, int e) { return c->count[e]; }

static bool make_benches(grouped_run *r, uint64_t seed) {
  const grouped_case *c = r->c;
  r->bench = calloc((size_t)c->experts, sizeof *r->bench);
  for (int e = 0; e < c->experts && r->bench; e++) {
    dot_problem p = c->each;
    *(c->sums ? &p.k : &p.m) = count_of(c, e);
    if (!dot_bench_make(&p, seed * 1000 + (uint64_t)e, &r->bench[e])) return false;
    r->first[e + 1] = r->first[e] + count_of(c, e);
  }
  r->all = r->first[c->experts] + c->beyond;
  return r->bench != NULL;
}

/* Whether a role's tensor lies as llrt_dot_pack says: scales of whole columns and of blocks, and
 * zero points that are floats, lie as any tensor. */
static bool is_packed_image(const grouped_case *c, int role) {
  const dot_problem *p = &c->each;
  bool scales = role == LLRT_DOT_SCALE_B || role == LLRT_DOT_ZERO_B;
  if (scales && (p->group[1][0] < 0 || p->group[1][1] > 1)) return false;
  if (role == LLRT_DOT_ZERO_B && !dot_is_integer(p->type[role])) return false;
  return p->packed && (role == LLRT_DOT_B || scales);
}

static llrt_dtype packed_type(const grouped_case *c, int role) {
  return is_packed_image(c, role) ? c->each.type[role] : LLRT_DTYPE_NONE;
}

/* The storage of a tensor: as the case says, for packed weights one expert's behind the other. */
static bool make_storage(grouped_run *r, int role, whole *w) {
  const grouped_case *c = r->c;
  const char *text = role <= LLRT_DOT_B && c->storage[role][0] ? c->storage[role] : "row_major";
  int64_t shape[LLRT_MAX_RANK];
  memcpy(shape, w->tensor.shape, sizeof shape);
  int i = row_index(role);
  if (i >= 0 && r->row[i]) shape[0] = r->rows[i];
  if (is_packed_image(c, role)) {
    const dot_problem *p = &c->each;
    const llrt_dot_pack_params what = {.dtype = p->type[LLRT_DOT_B],
                                       .scale = packed_type(c, LLRT_DOT_SCALE_B),
                                       .group = {p->group[1][0], p->group[1][1]},
                                       .other = p->other ? p->other : p->type[LLRT_DOT_A],
                                       .zero = packed_type(c, LLRT_DOT_ZERO_B),
                                       .n_batch = 1,
                                       .range_low = p->range[1][0],
                                       .range_high = p->range[1][1]};
    llrt_dot_packing packing = {0};
    if (llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing) != LLRT_OK) return false;
    w->storage = packing.storages[role == LLRT_DOT_B ? 0 : role == LLRT_DOT_SCALE_B ? 1 : 2];
  } else if (llrt_storage_parse(text, w->tensor.rank, shape, &w->storage) != LLRT_OK) {
    return false;
  }
  if (llrt_storage_bind(&w->storage, w->tensor.rank, shape, NULL, &w->binding) != LLRT_OK)
    return false;
  return llrt_storage_bytes(&w->binding, llrt_dtype_bits(w->tensor.dtype), &w->bytes) == LLRT_OK;
}

static void fill_image(grouped_run *r, int role, whole *w) {
  const grouped_case *c = r->c;
  int axis = joined_axis(c, role);
  for (int e = 0; e < (axis == -2 ? 1 : c->experts); e++) {
    const dot_part *part = &r->bench[e].part[role];
    if (is_packed_image(c, role))
      memcpy(w->image + (int64_t)e * (int64_t)part->bytes, part->image, part->bytes);
    else if (role != LLRT_DOT_D) move_elements(r, role, e, false);
  }
}

static bool make_whole(grouped_run *r, int role, uint64_t *seed) {
  const grouped_case *c = r->c;
  const dot_part *one = &r->bench[0].part[role];
  whole *w = &r->part[role];
  int axis = joined_axis(c, role);
  if (axis == -2) share_codes(r, role);
  w->tensor = (llrt_tensor){.dtype = one->tensor.dtype, .rank = one->tensor.rank};
  for (int a = 0; a < one->tensor.rank; a++)
    w->tensor.shape[a + (axis == -1)] = one->tensor.shape[a];
  w->tensor.rank += axis == -1;
  if (axis == -1) w->tensor.shape[0] = c->experts;
  bool single = axis == 0 && role == LLRT_DOT_SCALE_D && c->each.group[2][0] == LLRT_GROUP_ALL;
  single |= axis == 0 && role == LLRT_DOT_SCALE_A && c->each.group[0][0] == LLRT_GROUP_ALL;
  if (axis >= 0 && !single) w->tensor.shape[axis] = r->all;
  if (single) share_codes(r, role);
  if (!make_storage(r, role, w)) return false;
  w->tensor.storage = &w->storage;
  w->tensor.device = r->device;
  w->image = malloc((size_t)w->bytes + 16);
  if (!w->image) return false;
  for (int64_t i = 0; i < w->bytes; i++) w->image[i] = (uint8_t)dot_random(seed);
  fill_image(r, role, w);
  return true;
}

/* A permutation of `rows` rows, of which the first n are those that are there. */
static bool make_rows(int64_t n, int64_t rows, uint64_t *seed, int32_t **made) {
  int32_t *order = malloc(((size_t)rows + 1) * sizeof *order);
  for (int64_t i = 0; order && i < rows; i++) {
    int64_t j = dot_random_below(seed, (int)i + 1);
    order[i] = order[j];
    order[j] = (int32_t)i;
  }
  (void)n;
  *made = order;
  return order != NULL;
}

/* ---- memory ---- */

static void *send(grouped_run *r, const void *bytes, int64_t n) {
  void *memory = NULL;
  if (llrt_memory_allocate(r->device, (size_t)n + 1, &memory) != LLRT_OK) return NULL;
  r->memory[r->n_memory++] = memory;
  if (n > 0 &&
      llrt_memory_copy(r->device, memory, bytes, (size_t)n, LLRT_COPY_TO_DEVICE, NULL) != LLRT_OK)
    return NULL;
  return memory;
}

static bool send_rows(grouped_run *r, int i) {
  whole *w = &r->part[i ? LLRT_DOT_D : LLRT_DOT_A];
  if (!r->row[i]) return true;
  w->index = (llrt_index){.axis = 0, .dtype = LLRT_I32, .axes = 1, .extent = r->rows[i]};
  w->index.strides[0] = 1;
  w->index.data = send(r, r->row[i], r->all * 4);
  w->tensor.indices = &w->index;
  w->tensor.n_indices = 1;
  return w->index.data != NULL;
}

/* Each expert's weights in memory of their own. */
static bool send_pointers(grouped_run *r) {
  whole *w = &r->part[LLRT_DOT_B];
  int64_t *list = r->list, bytes = w->bytes / r->c->experts;
  for (int e = 0; e < r->c->experts; e++) {
    void *own = send(r, w->image + e * bytes, bytes);
    if (!own) return false;
    list[e] = (int64_t)(intptr_t)own;
  }
  w->index = (llrt_index){
      .axis = 0, .kind = LLRT_INDEX_POINTER, .dtype = LLRT_I64, .axes = 1, .alignment = 16};
  w->index.strides[0] = 1;
  w->index.data = send(r, list, r->c->experts * 8);
  w->tensor.indices = &w->index;
  w->tensor.n_indices = 1;
  return w->index.data != NULL;
}

/* Each row's expert; of rows behind all experts' numbers that none has. */
static bool send_experts(grouped_run *r) {
  static const int32_t spoilt[] = {3, INT32_MIN, 0, INT32_MAX, -1, 1, 2};
  const int n_experts = r->c->experts;
  whole *w = &r->part[LLRT_DOT_ENDS];
  int32_t *of = r->expert = malloc((size_t)r->all * sizeof *of + 1);
  if (!of) return false;
  for (int e = 0; e < n_experts; e++)
    for (int64_t t = r->first[e]; t < r->first[e + 1]; t++) of[t] = e;
  for (int64_t t = r->first[n_experts]; t < r->all; t++)
    of[t] = t + 1 < r->all ? n_experts : INT32_MAX;
  if (r->c->beyond == 0 && r->c->count[0] > 0) of[0] = -7; /* as 0 */
  for (int64_t t = 0; t < r->all && r->c->spoilt; t++) of[t] = spoilt[t % 7];
  w->tensor = (llrt_tensor){.dtype = LLRT_I32, .rank = 1, .shape = {r->all}, .device = r->device};
  w->tensor.data = send(r, of, r->all * 4);
  return w->tensor.data != NULL;
}

static bool send_ends(grouped_run *r) {
  whole *w = &r->part[LLRT_DOT_ENDS];
  int32_t *ends = r->ends;
  int n = 0;
  if (r->c->leading) ends[n++] = 0;
  for (int e = 0; e < r->c->experts; e++) ends[n++] = (int32_t)r->first[e + 1];
  const int32_t spoilt[] = {INT32_MAX, 3, INT32_MIN, (int32_t)r->all + 1, -1, 0, (int32_t)r->all};
  for (int i = 0; i < n && r->c->spoilt; i++) ends[i] = spoilt[(i + r->c->experts) % 7];
  w->tensor = (llrt_tensor){.dtype = LLRT_I32, .rank = 1, .shape = {n}, .device = r->device};
  w->tensor.data = send(r, ends, n * 4);
  return w->tensor.data != NULL;
}

static bool send_all(grouped_run *r) {
  for (int role = 0; role < LLRT_DOT_ENDS; role++) {
    whole *w = &r->part[role];
    if (!w->image || (role == LLRT_DOT_B && r->c->pointers)) continue;
    w->tensor.data = send(r, w->image, w->bytes);
    if (!w->tensor.data) return false;
  }
  if (r->c->pointers && !send_pointers(r)) return false;
  return send_rows(r, 0) && send_rows(r, 1) && (r->c->sorted ? send_experts(r) : send_ends(r));
}

/* ---- the run ---- */

static const llrt_tensor *tensor_of(const grouped_run *r, int role) {
  return r->part[role].image ? &r->part[role].tensor : NULL;
}

static void fill_params(grouped_run *r) {
  llrt_dot_params *p = &r->params;
  *p = r->bench[0].params;
  p->c = tensor_of(r, LLRT_DOT_C);
  p->bias = tensor_of(r, LLRT_DOT_BIAS);
  p->add = tensor_of(r, LLRT_DOT_ADD);
  p->scale = tensor_of(r, LLRT_DOT_SCALE_D);
  llrt_dot_scaling *scaling[] = {&p->a, &p->b};
  for (int i = 0; i < 2; i++) {
    int first = i ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
    scaling[i]->scale = tensor_of(r, first);
    scaling[i]->zero = tensor_of(r, first + 1);
    scaling[i]->global = tensor_of(r, first + 2);
  }
  for (int i = 0; i < p->n_maps;
       i++) { /* one axis more in D where experts have results of their own */
    r->maps[i] = p->maps[i];
    for (int a = 0; a < 2 && r->c->sums; a++) {
      r->maps[i].group[a + 1] = p->maps[i].group[a];
      if (a == 0) r->maps[i].group[0] = LLRT_GROUP_ALL;
    }
  }
  p->maps = r->maps;
  p->size = sizeof *p;
  *(r->c->sorted ? &p->experts : &p->ends) = &r->part[LLRT_DOT_ENDS].tensor;
}

/* The description's axes: experts, rows, columns, K. */
static void promise_rows(const grouped_case *c, const llrt_op_desc *desc) {
  const llrt_promise rows = {.min = c->promised[0], .max = c->promised[1]};
  for (int i = 0; i < 3 && rows.max; i++)
    if (desc->tensors[i].shape[1] > 1) desc->promises[i].shape[1] = rows;
}

static llrt_status run_prepared(grouped_run *r, const llrt_tensor *const t[3]) {
  llrt_op_desc *desc = NULL;
  llrt_op *op = NULL, *loaded = NULL;
  const llrt_run_params run = {.size = sizeof run, .own_workspace = 1};
  size_t size = 0;
  void *bytes = NULL;
  llrt_status status = llrt_dot_describe(t[0], t[1], t[2], &r->params, &desc);
  if (status == LLRT_OK) status = llrt_op_promise_coarse(desc);
  if (status == LLRT_OK) promise_rows(r->c, desc);
  if (status == LLRT_OK) status = llrt_op_prepare(r->device, desc, &op);
  if (status == LLRT_OK) status = llrt_op_save(op, NULL, &size);
  if (status == LLRT_OK) bytes = malloc(size);
  if (status == LLRT_OK) status = llrt_op_save(op, bytes, &size);
  if (status == LLRT_OK) status = llrt_op_load(r->device, bytes, size, &loaded);
  if (status == LLRT_OK) status = llrt_op_run(loaded, NULL, desc->tensors, desc->n_tensors, &run);
  llrt_stream_synchronize(r->device, NULL);
  free(bytes);
  llrt_op_destroy(&op);
  llrt_op_destroy(&loaded);
  llrt_op_desc_destroy(&desc);
  return status;
}

static grouped_result run(grouped_run *r, bool prepared) {
  const llrt_tensor *const t[] = {&r->part[LLRT_DOT_A].tensor, &r->part[LLRT_DOT_B].tensor,
                                  &r->part[LLRT_DOT_D].tensor};
  llrt_status status =
      prepared ? run_prepared(r, t) : llrt_dot_into(t[0], t[1], t[2], &r->params, NULL);
  if (status == LLRT_UNSUPPORTED) return fail(r, GROUPED_REFUSED, "refused");
  if (status != LLRT_OK) return fail(r, GROUPED_WRONG, "run");
  whole *d = &r->part[LLRT_DOT_D];
  uint8_t *before = malloc((size_t)d->bytes + 1);
  if (!before) return fail(r, GROUPED_WRONG, "out of memory");
  memcpy(before, d->image, (size_t)d->bytes);
  if (d->bytes > 0 && llrt_memory_copy(r->device, d->image, d->tensor.data, (size_t)d->bytes,
                                       LLRT_COPY_FROM_DEVICE, NULL) != LLRT_OK) {
    free(before);
    return fail(r, GROUPED_WRONG, "copy");
  }
  grouped_result result = GROUPED_RIGHT;
  if (r->c->spoilt) {
    free(before);
    return result;
  }
  for (int e = 0; e < r->c->experts && result == GROUPED_RIGHT; e++) {
    char own[400] = "";
    move_elements(r, LLRT_DOT_D, e, true);
    dot_part *part = &r->bench[e].part[LLRT_DOT_D];
    if (!dot_reference_check(&r->bench[e], part->image, own, sizeof own)) {
      snprintf(r->why, r->size, "expert %d of %d rows: %s", e, r->c->count[e], own);
      result = GROUPED_WRONG;
    }
    /* what is its own is as it was: then all of D is compared with what was before */
    uint8_t *image = d->image;
    for (int64_t i = 0; i < part->elements; i++) {
      int64_t x[LLRT_MAX_RANK], rest = i;
      for (int a = part->tensor.rank - 1; a >= 0; a--) {
        x[a] = rest % part->tensor.shape[a];
        rest /= part->tensor.shape[a];
      }
      int bits = llrt_dtype_bits(part->tensor.dtype);
      int64_t at = offset_of(r, LLRT_DOT_D, e, x);
      write_code(image, bits, at, read_code(before, bits, at));
    }
  }
  if (result == GROUPED_RIGHT && memcmp(before, d->image, (size_t)d->bytes) != 0) {
    snprintf(r->why, r->size, "what is no expert's was written");
    result = GROUPED_WRONG;
  }
  free(before);
  return result;
}

static void end(grouped_run *r) {
  for (int i = 0; i < r->n_memory; i++) llrt_memory_free(r->device, r->memory[i]);
  for (int role = 0; role < LLRT_DOT_ROLES; role++) free(r->part[role].image);
  for (int i = 0; i < 2; i++) free(r->row[i]);
  free(r->expert);
  for (int e = 0; e < r->c->experts && r->bench; e++) dot_bench_free(&r->bench[e]);
  free(r->bench);
}

grouped_result grouped_case_run(const grouped_case *c, uint64_t seed, llrt_device *device,
                                bool prepared, char *why, size_t size) {
  grouped_run *r = calloc(1, sizeof *r);
  bool made = r != NULL;
  if (!r) return GROUPED_WRONG;
  *r = (grouped_run){.c = c, .device = device, .why = why, .size = size};
  made = make_benches(r, seed);
  for (int i = 0; i < 2 && made; i++) {
    r->rows[i] = r->all + 7 * i + 3;
    if (i ? c->scatter : c->gather) made = make_rows(r->all, r->rows[i], &seed, &r->row[i]);
  }
  for (int role = 0; role < LLRT_DOT_ENDS && made; role++)
    if (r->bench[0].problem.type[role]) made = make_whole(r, role, &seed);
  made = made && send_all(r);
  if (made) fill_params(r);
  grouped_result result = made ? run(r, prepared) : fail(r, GROUPED_WRONG, "tensors");
  end(r);
  free(r);
  return result;
}

void grouped_case_title(const grouped_case *c, char *title, size_t size) {
  char each[DOT_TITLE_BYTES];
  dot_problem p = c->each;
  *(c->sums ? &p.k : &p.m) = 1;
  dot_problem_title(&p, each, sizeof each);
  int n = snprintf(title, size, "%s by %d experts%s%s%s%s%s, a %s, d %s, b %s, rows",
                   c->sums ? "sums" : "rows", c->experts,
                   c->sorted    ? ", sorted"
                   : c->leading ? ", leading 0"
                                : "",
                   c->gather ? ", gathered" : "", c->scatter ? ", scattered" : "",
                   c->pointers ? ", pointers" : "", c->each.packed ? ", packed" : "", c->storage[0],
                   c->storage[1], c->storage[2]);
  for (int e = 0; e < c->experts && e < 40 && n > 0 && (size_t)n < size; e++)
    n += snprintf(title + n, size - (size_t)n, " %d", c->count[e]);
  if (n > 0 && (size_t)n < size)
    snprintf(title + n, size - (size_t)n, " + %d; each %s", c->beyond, each);
}
