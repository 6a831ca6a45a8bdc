/* A rank of a re-shard that is a process: memory that it shares with the others, and what all of
 * them have in common. Every failure ends the process. */
#ifndef LLRT_BENCHMARKS_RESHARD_PROCESS_H
#define LLRT_BENCHMARKS_RESHARD_PROCESS_H

#include "harness.h"

#include <llrt/llrt.h>

#include <pthread.h>

enum { PROCESS_MAX_RANKS = 8, PROCESS_SIGNAL_BYTES = 1 << 16 };

/* In memory that all processes see at one address. */
typedef struct process_world {
  pthread_barrier_t together;
  const harness_options *options;
  int ranks;
  bool ipc; /* CUDA IPC instead of descriptors */
  char device[PROCESS_MAX_RANKS][32];
  int socket[PROCESS_MAX_RANKS][PROCESS_MAX_RANKS]; /* rank r's end of the line to s */
  double number[PROCESS_MAX_RANKS];                 /* one of each rank, to be joined */
} process_world;

typedef struct process_rank {
  process_world *world;
  int rank;
  llrt_context *context;
  llrt_device *device;
  void *stream; /* what runs are queued on; set by the caller */
  size_t bytes; /* of a source, and of a destination */
  llrt_shared *own, *shared[PROCESS_MAX_RANKS];
  void *signals[PROCESS_MAX_RANKS], *sources[PROCESS_MAX_RANKS], *destinations[PROCESS_MAX_RANKS];
} process_rank;

/* Forks `ranks` processes, each of which calls run and ends with what it gives; the sum of these.
 */
int process_world_run(process_world *world, int (*run)(process_world *world, int rank));

/* Opens the rank's device, and memory of all ranks for parts of so many bytes; signals are zero. */
void process_rank_open(process_world *world, int rank, size_t bytes, process_rank *r);
void process_rank_close(process_rank *r);

/* The largest of all ranks' numbers; all of them call it. */
double process_largest(process_rank *r, double number);

#endif
