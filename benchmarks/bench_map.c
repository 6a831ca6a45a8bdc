/* Whole tensors converted with value maps, beside a plain copy: casts, block scales, XOR, bits of
 * words; in order and transposed; and weights packed for products (llrt/dot_pack.h). Each is
 * compared in full, then timed. GB/s counts the source, the result and the scales once.
 *
 * What is right comes from tables: a source's elements have at most 2^16 different codes, and what
 * becomes of each (with each of eight scales) is worked out on the host by the formats' definition
 * (jit/plan/types/number.h). */
#include "axis_bench.h"
#include "element.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"
#include "subcommands.h"

#include <llrt/dot_pack.h>

#include <stdlib.h>
#include <string.h>

#define MIB(n) ((int64_t)(n) << 20)

enum {
  CODE_BITS = 16,
  CODES = 1 << CODE_BITS,
  SCALES = 8,
  COLUMNS = 8192,
  TILE_ROWS = 256,
  TILE_COLUMNS = 16
};

typedef struct map_case {
  const char *name;
  llrt_dtype from, to;
  bool transposed;
  llrt_dtype scale; /* NONE: no scales */
  int64_t group[2];
  llrt_map_kind kind; /* 0: a cast alone */
  bool packed;        /* an operand [K, N] of a dot; transposed: it is [N, K] in memory */
} map_case;

static const map_case cases[] = {
    {"f32 to bf16", LLRT_F32, LLRT_BF16, .transposed = false},
    {"bf16 to f32", LLRT_BF16, LLRT_F32, .transposed = false},
    {"f32 to f16", LLRT_F32, LLRT_F16, .transposed = false},
    {"f32 to e4m3", LLRT_F32, LLRT_E4M3, .transposed = false},
    {"bf16 to e4m3", LLRT_BF16, LLRT_E4M3, .transposed = false},
    {"e4m3 to bf16", LLRT_E4M3, LLRT_BF16, .transposed = false},
    {"i8 to f16", LLRT_I8, LLRT_F16, .transposed = false},
    {"e2m1 to e4m3", LLRT_E2M1, LLRT_E4M3, .transposed = false},
    {"f32 to bf16, transposed", LLRT_F32, LLRT_BF16, .transposed = true},
    {"bf16 to e4m3, transposed", LLRT_BF16, LLRT_E4M3, .transposed = true},
    {"e4m3 to bf16, transposed", LLRT_E4M3, LLRT_BF16, .transposed = true},
    {"mxfp4 to bf16", LLRT_E2M1, LLRT_BF16, false, LLRT_E8M0, {1, 32}, .kind = LLRT_MAP_SCALE},
    {"mxfp4 to bf16, transposed",
     LLRT_E2M1,
     LLRT_BF16,
     true,
     LLRT_E8M0,
     {1, 32},
     .kind = LLRT_MAP_SCALE},
    {"mxfp8 to bf16", LLRT_E4M3, LLRT_BF16, false, LLRT_E8M0, {1, 32}, .kind = LLRT_MAP_SCALE},
    {"e4m3 to bf16 by blocks of 128 x 128",
     LLRT_E4M3,
     LLRT_BF16,
     false,
     LLRT_F32,
     {128, 128},
     .kind = LLRT_MAP_SCALE},
    {"xor of 16 bits", LLRT_U16, LLRT_U16, .transposed = false, .kind = LLRT_MAP_XOR},
    {"bits of words of bytes", LLRT_U8, LLRT_U8, .transposed = false, .kind = LLRT_MAP_WORD_BITS},
    {"e2m1 [K, N] packed", LLRT_E2M1, LLRT_E2M1, false, .kind = LLRT_MAP_WORD_BITS, .packed = true},
    {"e2m1 [N, K] packed", LLRT_E2M1, LLRT_E2M1, true, .kind = LLRT_MAP_WORD_BITS, .packed = true},
    {"int4 [N, K] packed", LLRT_I4, LLRT_I4, true, .kind = LLRT_MAP_WORD_BITS, .packed = true},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* One case made. */
typedef struct mapping {
  const map_case *c;
  uint64_t seed;
  int64_t rows, scale_columns;
  llrt_map map;
  llrt_dot_packing packing;
  uint64_t code[CODES];             /* f32: the codes that there are */
  uint64_t expected[SCALES][CODES]; /* by scale and code (f32: its number) */
  uint32_t word[4][256];            /* what a byte of a word contributes */
  uint64_t scale[SCALES];
  unsigned char *host_scales;
  void *device_scales;
} mapping;

/* ---- what is right ---- */

static int code_bits(const map_case *c) {
  int bits = llrt_dtype_bits(c->from);
  return bits < CODE_BITS ? bits : CODE_BITS;
}

/* Which of the codes element i has where it is not simply the element. */
static int64_t code_number(const mapping *m, int64_t i) {
  return harness_mix(m->seed * 77 + (uint64_t)i) % CODES;
}

static int scale_number(const mapping *m, int64_t row, int64_t column) {
  int64_t at = row / m->c->group[0] * m->scale_columns + column / m->c->group[1];
  return (int)(harness_mix(m->seed * 131 + (uint64_t)at) % SCALES);
}

/* element * scale rounded to f32, then to the destination's type. */
static uint64_t scaled(const mapping *m, uint64_t code, uint64_t scale) {
  double product = number_value(number_format_of(m->c->from), code) *
                   number_value(number_format_of(m->c->scale), scale);
  return number_code(number_format_of(m->c->to), (double)(float)product);
}

static void fill_tables(mapping *m) {
  const map_case *c = m->c;
  for (int64_t k = 0; k < INT64_C(1) << code_bits(c); k++) {
    uint64_t code = m->code[k] =
        c->from == LLRT_F32 ? harness_mix(m->seed * 31 + (uint64_t)k) & UINT32_MAX : (uint64_t)k;
    for (int s = 0; s < SCALES; s++)
      m->expected[s][k] = c->kind == LLRT_MAP_SCALE ? scaled(m, code, m->scale[s])
                          : c->kind == LLRT_MAP_XOR ? (code ^ m->map.constant)
                          : c->from == c->to        ? code
                                                    : number_cast(c->from, c->to, code);
  }
  for (int place = 0; place < 32; place++)
    for (int byte = 0; byte < 256; byte++)
      if (byte >> (m->map.perm[place] & 7) & 1)
        m->word[m->map.perm[place] >> 3][byte] |= UINT32_C(1) << place;
}

static int64_t count_wrong_words(const mapping *m, const void *source, const void *result) {
  const unsigned char *bytes = source;
  const uint32_t *words = result;
  int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < m->rows * COLUMNS / 4; i++) {
    uint32_t right = 0;
    for (int b = 0; b < 4; b++) right |= m->word[b][bytes[4 * i + b]];
    wrong += words[i] != right;
  }
  return wrong;
}

/* Elements whose four bits are not where the storage and the map put them. */
static int64_t count_wrong_packed(const axis_run *r, const void *source, const void *result) {
  const mapping *m = r->data;
  static int64_t place[TILE_ROWS * TILE_COLUMNS];
  const llrt_storage *storage = &m->packing.storages[0];
  llrt_storage_binding binding;
  const uint32_t *words = result;
  uint8_t bit[32];
  int64_t wrong = 0;
  harness_must(llrt_storage_bind(storage, 2, r->shape, NULL, &binding), r->name);
  for (int i = 0; i < 32; i++) bit[m->map.perm[i]] = (uint8_t)i;
  for (int i = 0; i < TILE_ROWS * TILE_COLUMNS; i++)
    place[i] = llrt_storage_offset(storage, &binding,
                                   (const int64_t[]){i / TILE_COLUMNS, i % TILE_COLUMNS});
#pragma omp parallel for collapse(2) reduction(+ : wrong)
  for (int64_t row = 0; row < m->rows; row += TILE_ROWS)
    for (int64_t column = 0; column < COLUMNS; column += TILE_COLUMNS) {
      int64_t first = llrt_storage_offset(storage, &binding, (const int64_t[]){row, column});
      for (int i = 0; i < TILE_ROWS * TILE_COLUMNS; i++) {
        int64_t k = row + i / TILE_COLUMNS, n = column + i % TILE_COLUMNS, at = first + place[i];
        uint64_t code =
            element_load(source, m->c->transposed ? n * m->rows + k : k * COLUMNS + n, 4).low;
        for (int b = 0; b < 4; b++)
          wrong += (words[at / 8] >> bit[4 * (at % 8) + b] & 1) != (code >> b & 1);
      }
    }
  return wrong;
}

static int64_t count_wrong(const axis_run *r, const void *source, const void *result) {
  const mapping *m = r->data;
  const map_case *c = m->c;
  int from = llrt_dtype_bits(c->from), to = llrt_dtype_bits(c->to);
  int64_t wrong = 0;
  if (c->packed) return count_wrong_packed(r, source, result);
  if (c->kind == LLRT_MAP_WORD_BITS) return count_wrong_words(m, source, result);
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t row = 0; row < m->rows; row++)
    for (int64_t column = 0; column < COLUMNS; column++) {
      int64_t i = row * COLUMNS + column;
      int64_t k =
          c->from == LLRT_F32 ? code_number(m, i) : (int64_t)element_load(source, i, from).low;
      int s = c->kind == LLRT_MAP_SCALE ? scale_number(m, row, column) : 0;
      wrong += element_load(result, c->transposed ? column * m->rows + row : i, to).low !=
               m->expected[s][k];
    }
  return wrong;
}

/* ---- making one ---- */

static void make_scales(harness *h, mapping *m, axis_run *r) {
  static const double factors[SCALES] = {1, 0.5, 2, 0.25, 1.5, 3, 0.75, 8};
  const map_case *c = m->c;
  int bytes = llrt_dtype_bits(c->scale) / 8;
  for (int s = 0; s < SCALES; s++)
    m->scale[s] = c->scale == LLRT_E8M0 ? (uint64_t)(123 + s)
                                        : number_code(number_format_of(c->scale), factors[s]);
  int64_t rows = (m->rows + c->group[0] - 1) / c->group[0], n = rows * m->scale_columns;
  m->host_scales = malloc((size_t)(n * bytes));
  if (!m->host_scales) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < m->scale_columns; column++) {
      int s = scale_number(m, row * c->group[0], column * c->group[1]);
      memcpy(m->host_scales + (row * m->scale_columns + column) * bytes, &m->scale[s],
             (size_t)bytes);
    }
  harness_must(llrt_memory_allocate(h->device, (size_t)(n * bytes), &m->device_scales),
               "device memory");
  harness_must(llrt_memory_copy(h->device, m->device_scales, m->host_scales, (size_t)(n * bytes),
                                LLRT_COPY_TO_DEVICE, NULL),
               "copy to the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy to the device");
  r->tensors[2] = (llrt_tensor){.data = m->device_scales,
                                .dtype = c->scale,
                                .rank = 2,
                                .shape = {rows, m->scale_columns},
                                .device = h->device};
  r->scaled = true;
  r->bytes += n * bytes;
}

/* f32 elements are some 2^16 numbers of all magnitudes, NaN among them; others any code. */
static void fill_source(harness *h, arena *a, const mapping *m) {
  uint32_t *elements = (uint32_t *)(void *)a->host_source;
  if (m->c->from != LLRT_F32) return;
#pragma omp parallel for
  for (int64_t i = 0; i < m->rows * COLUMNS; i++)
    elements[i] = (uint32_t)m->code[code_number(m, i)];
  arena_upload(h, a);
}

static llrt_status describe_packing(const harness *h, const map_case *c,
                                    llrt_dot_packing *packing) {
  const llrt_dtype scale = c->from == LLRT_E2M1 ? LLRT_E8M0 : LLRT_BF16;
  const llrt_dot_pack_params what = {.dtype = c->from, .scale = scale, .group = {32}};
  return llrt_dot_pack(&what, h->info.target, LLRT_DOT_B, packing);
}

static void choose_map(const harness *h, mapping *m) {
  if (m->c->packed) {
    harness_must(describe_packing(h, m->c, &m->packing), m->c->name);
    m->map = m->packing.map;
    return;
  }
  m->map.kind = m->c->kind;
  m->map.constant = 0x5aa5;
  for (int a = 0; a < 2; a++) m->map.group[a] = m->c->group[a];
  for (int i = 0; i < 32; i++) m->map.perm[i] = (uint8_t)(i * 5 % 32);
}

static llrt_status prepare(harness *h, arena *a, mapping *m, axis_run *r, llrt_storage *storage) {
  const map_case *c = m->c;
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_maps = c->kind != 0, .maps = {m->map}};
  llrt_status status =
      c->transposed ? llrt_storage_col_major(2, storage) : llrt_storage_row_major(2, storage);
  r->tensors[0] = axis_matrix(h, r, c->from, a->source);
  r->tensors[1] = axis_matrix(h, r, c->to, a->destination);
  r->tensors[c->packed ? 0 : 1].storage = storage;
  if (c->packed) r->tensors[1].storage = &m->packing.storages[0];
  return status ? status : axis_run_prepare(h, r, &desc);
}

static bool run_map(harness *h, arena *a, int64_t size, const map_case *c) {
  mapping *m = calloc(1, sizeof *m);
  llrt_storage storage;
  int from = llrt_dtype_bits(c->from), to = llrt_dtype_bits(c->to);
  if (!m) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  int64_t rows = size * 8 / (from > to ? from : to) / COLUMNS;
  m->c = c;
  m->seed = h->options.seed;
  m->rows = rows > 0 ? rows : 1;
  m->scale_columns = c->group[1] ? (COLUMNS + c->group[1] - 1) / c->group[1] : 0;
  choose_map(h, m);
  axis_run r = {.name = c->name,
                .op = "map",
                .size = size,
                .reference = AXIS_OF_COPY,
                .count_wrong = count_wrong,
                .data = m,
                .shape = {m->rows, COLUMNS}};
  r.source_bytes = (size_t)(m->rows * COLUMNS * from / 8);
  r.result_bytes = (size_t)(m->rows * COLUMNS * to / 8);
  r.bytes = (int64_t)(r.source_bytes + r.result_bytes);
  if (c->kind == LLRT_MAP_SCALE) make_scales(h, m, &r);
  fill_tables(m);
  fill_source(h, a, m);
  harness_must(prepare(h, a, m, &r, &storage), c->name);
  bool right = axis_run_measure(h, a, &r);
  axis_run_fini(h, &r);
  if (m->device_scales) llrt_memory_free(h->device, m->device_scales);
  free(m->host_scales);
  free(m);
  return right;
}

/* Not every device has kernels for packed weights, nor every size a whole tile of them. */
static bool is_here(const harness *h, int64_t size, const map_case *c) {
  llrt_dot_packing packing;
  if (c->packed && 2 * size < TILE_ROWS * COLUMNS) return false;
  return !c->packed || describe_packing(h, c, &packing) != LLRT_UNSUPPORTED;
}

static bool run_case(harness *h, arena *a, int64_t size, const void *of) {
  return !is_here(h, size, of) || run_map(h, a, size, of);
}

int bench_map(int argc, char *argv[]) {
  static const axis_bench bench = {.title = "map",
                                   .reference = AXIS_OF_COPY,
                                   .size = MIB(64),
                                   .cases = cases,
                                   .case_bytes = sizeof *cases,
                                   .n_cases = CASE_COUNT,
                                   .run_case = run_case};
  return axis_bench_main(&bench, argc, argv);
}
