/* Whether ranks write the others' memory or read it, by what either way puts on the links. */
#ifndef LLRT_RUNTIME_RESHARD_ACCESS_H
#define LLRT_RUNTIME_RESHARD_ACCESS_H

#include "runtime/reshard_moves.h"

/* Bytes that cross links between all ranks, in whole sectors of peers' memory. */
typedef struct reshard_crossing {
  double written, read;
} reshard_crossing;

reshard_crossing reshard_count_crossing(const llrt_reshard_desc *desc);

/* The description's access, or, where it leaves that open, what costs less: LLRT_RESHARD_WRITE or
 * LLRT_RESHARD_READ. Summands are read. */
llrt_reshard_access reshard_choose_access(const llrt_reshard_desc *desc,
                                          const reshard_crossing *crossing);

#endif
