/* Shared-memory matrices of wgmma: canonical layouts, matching, descriptors. */
#include <llrt/matrix.h>

#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "layout/storage_rule.h"

#define UNIT_BYTES 16   /* what swizzles move, and what descriptors count in */
#define CORE_ROWS 8     /* of an atom, across its major axis */
#define ADDRESS_BITS 18 /* of shared memory, in a descriptor */
#define MAX_ELEMENTS (1ll << 20)

/* One row of the table on one matrix: s(mn, k) is a sum of four digits. Strides in elements. */
typedef struct canonical {
  int64_t inner_mn, inner_k; /* positions of the lower digit of each axis */
  int64_t mn, k;             /* its stride */
  int64_t outer_mn, outer_k; /* stride of the upper digit */
  llrt_swizzle swizzle;
} canonical;

static int64_t unit_elements(const llrt_matrix *matrix) {
  return UNIT_BYTES * 8 / matrix->element_bits;
}

static int64_t swizzle_units(const llrt_matrix *matrix) {
  return matrix->swizzle_bytes ? matrix->swizzle_bytes / UNIT_BYTES : 1;
}

static llrt_status check(const llrt_matrix *matrix) {
  LLRT_REQUIRE(matrix, "matrix: NULL");
  LLRT_REQUIRE(llrt_params_are_zero(matrix->reserved, sizeof matrix->reserved),
               "matrix: a reserved field is not 0");
  int bits = matrix->element_bits, bytes = matrix->swizzle_bytes;
  LLRT_REQUIRE(bits >= 4 && bits <= 64 && bits_is_power_of_two(bits),
               "elements of %d bits; a matrix has 4, 8, 16, 32 or 64", bits);
  LLRT_REQUIRE(bytes == 0 || bytes == 32 || bytes == 64 || bytes == 128,
               "there is no swizzle of %d bytes", bytes);
  LLRT_REQUIRE(matrix->leading_bytes >= 0 && matrix->leading_bytes % UNIT_BYTES == 0 &&
                   matrix->stride_bytes >= 0 && matrix->stride_bytes % UNIT_BYTES == 0,
               "offsets %lld and %lld are not both multiples of 16 bytes",
               (long long)matrix->leading_bytes, (long long)matrix->stride_bytes);
  return LLRT_OK;
}

/* The row with its offsets as they are in `matrix`, in elements. A K-major swizzle with an LBO is
 * spans side by side. */
static canonical make_row(const llrt_matrix *matrix) {
  int64_t unit = unit_elements(matrix), width = swizzle_units(matrix) * unit;
  int64_t leading = matrix->leading_bytes * 8 / matrix->element_bits;
  int64_t stride = matrix->stride_bytes * 8 / matrix->element_bits;
  bool swizzled = matrix->swizzle_bytes != 0;
  canonical row = {.swizzle = {0}};
  if (matrix->mn_major)
    row = (canonical){.inner_mn = width,
                      .inner_k = CORE_ROWS,
                      .mn = 1,
                      .k = width,
                      .outer_mn = swizzled ? leading : stride,
                      .outer_k = swizzled ? stride : leading};
  else
    row = (canonical){.inner_mn = CORE_ROWS,
                      .mn = width,
                      .k = 1,
                      .outer_mn = stride,
                      .inner_k = swizzled && leading ? width : unit,
                      .outer_k = swizzled && !leading ? unit : leading};
  if (swizzled)
    row.swizzle = (llrt_swizzle){.per_element = (uint8_t)bits_log2(unit),
                                 .swizzle_len = (uint8_t)bits_log2(swizzle_units(matrix)),
                                 .atom_len = 3};
  return row;
}

static int64_t place(const canonical *row, int64_t mn, int64_t k) {
  int64_t sum = mn % row->inner_mn * row->mn + mn / row->inner_mn * row->outer_mn +
                k % row->inner_k * row->k + k / row->inner_k * row->outer_k;
  return (int64_t)storage_swizzle(&row->swizzle, (uint64_t)sum);
}

/* ---- making ---- */

/* The elements of a K-major swizzle's span; 0 for other rows. */
static int64_t k_span(const llrt_matrix *matrix) {
  bool has = !matrix->mn_major && matrix->swizzle_bytes;
  return has ? swizzle_units(matrix) * unit_elements(matrix) : 0;
}

/* Atoms follow each other along mn, then along k. */
static void pack(llrt_matrix *matrix, int64_t mn, int64_t k) {
  int64_t unit = UNIT_BYTES, width = swizzle_units(matrix) * unit;
  int64_t atom = CORE_ROWS * width, inner_mn = make_row(matrix).inner_mn;
  bool swizzled = matrix->swizzle_bytes != 0;
  int64_t along_mn = atom, along_k = mn / inner_mn * atom;
  bool leads_mn = matrix->mn_major && swizzled; /* LBO is the step along mn there only */
  int64_t leading = leads_mn ? along_mn : along_k, stride = leads_mn ? along_k : along_mn;
  if (matrix->leading_bytes == 0 && k > k_span(matrix)) matrix->leading_bytes = leading;
  if (matrix->stride_bytes == 0) matrix->stride_bytes = stride;
}

llrt_status llrt_matrix_storage(const llrt_matrix *matrix, int64_t mn, int64_t k,
                                llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  *out = (llrt_storage){0};
  LLRT_TRY(check(matrix));
  llrt_matrix packed = *matrix;
  if (k <= k_span(matrix)) packed.leading_bytes = 0; /* one span has none to lead to */
  canonical row = make_row(&packed);
  if (k_span(matrix) && k > k_span(matrix)) row.inner_k = k_span(matrix);
  LLRT_REQUIRE(mn > 0 && k > 0 && mn % row.inner_mn == 0 && k % row.inner_k == 0,
               "a matrix of %lld x %lld is not made of atoms of %lld x %lld", (long long)mn,
               (long long)k, (long long)row.inner_mn, (long long)row.inner_k);
  LLRT_REQUIRE(mn <= INT32_MAX && k <= INT32_MAX, "the matrix is too large");
  pack(&packed, mn, k);
  row = make_row(&packed);
  llrt_storage result = {
      .rank = 2,
      .n_digits = 4,
      .digit = {{.extent = row.inner_mn, .stride = row.mn, .axis = 0},
                {.extent = mn / row.inner_mn, .stride = row.outer_mn, .axis = 0},
                {.extent = row.inner_k, .stride = row.k, .axis = 1},
                {.extent = k / row.inner_k, .stride = row.outer_k, .axis = 1}},
      .swizzle = row.swizzle,
  };
  *out = result;
  return LLRT_OK;
}

/* ---- matching ---- */

/* The shared layout under examination. */
typedef struct shared_matrix {
  const llrt_storage *storage;
  llrt_storage_binding binding;
  int64_t mn, k;
} shared_matrix;

static int64_t place_in(const shared_matrix *shared, int64_t mn, int64_t k) {
  return llrt_storage_offset(shared->storage, &shared->binding, (int64_t[]){mn, k});
}

/* What the row's upper digit must step by, in elements, for the element at (mn, k) to be right; 0
 * where the matrix ends before. Z undoes itself. */
static int64_t step_at(const shared_matrix *shared, const canonical *row, int64_t mn, int64_t k) {
  if (mn >= shared->mn || k >= shared->k) return 0;
  return (int64_t)storage_swizzle(&row->swizzle, (uint64_t)place_in(shared, mn, k));
}

/* Fills the offsets that the row would need. False when one is no multiple of 16 bytes, or
 * negative. */
static bool find_offsets(const shared_matrix *shared, llrt_matrix *matrix) {
  canonical row = make_row(matrix);
  int64_t span = k_span(matrix);
  int64_t along_mn = step_at(shared, &row, row.inner_mn, 0);
  int64_t along_k = step_at(shared, &row, 0, span ? span : row.inner_k);
  bool leads_mn = matrix->mn_major && matrix->swizzle_bytes;
  int64_t leading = leads_mn ? along_mn : along_k, stride = leads_mn ? along_k : along_mn;
  if (span && leading == span) leading = 0; /* the table's row as it stands */
  if (leading > STORAGE_MAX_OFFSET / 64 || stride > STORAGE_MAX_OFFSET / 64) return false;
  int64_t leading_bits = leading * matrix->element_bits,
          stride_bits = stride * matrix->element_bits;
  matrix->leading_bytes = leading_bits / 8;
  matrix->stride_bytes = stride_bits / 8;
  return leading_bits % (8 * UNIT_BYTES) == 0 && stride_bits % (8 * UNIT_BYTES) == 0;
}

/* The number of elements, in row-major order, before the first that the row places elsewhere. */
static int64_t count_agreeing(const shared_matrix *shared, const llrt_matrix *matrix) {
  canonical row = make_row(matrix);
  if (shared->mn % row.inner_mn != 0 || shared->k % row.inner_k != 0) return -1;
  for (int64_t mn = 0; mn < shared->mn; mn++)
    for (int64_t k = 0; k < shared->k; k++)
      if (place_in(shared, mn, k) != place(&row, mn, k)) return mn * shared->k + k;
  return shared->mn * shared->k;
}

static const char *major_name(const llrt_matrix *matrix) { return matrix->mn_major ? "MN" : "K"; }

static llrt_status refuse(const shared_matrix *shared, const llrt_matrix *nearest,
                          int64_t agreeing) {
  if (agreeing < 0)
    return llrt_error(LLRT_UNSUPPORTED,
                      "%lld x %lld elements of %d bits are not whole atoms of any "
                      "canonical layout",
                      (long long)shared->mn, (long long)shared->k, nearest->element_bits);
  int64_t mn = agreeing / shared->k, k = agreeing % shared->k;
  canonical row = make_row(nearest);
  return llrt_error(
      LLRT_UNSUPPORTED,
      "no canonical layout: the nearest, %s-major with a swizzle of %d bytes, has element "
      "(%lld,%lld) at %lld, not %lld",
      major_name(nearest), nearest->swizzle_bytes, (long long)mn, (long long)k,
      (long long)place(&row, mn, k), (long long)place_in(shared, mn, k));
}

static llrt_status match(const shared_matrix *shared, int element_bits, llrt_matrix *out) {
  static const int32_t widths[4] = {0, 32, 64, 128};
  int64_t best = -2, whole = shared->mn * shared->k;
  llrt_matrix nearest = {.element_bits = element_bits};
  for (int i = 0; i < 8; i++) {
    llrt_matrix candidate = {
        .element_bits = element_bits, .swizzle_bytes = widths[i % 4], .mn_major = i >= 4};
    int64_t agreeing = find_offsets(shared, &candidate) ? count_agreeing(shared, &candidate) : -1;
    if (agreeing == whole) {
      *out = candidate;
      return LLRT_OK;
    }
    if (agreeing > best) {
      best = agreeing;
      nearest = candidate;
    }
  }
  return refuse(shared, &nearest, best);
}

llrt_status llrt_matrix_match(const llrt_storage *shared, int64_t mn, int64_t k, int element_bits,
                              llrt_matrix *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  *out = (llrt_matrix){0};
  const llrt_matrix asked = {.element_bits = element_bits};
  LLRT_TRY(check(&asked));
  LLRT_TRY(llrt_storage_validate(shared));
  shared_matrix at = {.storage = shared, .mn = mn, .k = k};
  LLRT_REQUIRE(mn > 0 && k > 0 && mn <= MAX_ELEMENTS / k,
               "%lld x %lld is no matrix of at most 2^20", (long long)mn, (long long)k);
  LLRT_TRY(llrt_storage_bind(shared, 2, (int64_t[]){mn, k}, NULL, &at.binding));
  if (shared->n_targets > 0)
    return llrt_error(LLRT_UNSUPPORTED, "the storage has other axes than memory");
  llrt_matrix result;
  LLRT_TRY(match(&at, element_bits, &result));
  *out = result;
  return LLRT_OK;
}

llrt_status llrt_matrix_match_layout(const llrt_layout *shared, int element_bits,
                                     llrt_matrix *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  *out = (llrt_matrix){0};
  llrt_storage storage;
  LLRT_TRY(llrt_storage_from_layout(shared, &storage));
  LLRT_REQUIRE(storage.rank == 2, "a matrix has 2 axes, the layout %d", storage.rank);
  for (int axis = 0; axis < 2; axis++)
    LLRT_REQUIRE(storage_tile_bits(&storage, axis) <= 20,
                 "the layout is no matrix of at most 2^20");
  return llrt_matrix_match(&storage, 1ll << storage_tile_bits(&storage, 0),
                           1ll << storage_tile_bits(&storage, 1), element_bits, out);
}

/* ---- descriptors ---- */

static uint64_t swizzle_code(int swizzle_bytes) {
  switch (swizzle_bytes) {
  case 128: return 1;
  case 64: return 2;
  case 32: return 3;
  default: return 0;
  }
}

/* Where the swizzle's pattern does not begin on a multiple of its own size, the hardware must be
 * told. */
static uint64_t base_offset(const llrt_matrix *matrix, uint64_t address) {
  uint64_t pattern = (uint64_t)matrix->swizzle_bytes * CORE_ROWS;
  return pattern == 0 || address % pattern == 0 ? 0 : address >> 7 & 7;
}

llrt_status llrt_matrix_descriptor(const llrt_matrix *matrix, uint64_t address,
                                   uint64_t *descriptor) {
  LLRT_ENTRY();
  LLRT_REQUIRE(descriptor, "descriptor: NULL");
  *descriptor = 0;
  LLRT_TRY(check(matrix));
  uint64_t leading = (uint64_t)matrix->leading_bytes, stride = (uint64_t)matrix->stride_bytes;
  if (!matrix->mn_major && matrix->swizzle_bytes) leading = UNIT_BYTES;
  LLRT_REQUIRE(address % UNIT_BYTES == 0, "address %llu is no multiple of 16",
               (unsigned long long)address);
  LLRT_REQUIRE((address | leading | stride) >> ADDRESS_BITS == 0,
               "an address or offset has more than %d bits", ADDRESS_BITS);
  *descriptor = address / UNIT_BYTES | leading / UNIT_BYTES << 16 | stride / UNIT_BYTES << 32 |
                base_offset(matrix, address) << 49 | swizzle_code(matrix->swizzle_bytes) << 62;
  return LLRT_OK;
}
