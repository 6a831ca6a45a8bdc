/* Kernels as bytes: what llrt_op_save writes and llrt_op_load reads. docs/kernel-format.md has the
 * format. */
#ifndef LLRT_RUNTIME_KERNEL_BYTES_H
#define LLRT_RUNTIME_KERNEL_BYTES_H

#include "base/text.h"
#include "jit/plan/plan.h"
#include "runtime/storage_set.h"

/* One variant of an operation: launch recipe and code. */
typedef struct kernel_variant {
  plan_launch launch;
  void *code; /* malloc'ed, followed by a zero byte; NULL: not compiled */
  size_t size;
  bool linked; /* the backend's link has been over it */
} kernel_variant;

/* Everything that saved bytes hold. */
typedef struct kernel_image {
  char target[32];
  llrt_op_desc desc; /* of the tensors, dtypes alone */
  storage_set set;
  int32_t n_variants;
  kernel_variant variant[PLAN_MAX_VARIANTS];
} kernel_image;

/* Appends the bytes of an operation. desc's storages count as set gives them. */
llrt_status llrt_kernel_bytes_write(const char *target, const llrt_op_desc *desc,
                                    const storage_set *set, const kernel_variant *variants,
                                    int n_variants, llrt_text *bytes);

/* Reads bytes back; trusts nothing in them but code whose checksum holds. Ownership: release with
 * llrt_kernel_image_fini. Errors: CORRUPT with *image empty. */
llrt_status llrt_kernel_bytes_read(const void *bytes, size_t size, kernel_image *image);
void llrt_kernel_image_fini(kernel_image *image);

#endif
