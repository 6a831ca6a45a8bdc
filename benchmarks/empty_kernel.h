/* An empty CUDA kernel launched through the driver alone: the floor that launch costs are compared
 * with. Every failure ends the program. */
#ifndef LLRT_BENCHMARKS_EMPTY_KERNEL_H
#define LLRT_BENCHMARKS_EMPTY_KERNEL_H

typedef struct empty_kernel empty_kernel;

/* Loads it on device "cuda:N", in the primary context, which is current on this thread until
 * empty_kernel_destroy. */
empty_kernel *empty_kernel_create(const char *device_name);
void empty_kernel_destroy(empty_kernel *kernel);

/* Queues one block of 128 threads on a stream; NULL: the default one. */
void empty_kernel_launch(const empty_kernel *kernel, void *stream);

#endif
