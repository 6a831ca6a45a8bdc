/* A prepared re-shard as bytes: the description, then each launch's operation as llrt_op_save has
 * it, in the order in which they were prepared. */
#ifndef LLRT_RUNTIME_RESHARD_BYTES_H
#define LLRT_RUNTIME_RESHARD_BYTES_H

#include "runtime/byte_stream.h"

#include <llrt/reshard.h>

/* A description with all that it points to. */
typedef struct reshard_description {
  llrt_reshard_desc desc;
  llrt_sharding source, destination, scale;
  int64_t shape[LLRT_MAX_RANK];
  llrt_map maps[LLRT_MAX_MAPS];
  llrt_index index[2][LLRT_MAX_INDICES];
  int64_t *strides[2]; /* of source and destination, malloc'ed; NULL: none */
} reshard_description;

void reshard_description_fini(reshard_description *description);

/* Appends a checked description. */
void reshard_description_write(llrt_text *out, const llrt_reshard_desc *desc);

/* Operations of saved bytes, one after the other. */
typedef struct reshard_saved {
  reader in;
} reshard_saved;

/* The next one, for a launch to be prepared; UNSUPPORTED where it was refused, as it would be now,
 * and where it is for another target, which it stays. Errors: also those of llrt_op_load. */
llrt_status reshard_saved_next(reshard_saved *saved, llrt_device *device, llrt_op **op);

/* What saved bytes are of; `saved` stands before the first operation. Errors: CORRUPT. */
typedef struct reshard_head {
  int32_t rank, ranks;
  int32_t path; /* llrt_reshard_path that was taken */
} reshard_head;

llrt_status reshard_bytes_read(const void *buffer, size_t size, reshard_head *head,
                               reshard_description *description, reshard_saved *saved);

#endif
