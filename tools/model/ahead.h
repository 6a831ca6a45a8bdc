/* Reading ahead: a model's first bytes come into the system's page cache while a device is opened
 * and kernels are made. */
#ifndef LLRT_TOOLS_MODEL_AHEAD_H
#define LLRT_TOOLS_MODEL_AHEAD_H

#include "tools/model/model.h"

#include <pthread.h>

typedef struct model_ahead {
  const model *of;
  int n;          /* models */
  uint64_t bytes; /* of their files, in order, at most */
  bool begun;
  pthread_t thread;
} model_ahead;

/* Asks for the first `bytes` bytes of n models' files, on a thread of its own, as the system takes
 * such requests no faster than it reads. The models stay open until model_ahead_end, which waits
 * for the thread. Where there is no thread nothing is asked for. */
void model_ahead_begin(model_ahead *ahead, const model *of, int n, uint64_t bytes);
void model_ahead_end(model_ahead *ahead);

#endif
