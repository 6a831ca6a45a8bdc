/* CUDA kernels given as PTX text and launched through the driver alone, beside llrt's own. Every
 * failure ends the program. */
#ifndef LLRT_BENCHMARKS_PTX_KERNEL_H
#define LLRT_BENCHMARKS_PTX_KERNEL_H

typedef struct ptx_kernel ptx_kernel;

/* Loads `entry` of the text on device "cuda:N", in the primary context, which is current on this
 * thread until ptx_kernel_destroy. */
ptx_kernel *ptx_kernel_create(const char *device_name, const char *ptx, const char *entry);
void ptx_kernel_destroy(ptx_kernel *kernel);

/* Queues `blocks` blocks of `threads` threads on a stream; NULL: the default one. parameters[i] is
 * the address of parameter i. */
void ptx_kernel_launch(const ptx_kernel *kernel, unsigned blocks, unsigned threads,
                       void **parameters, void *stream);

#endif
