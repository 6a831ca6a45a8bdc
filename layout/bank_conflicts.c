/* What a warp pays in shared memory, counted from its lanes' addresses. */
#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/traffic.h"

static int or_default(int value, int otherwise) { return value ? value : otherwise; }

/* Fills in what params leave open. */
static llrt_status complete(const llrt_bank_params *params, llrt_bank_params *full) {
  static const llrt_bank_params usual = {
      .lanes = 32, .banks = 32, .bank_bytes = 4, .vector_bytes = 16};
  LLRT_TRY(LLRT_PARAMS_READ(llrt_bank_params, params, full));
  full->lanes = or_default(full->lanes, usual.lanes);
  full->banks = or_default(full->banks, usual.banks);
  full->bank_bytes = or_default(full->bank_bytes, usual.bank_bytes);
  full->vector_bytes = or_default(full->vector_bytes, usual.vector_bytes);
  LLRT_REQUIRE(bits_is_power_of_two(full->lanes) && full->lanes <= TRAFFIC_MAX_LANES,
               "lanes: %d is no power of two up to %d", full->lanes, TRAFFIC_MAX_LANES);
  LLRT_REQUIRE(bits_is_power_of_two(full->banks) && full->banks <= 64,
               "banks: %d is no power of two up to 64", full->banks);
  LLRT_REQUIRE(bits_is_power_of_two(full->bank_bytes) && full->bank_bytes <= 16,
               "bank_bytes: %d is no power of two up to 16", full->bank_bytes);
  LLRT_REQUIRE(bits_is_power_of_two(full->vector_bytes) && full->vector_bytes >= full->bank_bytes &&
                   full->vector_bytes <= 4 * full->bank_bytes,
               "vector_bytes: %d is not 1, 2 or 4 banks", full->vector_bytes);
  return LLRT_OK;
}

/* register x lane x warp of one block -> offset, zero registers left out. */
static llrt_status access_of(const llrt_layout *registers, const llrt_layout *shared,
                             llrt_layout *access) {
  static const char *const ins[] = {"register", "lane", "warp"};
  static const char *const offset[] = {"offset"};
  llrt_layout held;
  LLRT_TRY(llrt_layout_remove_zero_bases(registers, "register", &held));
  LLRT_TRY(llrt_layout_invert_and_compose_block_local(&held, shared, access));
  const char *chosen[3];
  int n = 0;
  for (int i = 0; i < 3; i++)
    if (llrt_layout_in_index(access, ins[i]) >= 0) chosen[n++] = ins[i];
  return llrt_layout_sublayout(access, chosen, n, offset, 1, access);
}

/* The bytes at which the lanes of one instruction begin, register and warp being 0. Lanes past
 * those that the layout has repeat them. */
static int lane_addresses(const llrt_layout *access, int element_bits, int lanes,
                          int64_t *address) {
  int index = llrt_layout_in_index(access, "lane");
  int bits = index < 0 ? 0 : access->in[index].bits;
  int shift = index < 0 ? 0 : llrt_layout_in_shift(access, index);
  for (int i = 0; i < lanes; i++) {
    uint64_t lane = (uint64_t)i & bits_mask(bits);
    uint64_t offset = lane ? llrt_layout_apply_flat(access, lane << shift) : 0;
    address[i] = (int64_t)offset * element_bits / 8;
  }
  return lanes;
}

static llrt_status bank_conflicts(const llrt_layout *registers, const llrt_layout *shared,
                                  int element_bits, const llrt_bank_params *given,
                                  llrt_bank_report *out) {
  llrt_bank_params params;
  llrt_layout access;
  LLRT_TRY(complete(given, &params));
  LLRT_REQUIRE(element_bits >= 4 && element_bits <= 128 && bits_is_power_of_two(element_bits),
               "element_bits %d is none of 4, 8, 16, 32, 64, 128", element_bits);
  LLRT_TRY(access_of(registers, shared, &access));
  int index = llrt_layout_in_index(&access, "register");
  LLRT_REQUIRE(llrt_layout_out_bits(&access) <= 40,
               "bank_conflicts: the memory is larger than 2^40");
  LLRT_REQUIRE(access.in[index].bits <= 30, "bank_conflicts: 2^%d registers are more than 2^30",
               access.in[index].bits);
  int64_t limit = params.vector_bytes * 8 / element_bits, lane_bytes;
  LLRT_TRY(llrt_layout_vector_width(&access, limit < 1 ? 1 : limit, &out->vector, NULL));
  lane_bytes = out->vector * element_bits / 8;
  int64_t address[TRAFFIC_MAX_LANES];
  int lanes = lane_addresses(&access, element_bits, params.lanes, address);
  out->instructions = 1 << (access.in[index].bits - bits_log2(out->vector));
  out->wavefronts = traffic_wavefronts(address, lanes, lane_bytes < 1 ? 1 : (int)lane_bytes,
                                       params.banks, params.bank_bytes);
  int64_t width = lane_bytes < params.bank_bytes ? params.bank_bytes : lane_bytes;
  out->min_wavefronts =
      (int)bits_ceil_div(lanes * width, (int64_t)params.banks * params.bank_bytes);
  return LLRT_OK;
}

llrt_status llrt_layout_bank_conflicts(const llrt_layout *registers, const llrt_layout *shared,
                                       int element_bits, const llrt_bank_params *params,
                                       llrt_bank_report *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_bank_report report = {0};
  llrt_status status = bank_conflicts(registers, shared, element_bits, params, &report);
  if (status) report = (llrt_bank_report){0};
  LLRT_TRY(LLRT_PARAMS_WRITE(llrt_bank_report, out, &report));
  return status;
}
