#include "tests/reshard/reshard_devices.h"

#include "tests/open_device.h"

#include <stdlib.h>

#define PER_THREAD_STREAM ((void *)2) /* CU_STREAM_PER_THREAD, hipStreamPerThread */

llrt_context *reshard_open_devices(const char *const *names, int n, reshard_place *place) {
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  llrt_context *context;
  setenv("LLRT_EMU_DEVICES", "8", 1);
  cr_assert_eq(llrt_context_create(&params, &context), LLRT_OK);
  *place = (reshard_place){.stream = PER_THREAD_STREAM, .timeout_ms = 300000};
  for (int i = 0; i < n; i++)
    cr_assert_eq(llrt_device_open(context, names[i], NULL, &place->device[i]), LLRT_OK, "%s: %s",
                 names[i], llrt_last_error());
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      cr_assert_eq(llrt_device_reach_peer(place->device[i], place->device[j]), LLRT_OK, "%s",
                   llrt_last_error());
  return context;
}

llrt_context *reshard_open_emulated(reshard_place *place) {
  static const char *const names[RESHARD_MAX_RANKS] = {
      "cuda-emu:sm_90a",  "cuda-emu:sm_80",   "cuda-emu:sm_89", "cuda-emu:sm_90a#1",
      "cuda-emu:sm_80#1", "cuda-emu:sm_89#1", "cuda-emu:sm_90", "cuda-emu:sm_90#1"};
  static const int ordinals[RESHARD_MAX_RANKS] = {0, 2, 1, 4, 6, 5, 3, 7};
  llrt_context *context = reshard_open_devices(names, RESHARD_MAX_RANKS, place);
  memcpy(place->ordinal, ordinals, sizeof ordinals);
  return context;
}

llrt_context *reshard_open_hip(reshard_place *place) {
  static const char *const names[2] = {"hip-emu:gfx90a", "hip-emu:gfx942"};
  return reshard_open_devices(names, 2, place);
}

void reshard_close_emulated(llrt_context **context, reshard_place *place) {
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) llrt_device_close(&place->device[i]);
  llrt_context_destroy(context);
}

void reshard_run_draws(const reshard_place *place, const char *test, int count, int most_ranks) {
  random_source source = random_start(test);
  int refused = 0;
  for (int i = 0; i < count;) {
    char message[600] = "", text[4000];
    reshard_case c;
    reshard_case_draw(&source, &c);
    if (c.ranks > most_ranks) continue;
    reshard_result result = reshard_case_run(&c, place, message, sizeof message);
    reshard_case_print(&c, text, sizeof text);
    cr_assert_neq(result, RESHARD_WRONG, "draw %d: %s\n  %s", i, message, text);
    refused += result == RESHARD_REFUSED;
    i++;
  }
  cr_expect_leq(refused, count / 4, "%d of %d refused", refused, count);
}
