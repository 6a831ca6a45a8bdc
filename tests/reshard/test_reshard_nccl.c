/* Re-shards by NCCL's functions, of which a stand-in does the work (tests/nccl_standin): the same
 * draws as by peers' memory, no rank knowing an address of another's. */
#include "tests/open_device.h"
#include "tests/reshard/reshard_devices.h"

#include <stdlib.h>

Test(reshard_nccl, host) {
  opened_device host = open_device("host");
  reshard_place place = {.timeout_ms = 300000, .nccl = LLRT_TEST_NCCL "host.so"};
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) place.device[i] = host.device;
  reshard_run_draws(&place, "reshard nccl host", 25, 8);
  close_device(&host);
}

static llrt_context *open_cuda(reshard_place *place) {
  llrt_context *context = reshard_open_emulated(place);
  place->nccl = LLRT_TEST_NCCL "cuda.so";
  return context;
}

Test(reshard_nccl, emulated) {
  reshard_place place;
  llrt_context *context = open_cuda(&place);
  reshard_run_draws(&place, "reshard nccl emulated", 15, 8);
  reshard_close_emulated(&context, &place);
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
  reshard_close_emulated(&context, &place);
}

/* Parts on a stream of their own, packed and unpacked beside it: nothing runs before somebody waits
 * for it, and then only what must. */
Test(reshard_nccl, emulated_late) {
  reshard_place place;
  setenv("LLRT_EMU_STREAMS", "late", 1);
  llrt_context *context = open_cuda(&place);
  reshard_run_draws(&place, "reshard nccl late", 15, 8);
  reshard_close_emulated(&context, &place);
}

Test(reshard_nccl, captured) {
  reshard_place place;
  llrt_context *context = open_cuda(&place);
  place.captured = true;
  reshard_run_draws(&place, "reshard nccl captured", 8, 8);
  reshard_close_emulated(&context, &place);
}

/* Two devices, and so two ranks. */
Test(reshard_nccl, hip) {
  reshard_place place;
  llrt_context *context = reshard_open_hip(&place);
  place.nccl = LLRT_TEST_NCCL "hip.so";
  reshard_run_draws(&place, "reshard nccl hip", 6, 2);
  reshard_close_emulated(&context, &place);
}
