/* Device memory in the order of streams, for drivers that have none (before CUDA 11.2 and
 * ROCm 5.2): blocks of the driver's plain memory, which are kept when they are released, each with
 * an event behind the work that may still use it. A block is used again at once on the stream that
 * released it, behind that event, and elsewhere when the event has passed. So neither asks the
 * driver for memory, nor waits, once blocks are there. */
#ifndef LLRT_RUNTIME_BLOCK_POOL_H
#define LLRT_RUNTIME_BLOCK_POOL_H

#include <llrt/device.h>

#include <pthread.h>

typedef struct pool_block pool_block;

/* Of a context, for all its devices. */
typedef struct block_pool {
  pthread_mutex_t mutex;
  pool_block *first; /* list of all blocks, given out and kept */
} block_pool;

void llrt_block_pool_init(block_pool *pool);
/* Precondition: all devices are closed. */
void llrt_block_pool_fini(block_pool *pool);

/* Memory of `bytes` bytes for work that is queued on `stream` after the call. Precondition: the
 * stream does not capture. Errors: OUT_OF_MEMORY, when all that is kept has been given back;
 * DEVICE. */
llrt_status llrt_block_pool_allocate(block_pool *pool, llrt_device *device, size_t bytes,
                                     void *stream, void **memory);

/* Gives memory back, which work queued on `stream` may still use. Memory that the pool has not
 * given out goes back to the driver. Errors: INVALID_ARGUMENT for memory that was released before;
 * UNSUPPORTED on a capturing stream, whose graph would go on using it: the memory is still the
 * caller's then; DEVICE. */
llrt_status llrt_block_pool_release(block_pool *pool, llrt_device *device, void *memory,
                                    void *stream);

/* Gives kept blocks of the device back to the driver until keep_bytes are left. Precondition: the
 * device has finished its work. */
void llrt_block_pool_trim(block_pool *pool, llrt_device *device, size_t keep_bytes);

/* Gives all blocks of a device back to the driver, also those that are given out. Precondition: the
 * device is being closed and has finished its work. */
void llrt_block_pool_drop_device(block_pool *pool, llrt_device *device);

#endif
