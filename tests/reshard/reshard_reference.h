/* What every place of a case's memory is to hold, by coordinates alone. */
#ifndef LLRT_TESTS_RESHARD_REFERENCE_H
#define LLRT_TESTS_RESHARD_REFERENCE_H

#include "tests/reshard/reshard_case.h"

/* Memory of one part: on the device, and what it holds as bytes here. */
typedef struct part_memory {
  void *data; /* NULL: the rank has none */
  uint8_t *bytes;
  size_t size;   /* with a guard behind */
  uint8_t *word; /* of each 32-bit word: 1 if a WORD_BITS map acts on it */
} part_memory;

/* One of a case's tensors. */
typedef enum reshard_role { ROLE_SOURCE, ROLE_DESTINATION, ROLE_SCALE } reshard_role;

const llrt_sharding *reshard_sharding_of(const reshard_case *c, reshard_role of);
llrt_dtype reshard_dtype_of(const reshard_case *c, reshard_role of);

/* The rank's part as a run has it: its strides, and along an indexed axis the pool. */
llrt_status reshard_bind_part(const reshard_case *c, reshard_role of, int rank, llrt_part *part,
                              llrt_storage_binding *binding);

/* Fills bytes, which are poison, as the part that `rank` has. */
void reshard_fill_part(const reshard_case *c, reshard_role of, int rank, part_memory *memory);

#endif
