#include "jit/plan/types/tuning.h"

/* What no target has measured apart from the others. */
#define EVERYWHERE \
  .tiled_elements = 4096, .streaming_bytes = 4 << 20, .thin_bits = 5, .masked_registers = 4, \
  .flat_waste = 1.02, .whole_swap_pairs = 4, .reduce_whole_blocks = 8192, \
  .reduce_split_elements = 1 << 16, .reduce_finish_warp_bits = 2, .reduce_thread_bits = 6, \
  .dot_least_turns = 8

#define GPU \
  EVERYWHERE, .staged_panels = 800, .staged_bytes = 32 << 10, .staged_loaded_bytes = 16 << 10, \
      .staged_stored_bytes = 8 << 10, .staged_large_bytes = 48 << 10, .staged_wavefronts = 1.5, \
      .staged_byte_wavefronts = 2.2, .staged_stored_bits = 16, .staged_gaps = 1.25, \
      .band_bytes = 16 << 10, .stored_waste = 1.25, .panel_neighbour_bytes = 8, \
      .panel_thread_bits = 4, .unit_panels = 2, .reduce_blocks = 448, .reduce_least_blocks = 336, \
      .reduce_enough_blocks = 240, .reduce_flight_bits = 3, .reduce_warp_bits = 3, \
      .reduce_split_warp_bits = 2, .reduce_stretch_blocks = 264, .reduce_stretch_warp_bits = 3, \
      .scan_walking_blocks = 1024, .scan_least_turns = 4, .scan_resident = 3, \
      .scan_least_units = 148, .scan_run_bytes = 64, .scan_turn_lane_bits = 1, \
      .scan_thread_bits = 4, .scan_turn_thread_bytes = 128, .scan_warp_bits = 3, \
      .rows_row_bits = 5, .rows_flat_bits = 3, .rows_thread_bits = 4, .rows_warp_bits = 1, \
      .rows_flat_warp_bits = 2, .rows_walk_bits = 5, .rows_walk_warp_bits = 4, \
      .dot_unit_warp_bits = 3, .dot_least_copied = 256, .packed_dealt_turns = 4

const plan_tuning plan_tuning_nvidia = {.targets = "sm_80, sm_89, sm_90, sm_90a",
                                        GPU,
                                        .rows_cluster_warp_bits = 4,
                                        .rows_unit_threads = 1024,
                                        .rows_flat_unit_threads = 1536,
                                        .rows_walk_blocks = 2,
                                        .rows_walk_slots = 4,
                                        .dot_row_warp_bits = 3,
                                        .dot_row_word_bits = 1,
                                        .dot_row_bits = 2,
                                        .rows_kept_bytes = 1 << 20,
                                        .rows_rolled_saved = 48,
                                        .rows_rolled_more = 15,
                                        .rows_turn_weights = 16 << 10};

const plan_tuning plan_tuning_amd = {.targets = "gfx90a, gfx942", GPU, .rows_looped_numbers = 32};

/* Blocks: a few for every core. enough: half of them. Scans: as on GPUs, of which tiles ask. */
const plan_tuning plan_tuning_host = {.targets = "x86-64-v2 to v4-vbmi, aarch64",
                                      EVERYWHERE,
                                      .collected_row_bytes = 256,
                                      .reduce_blocks = 64,
                                      .reduce_least_blocks = 0,
                                      .reduce_enough_blocks = 32,
                                      .reduce_flight_bits = 2,
                                      .reduce_row_bits = 3,
                                      .reduce_carried_bytes = 16 << 10,
                                      .scan_run_bytes = 64,
                                      .scan_turn_lane_bits = 1,
                                      .scan_thread_bits = 4,
                                      .scan_turn_thread_bytes = 128,
                                      .scan_warp_bits = 3,
                                      .dot_blocks = 64};
