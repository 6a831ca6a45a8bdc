#include "nccl_calls.h"

#include "harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UINT8 1 /* ncclDataType_t */

typedef struct nccl_id {
  char bytes[128];
} nccl_id;

/* X(field, symbol, parameters): the functions used. */
#define NCCL_LIST(X) \
  X(version, "ncclGetVersion", (int *)) \
  X(init, "ncclCommInitRank", (void **, int, nccl_id, int)) \
  X(destroy, "ncclCommDestroy", (void *)) \
  X(group_start, "ncclGroupStart", (void)) \
  X(group_end, "ncclGroupEnd", (void)) \
  X(send, "ncclSend", (const void *, size_t, int, int, void *, void *)) \
  X(receive, "ncclRecv", (void *, size_t, int, int, void *, void *))

struct nccl_calls {
  void *comm;
  int rank, ranks;
#define NCCL_FIELD(field, symbol, parameters) int(*field) parameters;
  NCCL_LIST(NCCL_FIELD)
#undef NCCL_FIELD
};

static void must(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "%s: NCCL's result %d\n", what, result);
  harness_end(1);
}

static void *find(void *library, const char *name) {
  void *address = library ? dlsym(library, name) : NULL;
  if (address) return address;
  fprintf(stderr, "no NCCL, or without %s: %s\n", name, dlerror());
  harness_end(1);
}

nccl_calls *nccl_calls_open(const char *path, const void *id_bytes, int rank, int ranks) {
  nccl_calls *calls = calloc(1, sizeof *calls);
  void *library = dlopen(path ? path : "libnccl.so.2", RTLD_NOW);
  nccl_id id;
  if (!calls) harness_end(1);
#define NCCL_LOAD(field, symbol, parameters) *(void **)&calls->field = find(library, symbol);
  NCCL_LIST(NCCL_LOAD)
#undef NCCL_LOAD
  memcpy(id.bytes, id_bytes, sizeof id.bytes);
  calls->rank = rank;
  calls->ranks = ranks;
  must(calls->init(&calls->comm, ranks, id, rank), "ncclCommInitRank");
  return calls;
}

void nccl_calls_close(nccl_calls *calls) {
  must(calls->destroy(calls->comm), "ncclCommDestroy");
  free(calls);
}

void nccl_calls_all_to_all(const nccl_calls *calls, const void *from, void *to, size_t piece,
                           void *stream) {
  must(calls->group_start(), "ncclGroupStart");
  for (int i = 1; i < calls->ranks; i++) {
    int next = (calls->rank + i) % calls->ranks;
    int before = (calls->rank + calls->ranks - i) % calls->ranks;
    must(calls->send((const char *)from + (size_t)next * piece, piece, UINT8, next, calls->comm,
                     stream),
         "ncclSend");
    must(calls->receive((char *)to + (size_t)before * piece, piece, UINT8, before, calls->comm,
                        stream),
         "ncclRecv");
  }
  must(calls->group_end(), "ncclGroupEnd");
}

static size_t begin_of(const size_t *bytes, int rank) {
  size_t begin = 0;
  for (int i = 0; i < rank; i++) begin += bytes[i];
  return begin;
}

void nccl_calls_exchange(const nccl_calls *calls, const void *from, void *to, const size_t *sent,
                         const size_t *received, void *stream) {
  must(calls->group_start(), "ncclGroupStart");
  for (int i = 1; i < calls->ranks; i++) {
    int next = (calls->rank + i) % calls->ranks;
    int before = (calls->rank + calls->ranks - i) % calls->ranks;
    if (sent[next] > 0)
      must(calls->send((const char *)from + begin_of(sent, next), sent[next], UINT8, next,
                       calls->comm, stream),
           "ncclSend");
    if (received[before] > 0)
      must(calls->receive((char *)to + begin_of(received, before), received[before], UINT8, before,
                          calls->comm, stream),
           "ncclRecv");
  }
  must(calls->group_end(), "ncclGroupEnd");
}

void *nccl_calls_comm(const nccl_calls *calls) { return calls->comm; }

int nccl_calls_version(const nccl_calls *calls) {
  int version = 0;
  must(calls->version(&version), "ncclGetVersion");
  return version;
}
