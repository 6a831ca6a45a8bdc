/* X(function, arguments): every public function that can fail, and arguments that it refuses: all
 * zero. Which functions those are, test_messages.c reads in the headers. */
#ifndef LLRT_TESTS_RUNTIME_PUBLIC_FUNCTIONS_H
#define LLRT_TESTS_RUNTIME_PUBLIC_FUNCTIONS_H

#define PUBLIC_FUNCTIONS(X) \
  X(llrt_comm_signal_bytes, (0, 0)) \
  X(llrt_comm_create, (0, 0, 0)) \
  X(llrt_comm_status, (0, 0)) \
  X(llrt_device_reach_peer, (0, 0)) \
  X(llrt_memory_create_shared, (0, 0, 0)) \
  X(llrt_shared_get, (0, 0, 0)) \
  X(llrt_shared_export, (0, 0, 0)) \
  X(llrt_memory_export, (0, 0, 0, 0)) \
  X(llrt_memory_import, (0, 0, 0, 0)) \
  X(llrt_reshard_prepare, (0, 0, 0, 0)) \
  X(llrt_reshard_run, (0, 0, 0, 0)) \
  X(llrt_reshard_run_in, (0, 0, 0, 0, 0)) \
  X(llrt_reshard_run_with, (0, 0, 0)) \
  X(llrt_reshard_into, (0, 0, 0, 0)) \
  X(llrt_reshard_save, (0, 0, 0)) \
  X(llrt_reshard_load, (0, 0, 0, 0, 0)) \
  X(llrt_reshard_get, (0, 0)) \
  X(llrt_nccl_id_create, (0, 0, 0)) \
  X(llrt_reshard_move, (0, 0, 0, 0)) \
  X(llrt_comm_barrier, (0, 0)) \
  X(llrt_reshard_explain, (0, 0, 0, 0, 0, 0)) \
  X(llrt_mesh_validate, (0)) \
  X(llrt_mesh_position, (0, 0, 0)) \
  X(llrt_mesh_device, (0, 0, 0)) \
  X(llrt_mesh_parse, (0, 0)) \
  X(llrt_mesh_print, (0, 0, 0, 0)) \
  X(llrt_sharding_validate, (0)) \
  X(llrt_sharding_part, (0, 0, 0, 0)) \
  X(llrt_sharding_find, (0, 0, 0, 0, 0, 0)) \
  X(llrt_sharding_storage, (0, 0, 0)) \
  X(llrt_sharding_parse, (0, 0, 0, 0, 0)) \
  X(llrt_sharding_print, (0, 0, 0, 0)) \
  X(llrt_sharding_from_placements, (0, 0, 0, 0)) \
  X(llrt_sharding_to_placements, (0, 0)) \
  X(llrt_dtype_from_dlpack, (0, 0, 0, 0, 0)) \
  X(llrt_dtype_to_dlpack, (0, 0, 0)) \
  X(llrt_tensor_from_dlpack, (0, 0, 0, 0, 0)) \
  X(llrt_tensor_to_dlpack, (0, 0, 0, 0, 0)) \
  X(llrt_layout_add_in, (0, 0, 0)) \
  X(llrt_layout_add_out, (0, 0, 0)) \
  X(llrt_layout_set_basis, (0, 0, 0, 0)) \
  X(llrt_layout_strided1d, (0, 0, 0, 0, 0)) \
  X(llrt_layout_zeros1d, (0, 0, 0, 0, 0)) \
  X(llrt_layout_free_variable_masks, (0, 0)) \
  X(llrt_layout_apply, (0, 0, 0)) \
  X(llrt_layout_parse, (0, 0, 0, 0)) \
  X(llrt_layout_print, (0, 0, 0, 0)) \
  X(llrt_layout_compose, (0, 0, 0)) \
  X(llrt_layout_product, (0, 0, 0)) \
  X(llrt_layout_solve, (0, 0, 0)) \
  X(llrt_layout_right_inverse, (0, 0)) \
  X(llrt_layout_pseudoinvert, (0, 0)) \
  X(llrt_layout_invert, (0, 0)) \
  X(llrt_layout_invert_and_compose, (0, 0, 0)) \
  X(llrt_layout_invert_and_compose_block_local, (0, 0, 0)) \
  X(llrt_layout_divide_left, (0, 0, 0)) \
  X(llrt_layout_divide_right, (0, 0, 0)) \
  X(llrt_layout_quotient, (0, 0, 0, 0)) \
  X(llrt_layout_repetitions, (0, 0, 0)) \
  X(llrt_layout_sublayout, (0, 0, 0, 0, 0, 0)) \
  X(llrt_layout_transpose_ins, (0, 0, 0, 0)) \
  X(llrt_layout_transpose_outs, (0, 0, 0, 0)) \
  X(llrt_layout_flatten_ins, (0, 0, 0)) \
  X(llrt_layout_flatten_outs, (0, 0, 0)) \
  X(llrt_layout_reshape_ins, (0, 0, 0, 0)) \
  X(llrt_layout_reshape_outs, (0, 0, 0, 0)) \
  X(llrt_layout_rename_ins, (0, 0, 0, 0, 0)) \
  X(llrt_layout_rename_outs, (0, 0, 0, 0, 0)) \
  X(llrt_layout_squeeze_in, (0, 0, 0)) \
  X(llrt_layout_squeeze_out, (0, 0, 0)) \
  X(llrt_layout_concat_ins, (0, 0, 0)) \
  X(llrt_layout_concat_outs, (0, 0, 0)) \
  X(llrt_layout_resize_in, (0, 0, 0, 0)) \
  X(llrt_layout_resize_out, (0, 0, 0, 0)) \
  X(llrt_layout_remove_zero_bases, (0, 0, 0)) \
  X(llrt_layout_select_bases, (0, 0, 0, 0, 0)) \
  X(llrt_layout_identity_nd, (0, 0, 0, 0, 0)) \
  X(llrt_layout_input_mask, (0, 0, 0, 0, 0)) \
  X(llrt_layout_output_mask, (0, 0, 0, 0, 0)) \
  X(llrt_layout_contiguous, (0, 0, 0, 0, 0, 0)) \
  X(llrt_layout_identity_prefix, (0, 0, 0, 0, 0)) \
  X(llrt_layout_common_vector, (0, 0, 0, 0, 0)) \
  X(llrt_layout_vector_width, (0, 0, 0, 0)) \
  X(llrt_layout_bank_conflicts, (0, 0, 0, 0, 0)) \
  X(llrt_layout_conversion, (0, 0, 0, 0)) \
  X(llrt_layout_blocked, (0, 0, 0)) \
  X(llrt_layout_nvmma, (0, 0, 0)) \
  X(llrt_layout_mfma, (0, 0, 0)) \
  X(llrt_layout_wmma, (0, 0, 0)) \
  X(llrt_layout_slice, (0, 0, 0, 0)) \
  X(llrt_layout_dot, (0, 0, 0, 0)) \
  X(llrt_layout_swizzled_shared, (0, 0, 0)) \
  X(llrt_layout_rotating_shared, (0, 0, 0)) \
  X(llrt_layout_nvmma_shared, (0, 0, 0)) \
  X(llrt_layout_tensor_memory, (0, 0, 0)) \
  X(llrt_layout_tensor_memory_scales, (0, 0, 0, 0)) \
  X(llrt_matrix_storage, (0, 0, 0, 0)) \
  X(llrt_matrix_match, (0, 0, 0, 0, 0)) \
  X(llrt_matrix_match_layout, (0, 0, 0)) \
  X(llrt_matrix_descriptor, (0, 0, 0)) \
  X(llrt_storage_row_major, (0, 0)) \
  X(llrt_storage_col_major, (0, 0)) \
  X(llrt_storage_strided, (0, 0, 0)) \
  X(llrt_storage_from_layout, (0, 0)) \
  X(llrt_storage_tiled, (0, 0, 0)) \
  X(llrt_storage_validate, (0)) \
  X(llrt_storage_bind, (0, 0, 0, 0, 0)) \
  X(llrt_storage_bytes, (0, 0, 0)) \
  X(llrt_storage_same_bytes, (0, 0, 0, 0, 0, 0, 0)) \
  X(llrt_storage_parse, (0, 0, 0, 0)) \
  X(llrt_storage_print, (0, 0, 0, 0)) \
  X(llrt_storage_named, (0, 0, 0, 0, 0, 0)) \
  X(llrt_storage_onednn, (0, 0, 0, 0, 0, 0)) \
  X(llrt_storage_padded_shared, (0, 0, 0)) \
  X(llrt_tirx_admits, (0, 0, 0)) \
  X(llrt_tirx_group, (0, 0, 0, 0)) \
  X(llrt_storage_places, (0, 0, 0, 0, 0, 0)) \
  X(llrt_storage_find, (0, 0, 0, 0, 0, 0, 0, 0)) \
  X(llrt_storage_to_layout, (0, 0, 0, 0)) \
  X(llrt_dtype_parse, (0, 0)) \
  X(llrt_tensor_bytes, (0, 0)) \
  X(llrt_context_create, (0, 0)) \
  X(llrt_context_set_compile, (0, 0)) \
  X(llrt_context_set_log_level, (0, 0)) \
  X(llrt_context_trim, (0, 0)) \
  X(llrt_device_open, (0, 0, 0, 0)) \
  X(llrt_device_get_info, (0, 0)) \
  X(llrt_device_enumerate, (0, 0, 0)) \
  X(llrt_memory_allocate, (0, 0, 0)) \
  X(llrt_memory_free, (0, 0)) \
  X(llrt_memory_copy, (0, 0, 0, 0, 0, 0)) \
  X(llrt_memory_set, (0, 0, 0, 0, 0)) \
  X(llrt_memory_pin, (0, 0, 0)) \
  X(llrt_memory_unpin, (0, 0)) \
  X(llrt_stream_synchronize, (0, 0)) \
  X(llrt_stream_is_capturing, (0, 0, 0)) \
  X(llrt_event_create, (0, 0)) \
  X(llrt_event_record, (0, 0)) \
  X(llrt_event_elapsed, (0, 0, 0)) \
  X(llrt_convert_into, (0, 0, 0, 0)) \
  X(llrt_convert, (0, 0, 0, 0, 0)) \
  X(llrt_tensor_free, (0, 0)) \
  X(llrt_gather_view, (0, 0, 0, 0, 0)) \
  X(llrt_gather_into, (0, 0, 0, 0, 0, 0)) \
  X(llrt_gather, (0, 0, 0, 0, 0, 0, 0)) \
  X(llrt_scatter_into, (0, 0, 0, 0, 0, 0)) \
  X(llrt_reduce_into, (0, 0, 0, 0)) \
  X(llrt_reduce, (0, 0, 0, 0, 0)) \
  X(llrt_reduce_keep_axes, (0, 0, 0, 0, 0)) \
  X(llrt_scan_into, (0, 0, 0, 0)) \
  X(llrt_scan, (0, 0, 0, 0, 0)) \
  X(llrt_dot_result, (0, 0, 0, 0)) \
  X(llrt_dot_describe, (0, 0, 0, 0, 0)) \
  X(llrt_dot_into, (0, 0, 0, 0, 0)) \
  X(llrt_dot, (0, 0, 0, 0, 0, 0)) \
  X(llrt_dot_scale_range, (0, 0, 0, 0)) \
  X(llrt_dot_pack, (0, 0, 0, 0)) \
  X(llrt_op_promise_coarse, (0)) \
  X(llrt_op_prepare, (0, 0, 0)) \
  X(llrt_op_prepare_with, (0, 0, 0, 0)) \
  X(llrt_op_choice_print, (0, 0, 0, 0, 0, 0)) \
  X(llrt_op_workspace, (0, 0, 0, 0)) \
  X(llrt_op_run, (0, 0, 0, 0, 0)) \
  X(llrt_op_save, (0, 0, 0)) \
  X(llrt_op_load, (0, 0, 0, 0)) \
  X(llrt_op_compile, (0, 0, 0, 0, 0, 0)) \
  X(llrt_op_desc_hash, (0, 0, 0)) \
  X(llrt_op_desc_print, (0, 0, 0, 0)) \
  X(llrt_context_get_cache_stats, (0, 0)) \
  X(llrt_expr_parse, (0, 0)) \
  X(llrt_expr_print, (0, 0, 0, 0)) \
  X(llrt_compute_into, (0, 0, 0, 0, 0)) \
  X(llrt_compute_describe, (0, 0, 0, 0, 0)) \
  X(llrt_compute_result, (0, 0, 0, 0, 0)) \
  X(llrt_kernel_inspect, (0, 0, 0, 0)) \
  X(llrt_cache_default_dir, (0, 0)) \
  X(llrt_context_get_stats, (0, 0)) \
  X(llrt_cache_visit, (0, 0, 0)) \
  X(llrt_cache_clear, (0, 0, 0)) \
  X(llrt_cache_export, (0, 0, 0)) \
  X(llrt_cache_import, (0, 0, 0)) \
  X(llrt_struct_get_info, (0, 0)) \
  X(llrt_recipe_load, (0, 0, 0)) \
  X(llrt_recipe_load_named, (0, 0)) \
  X(llrt_recipe_print, (0, 0, 0, 0)) \
  X(llrt_recipe_bind, (0, 0, 0, 0, 0, 0)) \
  X(llrt_repack_get_info, (0, 0)) \
  X(llrt_repack_print, (0, 0, 0, 0)) \
  X(llrt_repack_run, (0, 0, 0, 0, 0)) \
  X(llrt_repack_run_step, (0, 0, 0, 0, 0, 0))

#endif
