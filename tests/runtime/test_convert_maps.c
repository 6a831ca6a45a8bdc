/* Conversions with maps: constants, permuted bits, casts and scales, and every way to ask for them
 * wrongly. */
#include "tests/runtime/convert_fixture.h"

static fixture at;

static void setup(void) { fixture_make(&at, &fixture_params); }
static void teardown(void) { fixture_end(&at); }

TestSuite(convert_maps, .init = setup, .fini = teardown);

static llrt_status convert_mapped(int n_maps, const llrt_map *maps) {
  llrt_convert_params params = {.n_maps = n_maps, .maps = maps};
  return llrt_convert_into(&at.source, &at.destination, &params, NULL);
}

static llrt_map identity_bits(void) {
  llrt_map map = {.kind = LLRT_MAP_WORD_BITS};
  for (int i = 0; i < 32; i++) map.perm[i] = (uint8_t)i;
  return map;
}

/* Constants and permutations are part of a class. */
Test(convert_maps, maps_are_part_of_the_class) {
  llrt_map maps[2] = {{.kind = LLRT_MAP_XOR, .constant = 0x80000000}, identity_bits()};
  cr_expect_eq(convert_mapped(1, maps), LLRT_OK, "%s", llrt_last_error());
  cr_expect_float_eq(at.output[ROWS], -at.input[1], 0);
  cr_expect_eq(convert_mapped(1, maps), LLRT_OK);
  cr_expect_eq(fixture_stats(&at).compiles, 1);
  cr_expect_eq(convert_mapped(2, maps), LLRT_OK);
  cr_expect_float_eq(at.output[ROWS], -at.input[1], 0);
  maps[0].constant = 0;
  cr_expect_eq(convert_mapped(2, maps), LLRT_OK);
  cr_expect(fixture_is_converted(&at));
  maps[1].perm[31] = 30;
  maps[1].perm[30] = 31;
  cr_expect_eq(convert_mapped(2, maps), LLRT_OK);
  cr_expect_not(fixture_is_converted(&at));
  cr_expect_eq(fixture_stats(&at).compiles, 4);
}

enum { WEIGHTS = 1024 }; /* so many that no call compiles their extents in */

/* What llrt_dot_pack asks for, at every address that holds words: small multiples are promised to
 * no kernel but words are. */
static void check_packed(llrt_dtype type, llrt_dtype other) {
  static _Alignas(64) uint8_t plain[WEIGHTS * WEIGHTS], formed[WEIGHTS * WEIGHTS],
      packed[WEIGHTS * WEIGHTS + 64];
  const llrt_dot_pack_params what = {.dtype = type, .other = other};
  llrt_dot_packing packing = {0};
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK);
  if (packing.n_maps == 0) return;
  size_t bytes = (size_t)WEIGHTS * WEIGHTS * (size_t)llrt_dtype_bits(type) / 8;
  for (size_t i = 0; i < bytes; i++) plain[i] = (uint8_t)(i * 2654435761u >> 13);
  llrt_tensor from = {.data = plain, .dtype = type, .rank = 2, .device = at.host}, to;
  from.shape[0] = from.shape[1] = WEIGHTS;
  to = from;
  to.storage = &packing.storages[0];
  to.data = formed;
  cr_assert_eq(llrt_convert_into(&from, &to, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  const llrt_convert_params params = {.n_maps = 1, .maps = &packing.map};
  for (size_t shift = 0; shift < 64; shift += 4) {
    size_t wrong = 0;
    to.data = packed + shift;
    memset(to.data, 0xA5, bytes);
    cr_assert_eq(llrt_convert_into(&from, &to, &params, NULL), LLRT_OK, "%s at %zu: %s",
                 llrt_dtype_name(type), shift, llrt_last_error());
    for (size_t i = 0; i < bytes && wrong == 0; i += 4) {
      uint32_t word, expected = 0, found;
      memcpy(&word, formed + i, 4);
      memcpy(&found, packed + shift + i, 4);
      for (int b = 0; b < 32; b++) expected |= (word >> packing.map.perm[b] & 1) << b;
      wrong += found != expected;
    }
    cr_expect_eq(wrong, 0, "%s at %zu", llrt_dtype_name(type), shift);
  }
}

Test(convert_maps, packed_words_at_any_address) {
  check_packed(LLRT_E2M1, LLRT_BF16);
  check_packed(LLRT_U4, LLRT_F16);
  check_packed(LLRT_I4, LLRT_BF16);
  check_packed(LLRT_U8, LLRT_F16);
  cr_expect_leq(fixture_stats(&at).compiles, 4 * 4, "%d kernels", (int)fixture_stats(&at).compiles);
}

Test(convert_maps, wrong_maps) {
  llrt_map maps[5] = {{.kind = LLRT_MAP_XOR}, identity_bits(), identity_bits()};
  cr_expect_eq(convert_mapped(-1, maps), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(convert_mapped(5, maps), LLRT_INVALID_ARGUMENT);
  expect_said("5 maps");
  cr_expect_eq(convert_mapped(3, maps), LLRT_INVALID_ARGUMENT);
  expect_said("must be the last");
  maps[1].perm[3] = 4;
  cr_expect_eq(convert_mapped(2, maps), LLRT_INVALID_ARGUMENT);
  expect_said("twice");
  maps[1].perm[3] = 32;
  cr_expect_eq(convert_mapped(2, maps), LLRT_INVALID_ARGUMENT);
  expect_said("perm[3] is 32");
  maps[0].kind = (llrt_map_kind)77;
  cr_expect_eq(convert_mapped(1, maps), LLRT_INVALID_ARGUMENT);
  expect_said("kind 77");
  cr_expect(fixture_is_untouched(&at));
}

/* Types count where values are computed: u32 is not f32 then. */
Test(convert_maps, casts) {
  llrt_convert_params params = {.dtype = LLRT_F64};
  llrt_tensor made;
  cr_assert_eq(llrt_convert(&at.source, &at.col_major, &params, NULL, &made), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(made.dtype, LLRT_F64);
  for (int i = 0; i < ELEMENTS; i++)
    cr_assert_float_eq(((double *)made.data)[i % COLUMNS * ROWS + i / COLUMNS], at.input[i], 0);
  cr_expect_eq(llrt_tensor_free(&made, NULL), LLRT_OK);
  at.source.dtype = LLRT_U32;
  cr_assert_eq(llrt_convert(&at.source, &at.col_major, &params, NULL, &made), LLRT_OK);
  cr_expect_float_eq(((double *)made.data)[ROWS], 0x3F800000, 0);
  cr_expect_eq(llrt_tensor_free(&made, NULL), LLRT_OK);
  cr_expect_eq(fixture_stats(&at).compiles, 2);
  params.dtype = LLRT_I64;
  cr_expect_eq(llrt_convert(&at.source, &at.col_major, &params, NULL, &made), LLRT_UNSUPPORTED);
  expect_said("no such cast");
}

/* Scales are checked before anything is launched; groups are part of the class. */
Test(convert_maps, scales) {
  float factors[ROWS * 2];
  llrt_tensor scale = at.source;
  for (int i = 0; i < ROWS * 2; i++) factors[i] = (float)(i + 1);
  scale.data = factors;
  scale.shape[1] = 2;
  llrt_map map = {.kind = LLRT_MAP_SCALE, .group = {1, COLUMNS / 2}};
  llrt_convert_params params = {.n_maps = 1, .maps = &map, .scale = &scale};
  cr_assert_eq(llrt_convert_into(&at.source, &at.destination, &params, NULL), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < ELEMENTS; i++)
    cr_assert_float_eq(at.output[i % COLUMNS * ROWS + i / COLUMNS],
                       at.input[i] * factors[i / (COLUMNS / 2)], 0);
  map.group[1] = COLUMNS;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, &params, NULL),
               LLRT_INVALID_ARGUMENT);
  expect_said("scale's shape[1] is 2, not 1");
  scale.data = at.output;
  map.group[1] = COLUMNS / 2;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, &params, NULL),
               LLRT_INVALID_ARGUMENT);
  expect_said("scale and destination overlap");
  params.scale = NULL;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, &params, NULL),
               LLRT_INVALID_ARGUMENT);
  expect_said("go together");
  scale.dtype = LLRT_I32;
  params.scale = &scale;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, &params, NULL), LLRT_UNSUPPORTED);
  expect_said("scales of type i32");
}

/* One scale for a whole axis is one also for an axis without positions, as llrt_dot has it; none
 * serves, too. */
Test(convert_maps, scales_of_nothing) {
  float factor = 2;
  llrt_tensor source = at.source, destination = at.destination, scale = at.source;
  source.shape[1] = destination.shape[1] = 0;
  scale.data = &factor;
  const llrt_map map = {.kind = LLRT_MAP_SCALE, .group = {1, LLRT_GROUP_ALL}};
  llrt_convert_params params = {.n_maps = 1, .maps = &map, .scale = &scale};
  for (int64_t positions = 0; positions <= 2; positions++) {
    scale.shape[1] = positions;
    cr_expect_eq(llrt_convert_into(&source, &destination, &params, NULL),
                 positions < 2 ? LLRT_OK : LLRT_INVALID_ARGUMENT, "%d: %s", (int)positions,
                 llrt_last_error());
  }
  expect_said("scale's shape[1] is 2, not 1");
}
