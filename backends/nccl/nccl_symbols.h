/* The functions of NCCL, and of RCCL, which has the same ones, that llrt calls, with llrt's own
 * declarations of them: communicators are pointers, enums are int (nccl.h of NCCL 2.14 to 2.31). */
#ifndef LLRT_BACKENDS_NCCL_SYMBOLS_H
#define LLRT_BACKENDS_NCCL_SYMBOLS_H

#include <limits.h>
#include <stddef.h>

typedef int nccl_result;

/* ncclResult_t */
#define NCCL_RESULT_SUCCESS 0
#define NCCL_RESULT_IN_PROGRESS 7

#define NCCL_UINT8 1 /* ncclDataType_t */

/* ncclUniqueId, passed by value. */
#define NCCL_ID_BYTES 128
typedef struct nccl_id {
  char bytes[NCCL_ID_BYTES];
} nccl_id;

/* ncclConfig_t as NCCL 2.14 had it first. Later versions copy as many bytes as `size` says, and
 * give the fields that came after `version` their presets: those of 2.17, which the padding lies
 * over, too. */
#define NCCL_CONFIG_MAGIC 0xcafebeefu
#define NCCL_CONFIG_VERSION 21400u /* 10000 * major + 100 * minor + patch, since 2.9 */
typedef struct nccl_config {
  size_t size;
  unsigned magic, version;
  int blocking;
} nccl_config;

/* The oldest version that has all of this. */
#define NCCL_OLDEST_VERSION 21400

/* X(required, type, function, arguments) */
#define NCCL_SYMBOLS(X) \
  X(1, nccl_result, ncclGetVersion, (int *version)) \
  X(1, const char *, ncclGetErrorString, (nccl_result result)) \
  X(0, const char *, ncclGetLastError, (void *comm)) \
  X(1, nccl_result, ncclGetUniqueId, (nccl_id * id)) \
  X(1, nccl_result, ncclCommInitRankConfig, \
    (void **comm, int ranks, nccl_id id, int rank, nccl_config *config)) \
  X(0, nccl_result, ncclCommFinalize, (void *comm)) \
  X(1, nccl_result, ncclCommDestroy, (void *comm)) \
  X(1, nccl_result, ncclCommAbort, (void *comm)) \
  X(1, nccl_result, ncclCommGetAsyncError, (void *comm, nccl_result *state)) \
  X(1, nccl_result, ncclCommCount, (const void *comm, int *ranks)) \
  X(1, nccl_result, ncclCommUserRank, (const void *comm, int *rank)) \
  X(1, nccl_result, ncclGroupStart, (void)) \
  X(1, nccl_result, ncclGroupEnd, (void)) \
  X(1, nccl_result, ncclSend, \
    (const void *data, size_t count, int type, int peer, void *comm, void *stream)) \
  X(1, nccl_result, ncclRecv, \
    (void *data, size_t count, int type, int peer, void *comm, void *stream)) \
  X(1, nccl_result, ncclAllGather, \
    (const void *own, void *all, size_t count, int type, void *comm, void *stream))

#endif
