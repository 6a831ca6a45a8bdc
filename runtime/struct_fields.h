/* LLRT_STRUCTS(S, F): S(struct, F(struct, field) ...) for every struct of the public headers, each
 * with all of its fields in their order. Written by scripts/abi renew. */
#ifndef LLRT_RUNTIME_STRUCT_FIELDS_H
#define LLRT_RUNTIME_STRUCT_FIELDS_H

/* clang-format off */
#define LLRT_STRUCTS(S, F) \
  S(llrt_allocator, F(llrt_allocator, user) F(llrt_allocator, allocate) \
    F(llrt_allocator, release) F(llrt_allocator, reserved)) \
  S(llrt_amd_mma_params, F(llrt_amd_mma_params, size) F(llrt_amd_mma_params, rank) \
    F(llrt_amd_mma_params, version) F(llrt_amd_mma_params, warps_per_cta) \
    F(llrt_amd_mma_params, tiles_per_warp) F(llrt_amd_mma_params, instr_shape) \
    F(llrt_amd_mma_params, transposed) F(llrt_amd_mma_params, element_bits) \
    F(llrt_amd_mma_params, cluster)) \
  S(llrt_arg, F(llrt_arg, name) F(llrt_arg, tensor) F(llrt_arg, number) F(llrt_arg, integer) \
    F(llrt_arg, reserved)) \
  S(llrt_bank_params, F(llrt_bank_params, size) F(llrt_bank_params, lanes) \
    F(llrt_bank_params, banks) F(llrt_bank_params, bank_bytes) \
    F(llrt_bank_params, vector_bytes)) \
  S(llrt_bank_report, F(llrt_bank_report, size) F(llrt_bank_report, vector) \
    F(llrt_bank_report, instructions) F(llrt_bank_report, wavefronts) \
    F(llrt_bank_report, min_wavefronts) F(llrt_bank_report, reserved)) \
  S(llrt_blocked_params, F(llrt_blocked_params, size) F(llrt_blocked_params, rank) \
    F(llrt_blocked_params, size_per_thread) F(llrt_blocked_params, threads_per_warp) \
    F(llrt_blocked_params, warps_per_cta) F(llrt_blocked_params, order) \
    F(llrt_blocked_params, cluster)) \
  S(llrt_cache_entry, F(llrt_cache_entry, size) F(llrt_cache_entry, name) \
    F(llrt_cache_entry, text) F(llrt_cache_entry, target) F(llrt_cache_entry, version) \
    F(llrt_cache_entry, why) F(llrt_cache_entry, bytes) F(llrt_cache_entry, used) \
    F(llrt_cache_entry, state) F(llrt_cache_entry, capability) \
    F(llrt_cache_entry, n_compiled) F(llrt_cache_entry, reserved)) \
  S(llrt_cache_params, F(llrt_cache_params, size) F(llrt_cache_params, dir) \
    F(llrt_cache_params, read_dirs) F(llrt_cache_params, n_read_dirs) \
    F(llrt_cache_params, reserved) F(llrt_cache_params, disk_bytes) \
    F(llrt_cache_params, memory_bytes)) \
  S(llrt_cache_stats, F(llrt_cache_stats, size) F(llrt_cache_stats, kernels) \
    F(llrt_cache_stats, compiles) F(llrt_cache_stats, hits)) \
  S(llrt_cluster_params, F(llrt_cluster_params, ctas_per_cga) \
    F(llrt_cluster_params, cta_split) F(llrt_cluster_params, cta_order)) \
  S(llrt_comm_params, F(llrt_comm_params, size) F(llrt_comm_params, rank) \
    F(llrt_comm_params, ranks) F(llrt_comm_params, signals) F(llrt_comm_params, timeout_ms) \
    F(llrt_comm_params, nccl) F(llrt_comm_params, nccl_id) \
    F(llrt_comm_params, nccl_library)) \
  S(llrt_compile_event, F(llrt_compile_event, size) F(llrt_compile_event, device) \
    F(llrt_compile_event, desc) F(llrt_compile_event, text) \
    F(llrt_compile_event, milliseconds) F(llrt_compile_event, background) \
    F(llrt_compile_event, reserved)) \
  S(llrt_compute_params, F(llrt_compute_params, size) F(llrt_compute_params, flags) \
    F(llrt_compute_params, maps) F(llrt_compute_params, n_maps)) \
  S(llrt_context_params, F(llrt_context_params, size) F(llrt_context_params, allocator) \
    F(llrt_context_params, log_user) F(llrt_context_params, log) \
    F(llrt_context_params, parallel_user) F(llrt_context_params, parallel_for) \
    F(llrt_context_params, jit_library) F(llrt_context_params, threads) \
    F(llrt_context_params, compile) F(llrt_context_params, compile_user) \
    F(llrt_context_params, on_compile) F(llrt_context_params, fix_extents) \
    F(llrt_context_params, log_level) F(llrt_context_params, most_kernels) \
    F(llrt_context_params, cache)) \
  S(llrt_context_stats, F(llrt_context_stats, size) F(llrt_context_stats, kernels) \
    F(llrt_context_stats, bytes) F(llrt_context_stats, compiles) \
    F(llrt_context_stats, lookups) F(llrt_context_stats, hits) \
    F(llrt_context_stats, unloaded) F(llrt_context_stats, disk_hits) \
    F(llrt_context_stats, disk_misses) F(llrt_context_stats, disk_written) \
    F(llrt_context_stats, disk_ignored) F(llrt_context_stats, disk_removed)) \
  S(llrt_convert_params, F(llrt_convert_params, size) F(llrt_convert_params, dtype) \
    F(llrt_convert_params, n_maps) F(llrt_convert_params, maps) \
    F(llrt_convert_params, scale)) \
  S(llrt_device_info, F(llrt_device_info, size) F(llrt_device_info, name) \
    F(llrt_device_info, description) F(llrt_device_info, target) \
    F(llrt_device_info, compute_units) F(llrt_device_info, reserved) \
    F(llrt_device_info, memory_bytes) F(llrt_device_info, l2_bytes)) \
  S(llrt_device_params, F(llrt_device_params, size) F(llrt_device_params, driver_context) \
    F(llrt_device_params, driver_library) F(llrt_device_params, target)) \
  S(llrt_digit, F(llrt_digit, extent) F(llrt_digit, stride) F(llrt_digit, axis) \
    F(llrt_digit, target) F(llrt_digit, reversed)) \
  S(llrt_dim, F(llrt_dim, name) F(llrt_dim, bits)) \
  S(llrt_dot_operand_params, F(llrt_dot_operand_params, size) \
    F(llrt_dot_operand_params, operand) F(llrt_dot_operand_params, k_width) \
    F(llrt_dot_operand_params, parent)) \
  S(llrt_dot_pack_params, F(llrt_dot_pack_params, size) F(llrt_dot_pack_params, dtype) \
    F(llrt_dot_pack_params, scale) F(llrt_dot_pack_params, group) \
    F(llrt_dot_pack_params, other) F(llrt_dot_pack_params, range_low) \
    F(llrt_dot_pack_params, range_high) F(llrt_dot_pack_params, n_batch) \
    F(llrt_dot_pack_params, zero)) \
  S(llrt_dot_packing, F(llrt_dot_packing, size) F(llrt_dot_packing, storages) \
    F(llrt_dot_packing, n_maps) F(llrt_dot_packing, map) F(llrt_dot_packing, word_bits)) \
  S(llrt_dot_params, F(llrt_dot_params, size) F(llrt_dot_params, alpha) \
    F(llrt_dot_params, beta) F(llrt_dot_params, c) F(llrt_dot_params, bias) \
    F(llrt_dot_params, a) F(llrt_dot_params, b) F(llrt_dot_params, accumulate) \
    F(llrt_dot_params, dtype) F(llrt_dot_params, tf32) F(llrt_dot_params, fast_accumulate) \
    F(llrt_dot_params, n_maps) F(llrt_dot_params, maps) F(llrt_dot_params, add) \
    F(llrt_dot_params, scale) F(llrt_dot_params, ends) F(llrt_dot_params, batch_invariant) \
    F(llrt_dot_params, experts)) \
  S(llrt_dot_scaling, F(llrt_dot_scaling, scale) F(llrt_dot_scaling, zero) \
    F(llrt_dot_scaling, global) F(llrt_dot_scaling, group) F(llrt_dot_scaling, word_bits) \
    F(llrt_dot_scaling, range_low) F(llrt_dot_scaling, range_high) \
    F(llrt_dot_scaling, reserved)) \
  S(llrt_gather_params, F(llrt_gather_params, size) F(llrt_gather_params, form) \
    F(llrt_gather_params, out_of_range) F(llrt_gather_params, report) \
    F(llrt_gather_params, convert)) \
  S(llrt_hash, F(llrt_hash, low) F(llrt_hash, high)) \
  S(llrt_index, F(llrt_index, axis) F(llrt_index, kind) F(llrt_index, out_of_range) \
    F(llrt_index, dtype) F(llrt_index, axes) F(llrt_index, folded) F(llrt_index, extent) \
    F(llrt_index, alignment) F(llrt_index, data) F(llrt_index, strides) \
    F(llrt_index, report) F(llrt_index, reserved)) \
  S(llrt_index_promise, F(llrt_index_promise, along) F(llrt_index_promise, multiple)) \
  S(llrt_kernel_info, F(llrt_kernel_info, size) F(llrt_kernel_info, format) \
    F(llrt_kernel_info, version) F(llrt_kernel_info, target) F(llrt_kernel_info, fits) \
    F(llrt_kernel_info, kind) F(llrt_kernel_info, n_tensors) F(llrt_kernel_info, n_kernels) \
    F(llrt_kernel_info, n_compiled) F(llrt_kernel_info, capability) \
    F(llrt_kernel_info, shared_bytes) F(llrt_kernel_info, reserved) \
    F(llrt_kernel_info, why)) \
  S(llrt_layout, F(llrt_layout, n_in) F(llrt_layout, n_out) F(llrt_layout, in) \
    F(llrt_layout, out) F(llrt_layout, column)) \
  S(llrt_layout_parent, F(llrt_layout_parent, blocked) F(llrt_layout_parent, nvmma) \
    F(llrt_layout_parent, mfma) F(llrt_layout_parent, wmma) F(llrt_layout_parent, slice) \
    F(llrt_layout_parent, dot)) \
  S(llrt_map, F(llrt_map, kind) F(llrt_map, constant) F(llrt_map, perm) F(llrt_map, group) \
    F(llrt_map, reserved)) \
  S(llrt_matrix, F(llrt_matrix, element_bits) F(llrt_matrix, swizzle_bytes) \
    F(llrt_matrix, mn_major) F(llrt_matrix, leading_bytes) F(llrt_matrix, stride_bytes) \
    F(llrt_matrix, reserved)) \
  S(llrt_memory_handle, F(llrt_memory_handle, kind) F(llrt_memory_handle, backend) \
    F(llrt_memory_handle, bytes) F(llrt_memory_handle, offset) F(llrt_memory_handle, device) \
    F(llrt_memory_handle, exporter) F(llrt_memory_handle, driver) \
    F(llrt_memory_handle, reserved)) \
  S(llrt_mesh, F(llrt_mesh, n_axes) F(llrt_mesh, first) F(llrt_mesh, name) \
    F(llrt_mesh, size) F(llrt_mesh, reserved)) \
  S(llrt_named_argument, F(llrt_named_argument, name) F(llrt_named_argument, value)) \
  S(llrt_named_param, F(llrt_named_param, name) F(llrt_named_param, meaning) \
    F(llrt_named_param, preset)) \
  S(llrt_named_storage, F(llrt_named_storage, name) F(llrt_named_storage, dims) \
    F(llrt_named_storage, formula) F(llrt_named_storage, param) \
    F(llrt_named_storage, widths) F(llrt_named_storage, pad) \
    F(llrt_named_storage, pad_value) F(llrt_named_storage, source)) \
  S(llrt_named_tensor, F(llrt_named_tensor, name) F(llrt_named_tensor, dtype) \
    F(llrt_named_tensor, rank) F(llrt_named_tensor, shape) F(llrt_named_tensor, reserved)) \
  S(llrt_nccl_id, F(llrt_nccl_id, bytes)) \
  S(llrt_nvmma_params, F(llrt_nvmma_params, size) F(llrt_nvmma_params, rank) \
    F(llrt_nvmma_params, version) F(llrt_nvmma_params, warps_per_cta) \
    F(llrt_nvmma_params, instr_shape) F(llrt_nvmma_params, cluster)) \
  S(llrt_nvmma_shared_params, F(llrt_nvmma_shared_params, size) \
    F(llrt_nvmma_shared_params, rank) F(llrt_nvmma_shared_params, swizzle_bytes) \
    F(llrt_nvmma_shared_params, element_bits) F(llrt_nvmma_shared_params, transposed) \
    F(llrt_nvmma_shared_params, fp4_padded) F(llrt_nvmma_shared_params, cluster)) \
  S(llrt_op_combine, F(llrt_op_combine, op) F(llrt_op_combine, accumulate) \
    F(llrt_op_combine, axes) F(llrt_op_combine, exclusive) F(llrt_op_combine, reverse) \
    F(llrt_op_combine, reserved)) \
  S(llrt_op_desc, F(llrt_op_desc, size) F(llrt_op_desc, kind) F(llrt_op_desc, n_tensors) \
    F(llrt_op_desc, tensors) F(llrt_op_desc, promises) F(llrt_op_desc, maps) \
    F(llrt_op_desc, n_maps) F(llrt_op_desc, in_place) F(llrt_op_desc, combine) \
    F(llrt_op_desc, dot) F(llrt_op_desc, scalars) F(llrt_op_desc, program)) \
  S(llrt_op_dot, F(llrt_op_dot, roles) F(llrt_op_dot, accumulate) F(llrt_op_dot, group) \
    F(llrt_op_dot, alpha) F(llrt_op_dot, beta) F(llrt_op_dot, scale_range) \
    F(llrt_op_dot, word_bits) F(llrt_op_dot, tf32) F(llrt_op_dot, fast_accumulate) \
    F(llrt_op_dot, has_alpha) F(llrt_op_dot, has_beta) F(llrt_op_dot, batch_invariant) \
    F(llrt_op_dot, reserved)) \
  S(llrt_output_map, F(llrt_output_map, name) F(llrt_output_map, map)) \
  S(llrt_padded_params, F(llrt_padded_params, size) F(llrt_padded_params, rank) \
    F(llrt_padded_params, n_intervals) F(llrt_padded_params, interval) \
    F(llrt_padded_params, padding) F(llrt_padded_params, order) \
    F(llrt_padded_params, cluster) F(llrt_padded_params, linear)) \
  S(llrt_part, F(llrt_part, begin) F(llrt_part, extent) F(llrt_part, copy) \
    F(llrt_part, summand)) \
  S(llrt_placement, F(llrt_placement, kind) F(llrt_placement, axis) \
    F(llrt_placement, split_factor)) \
  S(llrt_places, F(llrt_places, copies) F(llrt_places, n) F(llrt_places, n_axes) \
    F(llrt_places, axis) F(llrt_places, at)) \
  S(llrt_prepare_params, F(llrt_prepare_params, size) F(llrt_prepare_params, tune) \
    F(llrt_prepare_params, retune) F(llrt_prepare_params, most) F(llrt_prepare_params, lazy) \
    F(llrt_prepare_params, seconds) F(llrt_prepare_params, user) \
    F(llrt_prepare_params, on_candidate)) \
  S(llrt_promise, F(llrt_promise, multiple) F(llrt_promise, min) F(llrt_promise, max)) \
  S(llrt_recipe_params, F(llrt_recipe_params, size) F(llrt_recipe_params, config) \
    F(llrt_recipe_params, config_bytes) F(llrt_recipe_params, tp) \
    F(llrt_recipe_params, rank) F(llrt_recipe_params, inverse) \
    F(llrt_recipe_params, in_place)) \
  S(llrt_reduce_params, F(llrt_reduce_params, size) F(llrt_reduce_params, op) \
    F(llrt_reduce_params, axes) F(llrt_reduce_params, accumulate) \
    F(llrt_reduce_params, dtype) F(llrt_reduce_params, keep_axes) \
    F(llrt_reduce_params, values)) \
  S(llrt_repack_info, F(llrt_repack_info, size) F(llrt_repack_info, n_inputs) \
    F(llrt_repack_info, n_outputs) F(llrt_repack_info, n_steps) \
    F(llrt_repack_info, launches) F(llrt_repack_info, workspace) \
    F(llrt_repack_info, bytes_read) F(llrt_repack_info, bytes_written)) \
  S(llrt_repack_step, F(llrt_repack_step, row) F(llrt_repack_step, n_inputs) \
    F(llrt_repack_step, n_outputs) F(llrt_repack_step, launches) F(llrt_repack_step, inputs) \
    F(llrt_repack_step, outputs) F(llrt_repack_step, workspace) \
    F(llrt_repack_step, bytes_read) F(llrt_repack_step, bytes_written) \
    F(llrt_repack_step, reserved)) \
  S(llrt_repack_tensor, F(llrt_repack_tensor, name) F(llrt_repack_tensor, dtype) \
    F(llrt_repack_tensor, rank) F(llrt_repack_tensor, shape) F(llrt_repack_tensor, bytes) \
    F(llrt_repack_tensor, step) F(llrt_repack_tensor, place) \
    F(llrt_repack_tensor, reserved)) \
  S(llrt_reshard_desc, F(llrt_reshard_desc, size) F(llrt_reshard_desc, source) \
    F(llrt_reshard_desc, destination) F(llrt_reshard_desc, shape) \
    F(llrt_reshard_desc, source_dtype) F(llrt_reshard_desc, destination_dtype) \
    F(llrt_reshard_desc, maps) F(llrt_reshard_desc, n_maps) F(llrt_reshard_desc, path) \
    F(llrt_reshard_desc, parts) F(llrt_reshard_desc, reserved) F(llrt_reshard_desc, scale) \
    F(llrt_reshard_desc, scale_dtype) F(llrt_reshard_desc, access) \
    F(llrt_reshard_desc, source_strides) F(llrt_reshard_desc, destination_strides) \
    F(llrt_reshard_desc, source_indices) F(llrt_reshard_desc, destination_indices) \
    F(llrt_reshard_desc, n_source_indices) F(llrt_reshard_desc, n_destination_indices)) \
  S(llrt_reshard_info, F(llrt_reshard_info, size) F(llrt_reshard_info, path) \
    F(llrt_reshard_info, launches) F(llrt_reshard_info, parts) F(llrt_reshard_info, access) \
    F(llrt_reshard_info, messages) F(llrt_reshard_info, sent_bytes) \
    F(llrt_reshard_info, workspace_bytes)) \
  S(llrt_reshard_run_params, F(llrt_reshard_run_params, size) \
    F(llrt_reshard_run_params, sources) F(llrt_reshard_run_params, destinations) \
    F(llrt_reshard_run_params, scales) F(llrt_reshard_run_params, workspace) \
    F(llrt_reshard_run_params, source_strides) \
    F(llrt_reshard_run_params, destination_strides) \
    F(llrt_reshard_run_params, source_tables) F(llrt_reshard_run_params, destination_tables) \
    F(llrt_reshard_run_params, alone) F(llrt_reshard_run_params, reserved)) \
  S(llrt_run_params, F(llrt_run_params, size) F(llrt_run_params, workspace) \
    F(llrt_run_params, workspace_bytes) F(llrt_run_params, alpha) F(llrt_run_params, beta) \
    F(llrt_run_params, scalars) F(llrt_run_params, own_workspace) \
    F(llrt_run_params, reserved)) \
  S(llrt_scan_params, F(llrt_scan_params, size) F(llrt_scan_params, op) \
    F(llrt_scan_params, axis) F(llrt_scan_params, exclusive) F(llrt_scan_params, reverse) \
    F(llrt_scan_params, accumulate) F(llrt_scan_params, dtype)) \
  S(llrt_sharding, F(llrt_sharding, mesh) F(llrt_sharding, rank) F(llrt_sharding, n_splits) \
    F(llrt_sharding, split) F(llrt_sharding, partial) F(llrt_sharding, storage) \
    F(llrt_sharding, reserved)) \
  S(llrt_slice_params, F(llrt_slice_params, size) F(llrt_slice_params, dim) \
    F(llrt_slice_params, parent)) \
  S(llrt_split, F(llrt_split, mesh_axis) F(llrt_split, axis)) \
  S(llrt_storage, F(llrt_storage, rank) F(llrt_storage, n_digits) F(llrt_storage, digit) \
    F(llrt_storage, tile) F(llrt_storage, swizzle) F(llrt_storage, pad) \
    F(llrt_storage, pad_value) F(llrt_storage, n_targets) F(llrt_storage, target) \
    F(llrt_storage, offset) F(llrt_storage, reserved)) \
  S(llrt_storage_binding, F(llrt_storage_binding, extent) F(llrt_storage_binding, stride) \
    F(llrt_storage_binding, origin) F(llrt_storage_binding, padded) \
    F(llrt_storage_binding, span)) \
  S(llrt_struct_field, F(llrt_struct_field, name) F(llrt_struct_field, offset) \
    F(llrt_struct_field, bytes) F(llrt_struct_field, reserved)) \
  S(llrt_struct_info, F(llrt_struct_info, size) F(llrt_struct_info, name) \
    F(llrt_struct_info, bytes) F(llrt_struct_info, alignment) F(llrt_struct_info, n_fields) \
    F(llrt_struct_info, reserved) F(llrt_struct_info, fields)) \
  S(llrt_swizzle, F(llrt_swizzle, per_element) F(llrt_swizzle, swizzle_len) \
    F(llrt_swizzle, atom_len) F(llrt_swizzle, upward)) \
  S(llrt_swizzle_params, F(llrt_swizzle_params, size) F(llrt_swizzle_params, rank) \
    F(llrt_swizzle_params, vec) F(llrt_swizzle_params, per_phase) \
    F(llrt_swizzle_params, max_phase) F(llrt_swizzle_params, order) \
    F(llrt_swizzle_params, cluster)) \
  S(llrt_tensor, F(llrt_tensor, data) F(llrt_tensor, dtype) F(llrt_tensor, rank) \
    F(llrt_tensor, shape) F(llrt_tensor, strides) F(llrt_tensor, storage) \
    F(llrt_tensor, device) F(llrt_tensor, indices) F(llrt_tensor, n_indices) \
    F(llrt_tensor, extent_ptr) F(llrt_tensor, reserved)) \
  S(llrt_tensor_memory_params, F(llrt_tensor_memory_params, size) \
    F(llrt_tensor_memory_params, block_m) F(llrt_tensor_memory_params, block_n) \
    F(llrt_tensor_memory_params, col_stride) F(llrt_tensor_memory_params, two_ctas) \
    F(llrt_tensor_memory_params, fp4_padded) F(llrt_tensor_memory_params, cluster)) \
  S(llrt_tensor_promise, F(llrt_tensor_promise, address) F(llrt_tensor_promise, shape) \
    F(llrt_tensor_promise, stride) F(llrt_tensor_promise, index) \
    F(llrt_tensor_promise, reserved)) \
  S(llrt_tune_candidate, F(llrt_tune_candidate, size) F(llrt_tune_candidate, choice) \
    F(llrt_tune_candidate, why) F(llrt_tune_candidate, predicted_us) \
    F(llrt_tune_candidate, measured_us) F(llrt_tune_candidate, planned_us) \
    F(llrt_tune_candidate, state) F(llrt_tune_candidate, reserved)) \
  S(llrt_view, F(llrt_view, tensor) F(llrt_view, indices))
/* clang-format on */

#endif
