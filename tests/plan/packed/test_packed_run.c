/* Dots with packed weights on devices, packings as a convert makes them, and those that are
 * refused. */
#include "tests/plan/packed_trial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static llrt_status run_at_once(packed_trial *t) {
  const llrt_dot_params params = {.b = packed_trial_scaling(t)};
  return llrt_dot_into(&t->a, &t->b, &t->d, &params, NULL);
}

/* The copy is the same for all devices. */
Test(packed_run, on_devices) {
  static packed_trial t;
  static const struct {
    const char *name, *target; /* target NULL: the device's own */
    size_t first, step;        /* of the problems */
  } rows[] = {{"cuda-emu:sm_90a", NULL, 0, 1},
              {"cuda-emu:sm_80", NULL, 0, 1},
              {"host", NULL, 0, 6},
              {"host", "x86-64-v3", 2, 6},
              {"host", "x86-64-v2", 4, 6}};
  llrt_context *context;
  const llrt_context_params with = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&with, &context), LLRT_OK);
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    llrt_device *device;
    const llrt_device_params params = {.target = rows[n].target};
    llrt_status status = llrt_device_open(context, rows[n].name, &params, &device);
    if (status == LLRT_UNSUPPORTED && rows[n].target) continue; /* another processor */
    cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
    for (size_t i = rows[n].first; i < PACKED_PROBLEMS; i += rows[n].step) {
      packed_trial_make(&t, &packed_problems[i]);
      packed_trial_run_on(device, &t, run_at_once);
      packed_trial_check(&t, rows[n].target ? rows[n].target : rows[n].name);
      packed_trial_drop(&t);
    }
    llrt_device_close(&device);
  }
  llrt_context_destroy(&context);
}

/* Printed and parsed a packing stays what it is, and a convert with its map packs. */
static void check_packing(const packed_problem *of) {
  static packed_trial t;
  const llrt_dot_pack_params what = {.dtype = LLRT_E2M1,
                                     .scale = LLRT_E8M0,
                                     .group = {32},
                                     .other = of->a,
                                     .range_low = of->low,
                                     .range_high = of->high};
  llrt_dot_packing packing = {0};
  char text[2048];
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < 2; i++) {
    llrt_storage parsed;
    size_t length;
    cr_assert_eq(llrt_storage_print(&packing.storages[i], text, sizeof text, &length), LLRT_OK);
    cr_assert_eq(llrt_storage_parse(text, 2, NULL, &parsed), LLRT_OK, "%s: %s", text,
                 llrt_last_error());
    cr_expect(llrt_storage_equal(&parsed, &packing.storages[i]), "%s", text);
  }
  packed_trial_make(&t, of);
  uint8_t *rows = packed_zeros(of->k * of->n / 2), *packed = packed_zeros(t.value_binding.span / 2);
  for (int64_t k = 0; k < of->k; k++)
    for (int64_t n = 0; n < of->n; n++) {
      int64_t at = llrt_storage_offset(&t.values, &t.value_binding, (int64_t[]){k, n});
      packed_put_nibble(rows, k * of->n + n, ((uint8_t *)t.b.data)[at / 2] >> (at % 2 * 4) & 15);
    }
  packed_trial_permute(&t, false);
  llrt_context *context;
  llrt_device *device;
  const llrt_context_params with = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&with, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "host", NULL, &device), LLRT_OK);
  llrt_tensor from = t.b, to = t.b;
  from.storage = NULL, from.data = rows, to.data = packed, from.device = to.device = device;
  to.storage = &packing.storages[0];
  const llrt_convert_params params = {.n_maps = packing.n_maps, .maps = &packing.map};
  cr_assert_eq(llrt_convert_into(&from, &to, &params, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect(memcmp(packed, t.b.data, (size_t)t.value_binding.span / 2) == 0);
  free(rows);
  free(packed);
  packed_trial_drop(&t);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
}

/* What llrt_dot_pack names: for 8 bits only where the promise is of few enough powers of two, and
 * rows are such. */
Test(packed_run, packing) {
  static const packed_problem rows[] = {
      {4, 64, 512, LLRT_BF16, LLRT_F32, false, MXFP4(120, 127), true, 0},
      {4, 64, 512, LLRT_E4M3, LLRT_F32, false, MXFP4(0, 0), true, 0},
      {4, 64, 512, LLRT_E5M2, LLRT_F32, false, MXFP4(100, 127), true, 0},
      {4, 64, 512, LLRT_E4M3, LLRT_F32, false, MXFP4(101, 127), true | BYTES, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_packing(&rows[i]);
}

#define WHAT(dtype_, scale_, k, n, other_, ...) \
  {.dtype = LLRT_##dtype_, \
   .scale = LLRT_##scale_, \
   .group = {k, n}, \
   .other = LLRT_##other_, \
   __VA_ARGS__}

Test(packed_run, refused) {
  static const struct {
    llrt_dot_pack_params what;
    const char *target, *words;
    llrt_dot_role operand;
  } rows[] = {
      {WHAT(E4M3FNUZ, E8M0, 32, 1, F16), "sm_90a", "elements of type e4m3fnuz", LLRT_DOT_B},
      {WHAT(E2M1, E5M2, 32, 1, F16), "sm_90a", "scales of type e5m2", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 24, 1, F16), "sm_90a", "groups of 24 x 1", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 8, 1, F16), "sm_90a", "groups of 8 x 1", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 2, F16), "sm_90a", "groups of 32 x 2", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16), "gfx942", "gfx942 has no kernels", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 256, 1, F16), "sm_90a", "groups of 256 x 1", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16), "host", "host has no kernels", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16), "sm_90a", "only operand B", LLRT_DOT_A},
      {WHAT(E2M1, E8M0, 32, 1, F16), "sm_90a", "role 8 is no operand", LLRT_DOT_SCALE_B},
      {WHAT(E2M1, E8M0, 32, 1, F16, .range_low = 140, .range_high = 110), "sm_90a", "140 to 110",
       LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16, .range_low = 1, .range_high = 255), "sm_90a", "1 to 255",
       LLRT_DOT_B},
      {WHAT(E2M1, E4M3, 16, 1, F16, .range_high = 130), "sm_90a", "are e4m3, not e8m0", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16), "vax", "vax", LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16, .zero = LLRT_U4), "sm_90a", "zero points of type u4",
       LLRT_DOT_B},
      {WHAT(U4, F16, 32, 1, F16, .zero = LLRT_F16), "sm_90a", "zero points of type f16",
       LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, F16, .n_batch = LLRT_MAX_RANK), "sm_90a", "n_batch is 8, not 0 to 5",
       LLRT_DOT_B},
      {WHAT(E2M1, E8M0, 32, 1, E8M0), "sm_90a", "other operand cannot be e8m0", LLRT_DOT_B},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_dot_packing packing = {0};
    cr_expect_neq(llrt_dot_pack(&rows[i].what, rows[i].target, rows[i].operand, &packing), LLRT_OK,
                  "row %d", (int)i);
    cr_expect(strstr(llrt_last_error(), rows[i].words), "row %d: %s", (int)i, llrt_last_error());
  }
}
