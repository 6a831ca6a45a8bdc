/* What a communicator does by NCCL alone. */
#ifndef LLRT_RUNTIME_COMM_NCCL_H
#define LLRT_RUNTIME_COMM_NCCL_H

#include "runtime/comm.h"
#include "runtime/nccl_rank.h"

/* The params' part that is NCCL's: comm->nccl, NULL where they name none. Errors: as
 * llrt_comm_create. */
llrt_status comm_nccl_open(llrt_comm *comm, const llrt_comm_params *params);

/* Meets all other ranks, and waits until they have come: whether all of them are about to do what
 * the hash says. refuses: this rank tells them that it is not. Errors: INVALID_ARGUMENT, naming the
 * first rank that refused or described something else; DEVICE. */
llrt_status comm_nccl_agree(llrt_comm *comm, llrt_hash hash, bool refuses, void *stream);

#endif
