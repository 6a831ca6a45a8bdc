/* What a re-shard by NCCL moves, and which path is taken, as text. */
#ifndef LLRT_RUNTIME_RESHARD_EXPLAIN_NCCL_H
#define LLRT_RUNTIME_RESHARD_EXPLAIN_NCCL_H

#include "base/text.h"
#include "runtime/reshard_cost.h"

llrt_status reshard_explain_nccl(const llrt_reshard_desc *desc, int64_t ranks, double link_gbps,
                                 double memory_gbps, llrt_text *out);

#endif
