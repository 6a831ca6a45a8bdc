/* A stand-in for libnccl and librccl: the entry points that llrt calls, over sockets between
 * processes or threads of one machine, for emulated devices, for one GPU that ranks share, and for
 * host devices. It is strict: a call that NCCL leaves undefined ends the process. And it fails on
 * demand: standin_nccl_fault.
 *
 * Built three times: STANDIN_DRIVER is "cuda", "hip" or "host". */
#ifndef LLRT_TESTS_NCCL_STANDIN_H
#define LLRT_TESTS_NCCL_STANDIN_H

#include "backends/nccl/nccl_symbols.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STANDIN_MAX_RANKS = 64 };
enum {
  STANDIN_SYSTEM_ERROR = 2,
  STANDIN_INTERNAL_ERROR = 3,
  STANDIN_INVALID_ARGUMENT = 4,
  STANDIN_INVALID_USAGE = 5,
  STANDIN_REMOTE_ERROR = 6
};

/* What goes wrong with the messages of a rank of this process, from its n-th group on (counted from
 * 0 in each communicator). NONE: nothing any more. */
typedef enum standin_fault {
  STANDIN_NONE = 0,
  STANDIN_SEND_FAILS = 1,  /* ncclSend returns an error */
  STANDIN_GROUP_FAILS = 2, /* an asynchronous error instead of the messages */
  STANDIN_SLOW = 3,        /* 300 ms before they begin */
  STANDIN_HANGS = 4,       /* they never do */
  STANDIN_EXITS = 5,       /* the process ends in the middle of the first one */
  STANDIN_REFUSES = 6      /* none begins: its communicators are not made, as NCCL does of two ranks
                              on one GPU */
} standin_fault;
void standin_nccl_fault(int rank, int fault, int from_group);
/* For programs: in the environment, no rank's communicators are made. */
#define STANDIN_REFUSES_ALL "LLRT_STANDIN_REFUSES"

/* One message of a group. */
typedef struct standin_op {
  bool sends;
  int peer;
  size_t bytes;
  void *memory; /* the caller's */
  char *stage;  /* host memory; of host devices `memory` */
} standin_op;

typedef struct standin_comm {
  struct standin_comm *next; /* of all that there were; none is freed, as graphs may name them */
  int rank, ranks;
  nccl_id id;
  bool blocking;
  int socket[STANDIN_MAX_RANKS]; /* -1: none */
  pthread_t opener;
  bool opening;     /* the thread was begun */
  atomic_bool ends; /* aborted, or destroyed: nothing waits any more */
  atomic_bool gone; /* the handle is no more */
  atomic_int state; /* what ncclCommGetAsyncError tells */
  atomic_int busy;  /* threads that are in an exchange */
  int groups;
  struct standin_job *jobs; /* all that were queued: a graph may run them again */
} standin_comm;

/* What a group queues on its stream. */
typedef struct standin_job {
  struct standin_job *next;
  standin_comm *comm;
  int fault; /* standin_fault */
  int n;
  standin_op op[];
} standin_job;

/* standin_links.c: connects to all other ranks; moves a job's messages. Both return NCCL's result,
 * and an error once the communicator ends. */
nccl_result standin_connect(standin_comm *comm);
nccl_result standin_move(standin_job *job);

/* standin_stream.c: memory that the device's stream copies to and from; and a job, with its copies,
 * on the stream. Of the host it is run at once. */
char *standin_stage(size_t bytes);
bool standin_queue(standin_job *job, void (*run)(void *), void *stream);

#endif
