/* Kernels as bytes: what llrt_op_save writes and llrt_op_load reads. docs/kernel-format.md has the
 * format. */
#ifndef LLRT_RUNTIME_KERNEL_BYTES_H
#define LLRT_RUNTIME_KERNEL_BYTES_H

#include "base/text.h"
#include "jit/plan/kernel/plan.h"
#include "runtime/storage_set.h"

/* One variant of an operation: launch recipe and code. */
typedef struct kernel_variant {
  plan_launch launch;
  double clocks; /* predicted, for each byte (plan_predict_clocks) */
  void *code;    /* as the compiler made it: any device of the target takes it. malloc'ed, followed
                    by a zero byte; NULL: not compiled */
  size_t size;
  void *linked; /* what a driver made of it for devices of one capability; malloc'ed; NULL: nothing
                   is linked */
  size_t linked_size;
  int32_t capability; /* of `linked`: as in device_facts */
} kernel_variant;

void llrt_kernel_variant_fini(kernel_variant *variant);

/* Everything that saved bytes hold. */
typedef struct kernel_image {
  char target[32];
  device_facts facts;  /* that it was planned for */
  op_description desc; /* of the tensors, dtypes alone */
  storage_set set;
  int32_t n_variants;
  kernel_variant *variant;
} kernel_image;

/* The first numbers of saved bytes. */
typedef struct kernel_head {
  int64_t format;
  uint64_t size; /* of all bytes */
  char version[32];
} kernel_head;

/* Appends the bytes of an operation. desc's storages count as set gives them. */
llrt_status llrt_kernel_bytes_write(const plan_target *target, const op_description *desc,
                                    const storage_set *set, const kernel_variant *variants,
                                    int n_variants, llrt_text *bytes);

/* Reads bytes back; trusts nothing in them but code whose checksum holds. Ownership: release with
 * llrt_kernel_image_fini. Errors: CORRUPT with *image empty. */
llrt_status llrt_kernel_bytes_read(const void *bytes, size_t size, kernel_image *image);
void llrt_kernel_image_fini(kernel_image *image);

/* The head alone. Errors: CORRUPT where the bytes are no whole saved kernel of any format: damaged,
 * truncated, something else. */
llrt_status llrt_kernel_head_read(const void *bytes, size_t size, kernel_head *head);
/* Whether this library reads the head's format. */
bool llrt_kernel_format_is_own(const kernel_head *head);

#endif
