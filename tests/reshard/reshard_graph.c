#include "tests/reshard/reshard_graph.h"

#include <dlfcn.h>
#include <stddef.h>

enum { CAPTURE_THREAD_LOCAL = 1 };

/* X(name, arguments): each gives 0 for success. */
#define DRIVER_FUNCTIONS(X) \
  X(cuDevicePrimaryCtxRetain, (void **context, int device)) \
  X(cuCtxSetCurrent, (void *context)) \
  X(cuStreamBeginCapture_v2, (void *stream, int mode)) \
  X(cuStreamEndCapture, (void *stream, void **graph)) \
  X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags)) \
  X(cuGraphLaunch, (void *exec, void *stream)) \
  X(cuStreamSynchronize, (void *stream)) \
  X(cuGraphExecDestroy, (void *exec)) \
  X(cuGraphDestroy, (void *graph))

typedef struct driver {
#define FIELD(name, arguments) int(*name) arguments;
  DRIVER_FUNCTIONS(FIELD)
#undef FIELD
} driver;

static bool find_driver(driver *found) {
  bool all = true;
  void *library = dlopen("libllrt-emu-cuda.so", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return false;
#define FIND(name, arguments) \
  *(void **)&found->name = dlsym(library, #name); \
  all &= found->name != NULL;
  DRIVER_FUNCTIONS(FIND)
#undef FIND
  return all;
}

bool reshard_graph_begin(int ordinal, void *stream) {
  driver cuda;
  void *context;
  return find_driver(&cuda) && cuda.cuDevicePrimaryCtxRetain(&context, ordinal) == 0 &&
         cuda.cuCtxSetCurrent(context) == 0 &&
         cuda.cuStreamBeginCapture_v2(stream, CAPTURE_THREAD_LOCAL) == 0;
}

bool reshard_graph_replay(void *stream, int times) {
  driver cuda;
  void *graph, *exec;
  if (!find_driver(&cuda) || cuda.cuStreamEndCapture(stream, &graph) != 0 ||
      cuda.cuGraphInstantiateWithFlags(&exec, graph, 0) != 0)
    return false;
  bool done = true;
  for (int i = 0; i < times; i++) done &= cuda.cuGraphLaunch(exec, stream) == 0;
  done &= cuda.cuStreamSynchronize(stream) == 0;
  cuda.cuGraphExecDestroy(exec);
  cuda.cuGraphDestroy(graph);
  return done;
}
