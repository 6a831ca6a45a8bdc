/* Bytes of each struct that begins with its size, as its first version had it (64-bit platforms):
 * what a size of 0 stands for. A field that is added leaves its struct's number alone; a new
 * struct's number is its first size. */
#ifndef LLRT_BASE_PARAMS_SIZES_H
#define LLRT_BASE_PARAMS_SIZES_H

#define LLRT_FIRST_SIZE(type) LLRT_FIRST_SIZE_##type

/* ---- of 0.2 ---- */

#define LLRT_FIRST_SIZE_llrt_amd_mma_params 336
#define LLRT_FIRST_SIZE_llrt_bank_params 24
#define LLRT_FIRST_SIZE_llrt_bank_report 32
#define LLRT_FIRST_SIZE_llrt_blocked_params 400
#define LLRT_FIRST_SIZE_llrt_cache_entry 80
#define LLRT_FIRST_SIZE_llrt_cache_params 48
#define LLRT_FIRST_SIZE_llrt_cache_stats 32
#define LLRT_FIRST_SIZE_llrt_compile_event 48
#define LLRT_FIRST_SIZE_llrt_comm_params 56
#define LLRT_FIRST_SIZE_llrt_context_params 128
#define LLRT_FIRST_SIZE_llrt_context_stats 96
#define LLRT_FIRST_SIZE_llrt_convert_params 32
#define LLRT_FIRST_SIZE_llrt_device_info 192
#define LLRT_FIRST_SIZE_llrt_device_params 32
#define LLRT_FIRST_SIZE_llrt_dot_operand_params 72
#define LLRT_FIRST_SIZE_llrt_dot_pack_params 48
#define LLRT_FIRST_SIZE_llrt_dot_packing 4904
#define LLRT_FIRST_SIZE_llrt_dot_params 272
#define LLRT_FIRST_SIZE_llrt_gather_params 32
#define LLRT_FIRST_SIZE_llrt_kernel_info 272
#define LLRT_FIRST_SIZE_llrt_nvmma_params 304
#define LLRT_FIRST_SIZE_llrt_nvmma_shared_params 184
#define LLRT_FIRST_SIZE_llrt_op_desc 232
#define LLRT_FIRST_SIZE_llrt_compute_params 16
#define LLRT_FIRST_SIZE_llrt_padded_params 344
#define LLRT_FIRST_SIZE_llrt_prepare_params 48
#define LLRT_FIRST_SIZE_llrt_recipe_params 40
#define LLRT_FIRST_SIZE_llrt_reduce_params 40
#define LLRT_FIRST_SIZE_llrt_repack_info 48
#define LLRT_FIRST_SIZE_llrt_reshard_desc 64
#define LLRT_FIRST_SIZE_llrt_reshard_info 48
#define LLRT_FIRST_SIZE_llrt_reshard_run_params 80
#define LLRT_FIRST_SIZE_llrt_run_params 40
#define LLRT_FIRST_SIZE_llrt_scan_params 32
#define LLRT_FIRST_SIZE_llrt_slice_params 64
#define LLRT_FIRST_SIZE_llrt_struct_info 48
#define LLRT_FIRST_SIZE_llrt_swizzle_params 232
#define LLRT_FIRST_SIZE_llrt_tensor_memory_params 184

#endif
