/* Conversions with indices and what they must give, in plain C: for the plan interpreter and the conformance
 * suite. KV caches in every paged layout, slot mappings, pointer lists, gather and scatter along an axis. */
#ifndef LLRT_TESTS_INDICES_INDEX_CASES_H
#define LLRT_TESTS_INDICES_INDEX_CASES_H

#include <llrt/llrt.h>

/* One tensor of a case. Values are held as 64-bit numbers, of a pointer list as numbers of layers: the
 * memory holds `layers` copies of the storage, `pitch` elements apart. */
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
  index_side side[2]; /* source, destination */
  int counted;        /* the axis whose extent is in device memory; -1: none */
  int32_t count;      /* what is there; the callers set extent_ptr */
  int64_t unit;       /* the destination pads that axis to multiples of so many, with zeros */
  uint64_t seed;
} index_case;

int index_cases_count(void);
/* False, with the last error set, is a defect of the case. Ends with index_case_free in any event. */
bool index_case_make(int number, uint64_t seed, index_case *made);
void index_case_free(index_case *made);

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
