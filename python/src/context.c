/* The process's contexts and devices, and how calls leave the interpreter.
 *
 * Two contexts at most: the second is that of frameworks with an allocator (DLPack's exchange API),
 * which then gives workspace; of all others the driver's pools do. Neither is ever destroyed:
 * results may outlive the module. */
#include "module.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_DEVICES = 16, KNOWN = 1024 };

static llrt_context *contexts[2];
static llrt_device *devices[2][3][MAX_DEVICES]; /* [allocator][host, cuda, hip][number] */
static char *names[3][MAX_DEVICES];             /* device names that replace "cuda:N" and "hip:N" */
static int in_flight; /* calls that left the interpreter; `calls` guards it */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer_calls = PTHREAD_COND_INITIALIZER;
static uint64_t known[KNOWN];

static int kind_of(DLDeviceType type) {
  switch (type) {
  case kDLCPU:
  case kDLCUDAHost:
  case kDLROCMHost: return 0;
  case kDLCUDA:
  case kDLCUDAManaged: return 1;
  case kDLROCM: return 2;
  default: return -1;
  }
}

bool device_is_host(DLDevice where) { return kind_of(where.device_type) == 0; }

/* ---- fork: a child may go on with contexts in which no other thread was in a call ---- */

enum {
  PATIENCE = 10
}; /* seconds for which a fork waits for other threads' calls: compiles take tenths of one */

/* Lets the calls of other threads end, and none begin. The interpreter's lock, which who forks
 * holds, is not wanted by calls until they have ended (call_end). */
static void before_fork(void) {
  struct timespec until;
  pthread_mutex_lock(&calls);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  while (in_flight && pthread_cond_timedwait(&fewer_calls, &calls, &until) == 0) continue;
}

static void after_fork(void) { pthread_mutex_unlock(&calls); }

/* Where some call went on for too long, its contexts are left alone for good, with whatever they
 * hold. */
static void in_child(void) {
  pthread_mutex_unlock(&calls);
  if (in_flight == 0) return;
  in_flight = 0;
  memset(contexts, 0, sizeof contexts);
  memset(devices, 0, sizeof devices);
  calls_forget();
}

llrt_context *context_of(bool own_allocator) {
  llrt_context **context = &contexts[own_allocator];
  if (*context) return *context;
  static bool watched;
  if (!watched) watched = pthread_atfork(before_fork, after_fork, in_child) == 0;
  llrt_context_params params = {0};
  if (own_allocator) {
    params.allocator.allocate = workspace_allocate;
    params.allocator.release = workspace_release;
  }
  if (py_hooks.jit_library && py_hooks.jit_library != Py_None)
    params.jit_library = PyUnicode_AsUTF8AndSize(py_hooks.jit_library, NULL);
  char dir[PATH_MAX];
  if (llrt_cache_default_dir(dir, sizeof dir) != LLRT_OK) dir[0] = 0;
  const llrt_cache_params cache = {.dir = dir};
  params.size = sizeof params;
  params.cache = &cache;
  llrt_status status = llrt_context_create(&params, context);
  if (status) raise_status(status);
  return *context;
}

enum { DEVICE_NAME = 32 };

/* The name of a device that device_of opened; `room` has DEVICE_NAME bytes. */
static const char *name_of(int kind, int number, char *room) {
  if (names[kind][number]) return names[kind][number];
  snprintf(room, DEVICE_NAME, kind ? "%s:%d" : "%s", (const char *[]){"host", "cuda", "hip"}[kind],
           number);
  return room;
}

static llrt_device *open_device(llrt_device **slot, int kind, int number, bool own_allocator) {
  char room[DEVICE_NAME];
  llrt_context *context = context_of(own_allocator);
  if (!context) return NULL;
  llrt_status status = llrt_device_open(context, name_of(kind, number, room), NULL, slot);
  if (status) raise_status(status);
  return *slot;
}

llrt_device *device_of(DLDevice where, bool own_allocator) {
  int kind = kind_of(where.device_type), number = kind > 0 ? where.device_id : 0;
  if (kind < 0 || number < 0 || number >= MAX_DEVICES) {
    refuse("DLPack device type %d, number %d: llrt has CPU, CUDA and ROCm devices",
           (int)where.device_type, where.device_id);
    return NULL;
  }
  bool allocates = own_allocator && kind > 0;
  llrt_device **slot = &devices[allocates][kind][number];
  return *slot ? *slot : open_device(slot, kind, number, allocates);
}

int join_device(DLDevice where, llrt_device *device, borrowed *other, const char *name) {
  if (other->tensor.device == device) return 0;
  int kinds[] = {kind_of(other->where.device_type), kind_of(where.device_type)},
      numbers[] = {other->where.device_id, where.device_id};
  for (int i = 0; i < 2; i++)
    if (kinds[i] == 0) numbers[i] = 0;
  if (kinds[0] == kinds[1] && numbers[0] == numbers[1]) return other->tensor.device = device, 0;
  char rooms[2][DEVICE_NAME];
  return refuse("%s is on device %s, the call on %s: one call, one device", name,
                name_of(kinds[0], numbers[0], rooms[0]), name_of(kinds[1], numbers[1], rooms[1]));
}

/* Tests: CUDA device `number` is this one, an emulator's say. */
PyObject *module_name_device(PyObject *module, PyObject *args) {
  (void)module;
  const char *name;
  int type, number;
  if (!PyArg_ParseTuple(args, "iis", &type, &number, &name)) return NULL;
  int kind = kind_of((DLDeviceType)type);
  if (kind < 1 || number < 0 || number >= MAX_DEVICES) return refuse("no such device"), NULL;
  free(names[kind][number]);
  names[kind][number] = strdup(name);
  devices[0][kind][number] = devices[1][kind][number] = NULL;
  Py_RETURN_NONE;
}

void call_begin(call_state *state, bool is_long) {
  state->thread = NULL;
  if (!is_long) return;
  state->thread = PyEval_SaveThread();
  pthread_mutex_lock(&calls);
  in_flight++;
  pthread_mutex_unlock(&calls);
}

void call_end(call_state *state) {
  if (!state->thread) return;
  pthread_mutex_lock(&calls);
  in_flight--;
  pthread_cond_signal(&fewer_calls);
  pthread_mutex_unlock(&calls);
  PyEval_RestoreThread(state->thread);
}

bool call_is_known(uint64_t class_of_call) {
  uint64_t *slot = &known[(class_of_call ^ class_of_call >> 29) % KNOWN];
  bool was = *slot == class_of_call;
  *slot = class_of_call;
  return was;
}

void calls_forget(void) { memset(known, 0, sizeof known); }
