/* See graph_driver.h. */
#include "graph_driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The libraries in turn, and which of its devices has the target that an emulated name says. */
typedef struct vendor {
  const char *prefix, *library[4];
  const char *target[4];
  bool cuda;
} vendor;

static const vendor vendors[] = {
    {"cuda-emu:", {"libllrt-emu-cuda.so"}, {"sm_90a", "sm_89", "sm_80", "sm_90"}, true},
    {"hip-emu:", {"libllrt-emu-hip.so"}, {"gfx90a", "gfx942"}, false},
    {"cuda", {"libcuda.so.1", "libcuda.so"}, {NULL}, true},
    {"hip",
     {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
     {NULL},
     false},
};

static const vendor *find_vendor(const char *device) {
  for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
    if (strncmp(device, vendors[i].prefix, strlen(vendors[i].prefix)) == 0) return &vendors[i];
  return NULL;
}

static int find_ordinal(const vendor *of, const char *device) {
  const char *rest = device + strlen(of->prefix);
  if (!of->target[0]) return *rest == ':' ? atoi(rest + 1) : 0;
  for (int i = 0; i < 4 && of->target[i]; i++)
    if (strcmp(rest, of->target[i]) == 0) return i;
  return -1;
}

static bool load(const vendor *of, graph_driver *driver) {
  for (int i = 0; i < 4 && of->library[i] && !driver->library; i++)
    driver->library = dlopen(of->library[i], RTLD_NOW | RTLD_LOCAL);
  if (!driver->library) return false;
#define GRAPH_DRIVER_LOAD(field, of_cuda, of_hip, arguments) \
  *(void **)&driver->field = dlsym(driver->library, of->cuda ? of_cuda : of_hip);
  GRAPH_DRIVER_FUNCTIONS(GRAPH_DRIVER_LOAD)
#undef GRAPH_DRIVER_LOAD
  bool all = true;
#define GRAPH_DRIVER_CHECK(field, of_cuda, of_hip, arguments) all &= driver->field != NULL;
  GRAPH_DRIVER_FUNCTIONS(GRAPH_DRIVER_CHECK)
#undef GRAPH_DRIVER_CHECK
  return all;
}

static bool use_cuda(void *library, int ordinal) {
  int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*use)(void *), device;
  void *context;
  *(void **)&init = dlsym(library, "cuInit");
  *(void **)&get = dlsym(library, "cuDeviceGet");
  *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void **)&use = dlsym(library, "cuCtxSetCurrent");
  return init && get && retain && use && init(0) == 0 && get(&device, ordinal) == 0 &&
         retain(&context, device) == 0 && use(context) == 0;
}

static bool use_hip(void *library, int ordinal) {
  int (*init)(unsigned), (*use)(int);
  *(void **)&init = dlsym(library, "hipInit");
  *(void **)&use = dlsym(library, "hipSetDevice");
  return init && use && init(0) == 0 && use(ordinal) == 0;
}

bool graph_driver_open(const char *device, graph_driver *driver, const char **why) {
  const vendor *of = find_vendor(device);
  int ordinal = of ? find_ordinal(of, device) : -1;
  memset(driver, 0, sizeof *driver);
  *why = "no GPU has this name";
  if (ordinal < 0) return false;
  *why = "the driver's library is not there, or has no graphs";
  if (!load(of, driver)) return false;
  *why = "the driver does not open the device";
  return of->cuda ? use_cuda(driver->library, ordinal) : use_hip(driver->library, ordinal);
}

void graph_driver_close(graph_driver *driver) { memset(driver, 0, sizeof *driver); }

int graph_driver_finish(const graph_driver *driver, void *stream, void **exec) {
  void *graph;
  *exec = NULL;
  int result = driver->end(stream, &graph);
  if (result) return result;
  result = driver->instantiate(exec, graph, 0);
  driver->graph_destroy(graph);
  return result;
}
