/* Re-shards by NCCL's functions, of which a stand-in does the work (tests/nccl_standin): the same
 * draws as by peers' memory, no rank knowing an address of another's. */
#include "tests/open_device.h"
#include "tests/reshard/reshard_case.h"

#include <stdlib.h>

#define PER_THREAD_STREAM ((void *)2) /* CU_STREAM_PER_THREAD, hipStreamPerThread */

static void run_draws(const reshard_place *place, const char *test, int count, int most_ranks) {
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

Test(reshard_nccl, host) {
  opened_device host = open_device("host");
  reshard_place place = {.timeout_ms = 300000, .nccl = LLRT_TEST_NCCL "host.so"};
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) place.device[i] = host.device;
  run_draws(&place, "reshard nccl host", 25, 8);
  close_device(&host);
}

/* Devices of one context. */
static llrt_context *open_devices(const char *const *names, int n, reshard_place *place) {
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  llrt_context *context;
  setenv("LLRT_EMU_DEVICES", "8", 1);
  cr_assert_eq(llrt_context_create(&params, &context), LLRT_OK);
  *place = (reshard_place){.stream = PER_THREAD_STREAM, .timeout_ms = 300000};
  for (int i = 0; i < n; i++)
    cr_assert_eq(llrt_device_open(context, names[i], NULL, &place->device[i]), LLRT_OK, "%s: %s",
                 names[i], llrt_last_error());
  return context;
}

static void close_devices(llrt_context **context, reshard_place *place) {
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) llrt_device_close(&place->device[i]);
  llrt_context_destroy(context);
}

static llrt_context *open_cuda(reshard_place *place) {
  static const char *const names[RESHARD_MAX_RANKS] = {
      "cuda-emu:sm_90a",  "cuda-emu:sm_80",   "cuda-emu:sm_89", "cuda-emu:sm_90a#1",
      "cuda-emu:sm_80#1", "cuda-emu:sm_89#1", "cuda-emu:sm_90", "cuda-emu:sm_90#1"};
  static const int ordinals[RESHARD_MAX_RANKS] = {0, 2, 1, 4, 6, 5, 3, 7};
  llrt_context *context = open_devices(names, RESHARD_MAX_RANKS, place);
  place->nccl = LLRT_TEST_NCCL "cuda.so";
  memcpy(place->ordinal, ordinals, sizeof ordinals);
  return context;
}

Test(reshard_nccl, emulated) {
  reshard_place place;
  llrt_context *context = open_cuda(&place);
  run_draws(&place, "reshard nccl emulated", 15, 8);
  close_devices(&context, &place);
}

/* Messages that end in half a byte: what the other half is comes from nowhere. */
Test(reshard_nccl, emulated_halves) {
  reshard_place place;
  char message[600] = "";
  llrt_context *context = open_cuda(&place);
  reshard_case c = {.ranks = 3,
                    .shape = {9, 3},
                    .from = LLRT_B4,
                    .to = LLRT_B4,
                    .parts = 1,
                    .indexed = {-1, -1},
                    .brought = {1, 1}};
  cr_assert_eq(llrt_sharding_parse("mesh(a=3): P(a)", NULL, 2, c.shape, &c.source), LLRT_OK);
  cr_assert_eq(llrt_sharding_parse("mesh(a=3): P(None, a)", NULL, 2, c.shape, &c.destination),
               LLRT_OK);
  cr_assert_eq(reshard_case_run(&c, &place, message, sizeof message), RESHARD_RIGHT, "%s", message);
  close_devices(&context, &place);
}

/* Parts on a stream of their own, packed and unpacked beside it: nothing runs before somebody waits
 * for it, and then only what must. */
Test(reshard_nccl, emulated_late) {
  reshard_place place;
  setenv("LLRT_EMU_STREAMS", "late", 1);
  llrt_context *context = open_cuda(&place);
  run_draws(&place, "reshard nccl late", 15, 8);
  close_devices(&context, &place);
}

Test(reshard_nccl, captured) {
  reshard_place place;
  llrt_context *context = open_cuda(&place);
  place.captured = true;
  run_draws(&place, "reshard nccl captured", 8, 8);
  close_devices(&context, &place);
}

/* Two devices, and so two ranks. */
Test(reshard_nccl, hip) {
  static const char *const names[2] = {"hip-emu:gfx90a", "hip-emu:gfx942"};
  reshard_place place;
  llrt_context *context = open_devices(names, 2, &place);
  place.nccl = LLRT_TEST_NCCL "hip.so";
  run_draws(&place, "reshard nccl hip", 6, 2);
  close_devices(&context, &place);
}
