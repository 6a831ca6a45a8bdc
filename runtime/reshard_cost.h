/* What a re-shard by NCCL moves, and how long both paths take by a model: two bandwidths, and what
 * meeting and calls cost. */
#ifndef LLRT_RUNTIME_RESHARD_COST_H
#define LLRT_RUNTIME_RESHARD_COST_H

#include "runtime/reshard_wire.h"

#define RESHARD_LINK_GBPS 450.0    /* NVLink of an H100 or H200, each way */
#define RESHARD_MEMORY_GBPS 3350.0 /* of an H100 */

/* Of one rank, by NCCL. */
typedef struct reshard_messages {
  int64_t sends, receives, sent, received; /* messages to and from others, and their bytes */
  int64_t in_place;                        /* of both, those that no kernel packs, or unpacks */
  int64_t packs, unpacks;                  /* bytes that kernels read and write for them */
  int64_t stays;                           /* and for what stays on the rank */
  int64_t workspace;                       /* bytes */
} reshard_messages;

typedef struct reshard_times {
  double peers, nccl; /* us */
  int parts;          /* of messages by NCCL */
} reshard_times;

/* messages[ranks]. Errors: INTERNAL. */
llrt_status reshard_count_messages(const llrt_reshard_desc *desc, int64_t ranks,
                                   reshard_messages *messages, int *parts);

/* Of the busiest rank. GB/s of a device's links, each way, and of its memory. */
reshard_times reshard_predict(const llrt_reshard_desc *desc, const reshard_messages *messages,
                              int64_t ranks, int parts, double link_gbps, double memory_gbps);

/* The path that takes less time on such devices, where a communicator has both. Errors:
 * OUT_OF_MEMORY, INTERNAL. */
llrt_status reshard_choose_path(const llrt_reshard_desc *desc, int64_t ranks,
                                llrt_reshard_path *path);

#endif
