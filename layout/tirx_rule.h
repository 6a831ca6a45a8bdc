/* A storage on a shape of its own rank, or of any rank where it has one axis. */
#ifndef LLRT_LAYOUT_TIRX_RULE_H
#define LLRT_LAYOUT_TIRX_RULE_H

#include "layout/storage_rule.h"

#include <llrt/tirx.h>

typedef struct bound_shape {
  int rank; /* of the storage */
  int64_t shape[LLRT_MAX_RANK];
  llrt_storage_binding binding;
} bound_shape;

/* Validates and binds. Errors: as llrt_storage_bind; sizes that differ. */
llrt_status tirx_bind(const llrt_storage *storage, int rank, const int64_t *shape,
                      bound_shape *out);

/* Whether anything lies in memory, or nothing has another target. */
bool tirx_names_memory(const llrt_storage *storage);

#endif
