/* Finding libamdhip64, and what its result codes mean to llrt. */
#include "backends/hip/hip_device.h"

#include "base/status.h"

static const char library_name[] = "AMD HIP library";

static const llrt_library_symbol symbols[] = {
#define HIP_SYMBOL(required, type, name, arguments) {#name, offsetof(hip_driver, name), required},
    HIP_SYMBOLS(HIP_SYMBOL)
#undef HIP_SYMBOL
};

llrt_status llrt_hip_check(const hip_driver *driver, hip_result result, const char *function) {
  if (result == 0) return LLRT_OK;
  const char *name = driver->hipGetErrorName(result);
  const char *text = driver->hipGetErrorString(result);
  llrt_status status = result == HIP_RESULT_OUT_OF_MEMORY ? LLRT_OUT_OF_MEMORY : LLRT_DEVICE;
  return llrt_error_vendor(status, result, "%s: %s (%s)", function, name ? name : "unknown error",
                           text ? text : "no description");
}

static bool is_absence(hip_result result) {
  return result == HIP_RESULT_NO_DEVICE || result == HIP_RESULT_INVALID_DEVICE;
}

llrt_status llrt_hip_driver_count(const hip_driver *driver, int *count) {
  *count = 0;
  hip_result result = driver->hipInit(0);
  if (is_absence(result)) return LLRT_OK;
  LLRT_TRY(llrt_hip_check(driver, result, "hipInit"));
  result = driver->hipGetDeviceCount(count);
  if (is_absence(result)) {
    *count = 0;
    return LLRT_OK;
  }
  return llrt_hip_check(driver, result, "hipGetDeviceCount");
}

llrt_status llrt_hip_driver_load(const char *path, hip_driver *driver) {
  static const char *const usual[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      "libamdhip64.so"};
  *driver = (hip_driver){0};
  LLRT_TRY(llrt_library_open(library_name, path ? &path : usual, path ? 1 : 4, &driver->library));
  llrt_status status = llrt_library_resolve(&driver->library, library_name, symbols,
                                            sizeof symbols / sizeof symbols[0], driver);
  if (status != LLRT_OK) llrt_hip_driver_unload(driver);
  return status;
}

void llrt_hip_driver_unload(hip_driver *driver) { llrt_library_close(&driver->library); }
