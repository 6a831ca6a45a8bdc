/* NCCL's own send and receive, beside what llrt makes of them. The library is opened at run time;
 * every failure ends the program. */
#ifndef LLRT_BENCHMARKS_NCCL_CALLS_H
#define LLRT_BENCHMARKS_NCCL_CALLS_H

#include <stddef.h>

typedef struct nccl_calls nccl_calls;

/* One rank's end. path NULL: libnccl.so.2. id: 128 bytes, made by nccl_calls_id. Collective. The
 * device's context is current on this thread. */
nccl_calls *nccl_calls_open(const char *path, const void *id, int rank, int ranks);
void nccl_calls_close(nccl_calls *calls);

/* Queues that each rank's piece i goes to rank i, and that of rank i to place i; the own one is
 * left alone. */
void nccl_calls_all_to_all(const nccl_calls *calls, const void *from, void *to, size_t piece,
                           void *stream);

/* The same of other sizes: sent[i] bytes to rank i, which lie behind those to the ranks before it,
 * and received[i] from it, likewise. 0: no message. */
void nccl_calls_exchange(const nccl_calls *calls, const void *from, void *to, const size_t *sent,
                         const size_t *received, void *stream);

/* The ncclComm_t, which blocks, as most programs' do; the struct's. */
void *nccl_calls_comm(const nccl_calls *calls);

/* ncclGetVersion's number. */
int nccl_calls_version(const nccl_calls *calls);

#endif
