#include "tests/reshard/reshard_devices.h"

#include "tests/open_device.h"

#include <stdlib.h>

#define PER_THREAD_STREAM ((void *)2) /* CU_STREAM_PER_THREAD */

llrt_context *reshard_open_emulated(reshard_place *place) {
  static const char *const names[RESHARD_MAX_RANKS] = {
      "cuda-emu:sm_90a",  "cuda-emu:sm_80",   "cuda-emu:sm_89", "cuda-emu:sm_90a#1",
      "cuda-emu:sm_80#1", "cuda-emu:sm_89#1", "cuda-emu:sm_90", "cuda-emu:sm_90#1"};
  static const int ordinals[RESHARD_MAX_RANKS] = {0, 2, 1, 4, 6, 5, 3, 7};
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  llrt_context *context;
  setenv("LLRT_EMU_DEVICES", "8", 1);
  cr_assert_eq(llrt_context_create(&params, &context), LLRT_OK);
  *place = (reshard_place){.stream = PER_THREAD_STREAM, .timeout_ms = 300000};
  for (int i = 0; i < RESHARD_MAX_RANKS; i++)
    cr_assert_eq(llrt_device_open(context, names[i], NULL, &place->device[i]), LLRT_OK, "%s: %s",
                 names[i], llrt_last_error());
  memcpy(place->ordinal, ordinals, sizeof ordinals);
  for (int i = 0; i < RESHARD_MAX_RANKS; i++)
    for (int j = 0; j < RESHARD_MAX_RANKS; j++)
      cr_assert_eq(llrt_device_reach_peer(place->device[i], place->device[j]), LLRT_OK, "%s",
                   llrt_last_error());
  return context;
}

void reshard_close_emulated(llrt_context **context, reshard_place *place) {
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) llrt_device_close(&place->device[i]);
  llrt_context_destroy(context);
}
