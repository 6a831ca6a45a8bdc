/* What the parts of the replay program share. */
#ifndef LLRT_TESTS_REPLAY_H
#define LLRT_TESTS_REPLAY_H

#include "graph_driver.h"

#include <llrt/llrt.h>

typedef struct replay_params {
  const char *device;
  int replays;       /* of the split sum */
  int64_t elements;  /* that it sums */
  int graphs, limit; /* graphs of a kernel each; kernels that a context may keep */
} replay_params;

typedef struct replay_bench {
  replay_params params;
  graph_driver driver;
  llrt_context *context;
  llrt_device *device;
  void *captured, *eager, *replayed; /* streams */
} replay_bench;

/* Ends the program with what failed. */
void replay_must(int result, const char *what);
void replay_llrt_must(llrt_status status, const char *what);
#define MUST(call) replay_must((call), #call)
#define LLRT_MUST(call) replay_llrt_must((call), #call)

/* A context with that limit (0: none) and its device, and streams. */
void replay_open(replay_bench *bench, uint64_t most_kernels);
void replay_close(replay_bench *bench);

/* Device memory with these bytes (NULL: any). */
void *replay_memory(const replay_bench *bench, const void *data, size_t bytes);
/* Waits for all three streams, then copies. */
void replay_fetch(const replay_bench *bench, void *to, const void *from, size_t bytes);

/* Each prints a line of what it did and returns how many results were wrong. */
long replay_beside_eager(replay_bench *bench);
long replay_under_limit(replay_bench *bench);

#endif
