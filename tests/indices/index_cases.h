/* Conversions with indices and what they must give, in plain C: for the plan interpreter and the
 * conformance suite. KV caches in every paged layout, slot mappings, pointer lists, gather and
 * scatter along an axis. */
#ifndef LLRT_TESTS_INDICES_INDEX_CASES_H
#define LLRT_TESTS_INDICES_INDEX_CASES_H

#include <llrt/llrt.h>

/* One tensor of a case. Values are held as 64-bit numbers, of a pointer list as numbers of layers:
 * the memory holds `layers` copies of the storage, `pitch` elements apart. */
typedef struct index_side {
  llrt_storage storage;
  int64_t strides[LLRT_MAX_RANK];
  int n_indices;
  llrt_index index[LLRT_MAX_INDICES]; /* data and report are the caller's to set */
  int64_t *values[LLRT_MAX_INDICES], n_values[LLRT_MAX_INDICES];
  llrt_storage_binding binding;
  int64_t layers, pitch;
} index_side;

typedef struct index_case {
  char title[128];
  llrt_dtype dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  index_side side[2];           /* source, destination */
  uint32_t counted;             /* bit a: the extent of axis a is in device memory, */
  int32_t count[LLRT_MAX_RANK]; /* where this is; the callers set extent_ptr */
  uint32_t said;                /* bit s: on the tensor of side s */
  uint64_t seed;
} index_case;

int index_cases_count(void);
/* False, with the last error set, is a defect of the case. Ends with index_case_free in any event.
 */
bool index_case_make(int number, uint64_t seed, index_case *made);
void index_case_free(index_case *made);

/* The next of a shape's coordinates, the last axis fastest; false behind the last. Where a value
 * lies among an index's. */
bool index_next_coordinate(const int64_t *shape, int rank, int64_t *coords);
int64_t index_value_place(const llrt_index *index, int rank, const int64_t *coords);

/* For those who make cases (index_rows.c): an index whose values lie packed, but for `pitch`
 * between the rows of a table; the storage; what follows once both are there, with `bad` values in
 * 16 out of range. */
void index_case_add_index(const index_case *of, index_side *side, llrt_index index, int pitch);
bool index_case_parse(const index_case *of, index_side *side, const char *text);
bool index_case_finish_side(index_case *of, index_side *side, int bad, uint64_t *seed);

/* Bytes of the side's memory, all layers. */
size_t index_side_bytes(const index_case *of, int side);

/* The tensor over memory at `data`, whose indices the caller completes: data, report. */
llrt_tensor index_side_tensor(const index_case *of, int side, void *data);

/* Writes the values of index `number` as its dtype, addresses relative to `data`. */
void index_side_write_values(const index_case *of, int side, int number, void *data, void *values);
size_t index_side_values_bytes(const index_case *of, int side, int number);

/* Writes what the conversion leaves in the destination, and how far each counter grows. */
void index_case_reference(const index_case *of, const void *source, void *destination,
                          int32_t reports[2][LLRT_MAX_INDICES]);

#endif
