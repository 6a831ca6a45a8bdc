/* An empty CUDA kernel launched through the driver alone: the floor that launch costs are compared
 * with. */
#ifndef LLRT_BENCHMARKS_EMPTY_KERNEL_H
#define LLRT_BENCHMARKS_EMPTY_KERNEL_H

#include "ptx_kernel.h"

/* Ownership: ptx_kernel_destroy. */
ptx_kernel *empty_kernel_create(const char *device_name);

/* Queues one block of 128 threads on a stream; NULL: the default one. */
void empty_kernel_launch(const ptx_kernel *kernel, void *stream);

#endif
