/* Whether ranks write the others' memory or read it, by what either way puts on the links. */
#ifndef LLRT_RUNTIME_RESHARD_ACCESS_H
#define LLRT_RUNTIME_RESHARD_ACCESS_H

#include "runtime/reshard_moves.h"

/* Bytes that cross links between all ranks, in whole sectors of peers' memory. */
typedef struct reshard_crossing {
  double written, read;
} reshard_crossing;

struct storage_box;

/* Elements of a box that follow each other in memory: of its tile, and of the digits that begin
 * where others end. */
int64_t reshard_run_of(const struct storage_box *box, const int64_t *extent, int rank);

/* Whether some byte of a destination's part may hold elements of two boxes (reshard_halves.c):
 * then one rank writes them all, the part's own, by one launch after the other. */
bool reshard_shares_bytes(const llrt_reshard_desc *desc);

reshard_crossing reshard_count_crossing(const llrt_reshard_desc *desc);

/* The description's access, or, where it leaves that open, what costs less: LLRT_RESHARD_WRITE or
 * LLRT_RESHARD_READ. Summands are read, and
 * where nothing is said so is what shares bytes. */
llrt_reshard_access reshard_choose_access(const llrt_reshard_desc *desc,
                                          const reshard_crossing *crossing);

#endif
