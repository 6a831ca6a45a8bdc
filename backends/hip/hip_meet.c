/* Ranks on AMD's GPUs wait for each other, by a kernel that is there as code for each GPU. */
#include "backends/hip/hip_meet.h"

#include "backends/hip/hip_device.h"
#include "backends/meet.h"
#include "base/status.h"

#include <string.h>

/* Where the kernel looks for the words: hip_meet.ll. */
_Static_assert(offsetof(backend_meet, words) == 88, "arguments of the kernel");

llrt_status llrt_hip_meet_load(llrt_device *device, backend_module **module) {
  const hip_meet_code *code = hip_meet_codes;
  *module = NULL;
  while (code->architecture && strcmp(code->architecture, device->target.name) != 0) code++;
  if (!code->architecture)
    return llrt_error(LLRT_UNSUPPORTED, "no kernel by which ranks wait is there for %s",
                      device->target.name);
  const backend_code own = {.data = code->words, .size = code->size, .entry = HIP_MEET_ENTRY};
  return llrt_hip_load(device, &own, module);
}

llrt_status llrt_hip_meet(llrt_device *device, const backend_module *module,
                          const backend_meet *meet, void *stream) {
  uint64_t args[sizeof *meet / sizeof(uint64_t)];
  memcpy(args, meet, sizeof args);
  const backend_launch launch = {
      .blocks = 1, .threads = HIP_MEET_THREADS, .n_args = sizeof args / sizeof *args, .args = args};
  return llrt_hip_launch(device, module, &launch, stream);
}

/* Memory of hipHostMalloc is coherent unless it is asked for otherwise, and has one address. */
llrt_status llrt_hip_note_create(llrt_device *base, uint64_t **note) {
  const hip_device *device = hip_device_of(base);
  void *memory = NULL;
  hip_entry entry;
  *note = NULL;
  if (!device->driver.hipHostMalloc || !device->driver.hipHostFree) return LLRT_OK;
  LLRT_TRY(llrt_hip_enter_relaxed(device, &entry));
  llrt_status status =
      HIP_CALL(&device->driver, hipHostMalloc, &memory, sizeof **note, HIP_HOST_FOR_KERNELS);
  status = llrt_hip_leave_relaxed(device, entry, status);
  if (status != LLRT_OK && memory) device->driver.hipHostFree(memory);
  if (status != LLRT_OK) return status;
  *note = memory;
  **note = 0;
  return LLRT_OK;
}

void llrt_hip_note_destroy(llrt_device *base, uint64_t *note) {
  const hip_device *device = hip_device_of(base);
  hip_entry entry;
  if (llrt_hip_enter_relaxed(device, &entry) != LLRT_OK) return;
  device->driver.hipHostFree(note);
  llrt_hip_leave_relaxed(device, entry, LLRT_OK);
}

llrt_status llrt_hip_reach_peer(llrt_device *base, llrt_device *other) {
  const hip_device *device = hip_device_of(base), *peer = hip_device_of(other);
  const hip_driver *driver = &device->driver;
  int can = 0, previous;
  if (device->ordinal == peer->ordinal) return LLRT_OK;
  if (!driver->hipDeviceCanAccessPeer || !driver->hipDeviceEnablePeerAccess)
    return llrt_error(LLRT_UNSUPPORTED, "this runtime knows of no peers");
  LLRT_TRY(HIP_CALL(driver, hipDeviceCanAccessPeer, &can, device->ordinal, peer->ordinal));
  if (!can)
    return llrt_error(LLRT_UNSUPPORTED, "%s cannot reach the memory of %s", base->info.name,
                      other->info.name);
  LLRT_TRY(llrt_hip_enter(device, &previous));
  hip_result result = driver->hipDeviceEnablePeerAccess(peer->ordinal, 0);
  if (result == HIP_RESULT_PEER_ENABLED) result = 0;
  return llrt_hip_leave(device, previous,
                        llrt_hip_check(driver, result, "hipDeviceEnablePeerAccess"));
}
