/* Contexts of the emulated libcuda: each has memory, streams and pools of its own; which is current
 * is each thread's. */
#include "emulators/common/emu_calls.h"
#include "emulators/common/emu_driver.h"
#include "emulators/ptx/emu_cuda.h"

#include <pthread.h>

#define PROTOTYPE(name, arguments) cuda_result name arguments;
EMU_CUDA_CONTEXTS(PROTOTYPE)
#undef PROTOTYPE

enum { MAX_CURRENT = 64 };
static _Thread_local emu_context *current[MAX_CURRENT];
static _Thread_local int n_current;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  emu_context *context;
  int retained;
} primary[EMU_CUDA_DEVICES];

emu_context *emu_cuda_current(void) { return n_current > 0 ? current[n_current - 1] : NULL; }

int emu_cuda_stream(void *handle, emu_stream **stream) {
  return emu_stream_find(emu_cuda_current(), handle, stream);
}

emu_context *emu_cuda_primary(cuda_ordinal device) {
  if (device < 0 || device >= EMU_CUDA_DEVICES) return NULL;
  pthread_mutex_lock(&mutex);
  if (!primary[device].context)
    primary[device].context = emu_context_create(device, EMU_CUDA_BYTES);
  emu_context *context = primary[device].context;
  pthread_mutex_unlock(&mutex);
  return context;
}

static cuda_result push(void *context) {
  if (n_current == MAX_CURRENT || !emu_context_is_one(context)) return EMU_INVALID_CONTEXT;
  current[n_current++] = context;
  return 0;
}

cuda_result cuCtxCreate_v2(void **context, unsigned flags, cuda_ordinal device) {
  EMU_ENTER(cuCtxCreate_v2);
  (void)flags;
  *context = NULL;
  if (device < 0 || device >= EMU_CUDA_DEVICES) return EMU_INVALID_DEVICE;
  *context = emu_context_create(device, EMU_CUDA_BYTES);
  return *context ? push(*context) : EMU_OUT_OF_MEMORY;
}

cuda_result cuCtxCreate_v4(void **context, void *params, unsigned flags, cuda_ordinal device) {
  if (params) return EMU_NOT_SUPPORTED;
  return cuCtxCreate_v2(context, flags, device);
}

static bool is_primary(const void *context) {
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < EMU_CUDA_DEVICES; i++) found |= primary[i].context == context;
  pthread_mutex_unlock(&mutex);
  return found;
}

cuda_result cuCtxDestroy_v2(void *context) {
  EMU_ENTER_UNSAFE(cuCtxDestroy_v2);
  if (!emu_context_is_one(context) || is_primary(context)) return EMU_INVALID_CONTEXT;
  if (emu_cuda_current() == context) n_current--;
  return emu_context_reset(context, true);
}

cuda_result cuCtxPushCurrent_v2(void *context) {
  EMU_ENTER(cuCtxPushCurrent_v2);
  return push(context);
}

cuda_result cuCtxPopCurrent_v2(void **context) {
  EMU_ENTER(cuCtxPopCurrent_v2);
  if (n_current == 0) return EMU_INVALID_CONTEXT;
  n_current--;
  if (context) *context = current[n_current];
  return 0;
}

cuda_result cuCtxSetCurrent(void *context) {
  EMU_ENTER(cuCtxSetCurrent);
  if (context && !emu_context_is_one(context)) return EMU_INVALID_CONTEXT;
  if (n_current > 0) n_current--;
  return context ? push(context) : 0;
}

cuda_result cuCtxGetCurrent(void **context) {
  EMU_ENTER(cuCtxGetCurrent);
  *context = emu_cuda_current();
  return 0;
}

cuda_result cuCtxGetDevice(cuda_ordinal *device) {
  EMU_ENTER(cuCtxGetDevice);
  const emu_context *context = emu_cuda_current();
  if (!context || !emu_context_is_one(context)) return EMU_INVALID_CONTEXT;
  *device = emu_context_device(context);
  return 0;
}

cuda_result cuDeviceCanAccessPeer(int *can, cuda_ordinal device, cuda_ordinal peer) {
  EMU_ENTER(cuDeviceCanAccessPeer);
  *can = 0;
  if (device < 0 || device >= EMU_CUDA_DEVICES || peer < 0 || peer >= EMU_CUDA_DEVICES)
    return EMU_INVALID_DEVICE;
  *can = device != peer;
  return 0;
}

cuda_result cuCtxEnablePeerAccess(void *peer, unsigned flags) {
  EMU_ENTER(cuCtxEnablePeerAccess);
  emu_context *context = emu_cuda_current();
  if (flags) return EMU_INVALID_VALUE;
  if (!context || !emu_context_is_one(peer)) return EMU_INVALID_CONTEXT;
  if (emu_context_device(context) == emu_context_device(peer)) return EMU_INVALID_DEVICE;
  return emu_context_reach(context, peer) ? 0 : CUDA_RESULT_PEER_ENABLED;
}

cuda_result cuCtxGetId(void *handle, unsigned long long *id) {
  EMU_ENTER(cuCtxGetId);
  const emu_context *context = handle ? handle : emu_cuda_current();
  if (!context || !emu_context_is_one(context)) return EMU_INVALID_CONTEXT;
  *id = emu_context_id(context);
  return 0;
}

cuda_result cuCtxSynchronize(void) {
  EMU_ENTER(cuCtxSynchronize);
  emu_context *context = emu_cuda_current();
  return context ? emu_context_synchronize(context) : EMU_INVALID_CONTEXT;
}

/* ---- primary contexts ---- */

cuda_result cuDevicePrimaryCtxRetain(void **context, cuda_ordinal device) {
  EMU_ENTER(cuDevicePrimaryCtxRetain);
  *context = emu_cuda_primary(device);
  if (!*context) return EMU_INVALID_DEVICE;
  pthread_mutex_lock(&mutex);
  primary[device].retained++;
  pthread_mutex_unlock(&mutex);
  return 0;
}

/* The last release frees its memory; the handle stays what it is, so that a later retain gives the
 * same. */
cuda_result cuDevicePrimaryCtxRelease_v2(cuda_ordinal device) {
  EMU_ENTER(cuDevicePrimaryCtxRelease_v2);
  emu_context *context = emu_cuda_primary(device);
  if (!context) return EMU_INVALID_DEVICE;
  pthread_mutex_lock(&mutex);
  bool retained = primary[device].retained > 0;
  bool last = retained && --primary[device].retained == 0;
  pthread_mutex_unlock(&mutex);
  if (last) return emu_context_reset(context, false);
  return retained ? 0 : EMU_INVALID_CONTEXT;
}

cuda_result cuDevicePrimaryCtxReset_v2(cuda_ordinal device) {
  EMU_ENTER_UNSAFE(cuDevicePrimaryCtxReset_v2);
  emu_context *context = emu_cuda_primary(device);
  return context ? emu_context_reset(context, false) : EMU_INVALID_DEVICE;
}

cuda_result cuDevicePrimaryCtxGetState(cuda_ordinal device, unsigned *flags, int *active) {
  EMU_ENTER(cuDevicePrimaryCtxGetState);
  if (device < 0 || device >= EMU_CUDA_DEVICES) return EMU_INVALID_DEVICE;
  pthread_mutex_lock(&mutex);
  *active = primary[device].retained > 0;
  pthread_mutex_unlock(&mutex);
  *flags = 0;
  return 0;
}
