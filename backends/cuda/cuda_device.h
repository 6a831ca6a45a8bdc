/* The CUDA backend's own pieces: the driver's functions, a device, and what its files share. */
#ifndef LLRT_BACKENDS_CUDA_DEVICE_H
#define LLRT_BACKENDS_CUDA_DEVICE_H

#include "backends/backend.h"
#include "backends/cuda/cuda_symbols.h"
#include "base/library.h"

/* Every device keeps its own table; the loader counts the opens of the one library behind them. */
typedef struct cuda_driver {
  llrt_library library;
#define CUDA_FIELD(required, name, arguments) cuda_result(*name) arguments;
  CUDA_SYMBOLS(CUDA_FIELD)
#undef CUDA_FIELD
} cuda_driver;

typedef struct cuda_device {
  llrt_device base;
  cuda_driver driver;
  cuda_ordinal ordinal;
  void *context;
  bool primary;        /* context is the retained primary one, not the caller's */
  bool launches_early; /* the driver knows of programmatic dependencies, the target of waiting for
                          them */
  bool reaches_all;    /* memory that the driver does not know, too */
  void *pool; /* stream-ordered memory of this device's own; NULL where the driver has none */
} cuda_device;

/* Loads libcuda and initialises it; path NULL: its usual names. Errors: UNAVAILABLE. */
llrt_status llrt_cuda_driver_load(const char *path, cuda_driver *driver);
void llrt_cuda_driver_unload(cuda_driver *driver);

/* OK for result 0; else DEVICE (OUT_OF_MEMORY, for that) with the driver's words and code. */
llrt_status llrt_cuda_check(const cuda_driver *driver, cuda_result result, const char *function);
#define CUDA_CALL(driver, function, ...) \
  llrt_cuda_check(driver, (driver)->function(__VA_ARGS__), #function)

static inline const cuda_device *cuda_device_of(const llrt_device *base) {
  return (const cuda_device *)base;
}

/* Makes the device's context current on this thread; every OK enter is followed by one leave, which
 * passes the status of the work between them through. What was made between them goes where leave
 * fails; what is given back is given back though enter fails, which the driver may refuse. */
llrt_status llrt_cuda_enter(const cuda_device *device);
llrt_status llrt_cuda_leave(const cuda_device *device, llrt_status status);

/* Between these two the thread may allocate, free, load and unload although some thread captures:
 * by the preset of captures (CU_STREAM_CAPTURE_MODE_GLOBAL) such a call of any thread fails and
 * breaks the capture, in case it depends on work that is only being recorded. None of llrt's does.
 * relax returns what restore takes. */
int llrt_cuda_relax(const cuda_driver *driver);
void llrt_cuda_restore(const cuda_driver *driver, int mode);

/* enter with relax, restore with leave. */
llrt_status llrt_cuda_enter_relaxed(const cuda_device *device, int *mode);
llrt_status llrt_cuda_leave_relaxed(const cuda_device *device, int mode, llrt_status status);

/* The functions of llrt_backend_cuda, by file: cuda_device.c */
llrt_status llrt_cuda_count(const char *library, int *count);
llrt_status llrt_cuda_open(int ordinal, const backend_open_params *params, llrt_device **out);
void llrt_cuda_close(llrt_device *base);

/* cuda_memory.c */
llrt_status llrt_cuda_allocate(llrt_device *base, size_t bytes, void **memory);
llrt_status llrt_cuda_release(llrt_device *base, void *memory);
llrt_status llrt_cuda_copy(llrt_device *base, void *destination, const void *source, size_t bytes,
                           llrt_copy_kind kind, void *stream);
llrt_status llrt_cuda_set(llrt_device *base, void *memory, int value, size_t bytes, void *stream);
llrt_status llrt_cuda_pin(llrt_device *base, void *memory, size_t bytes);
llrt_status llrt_cuda_unpin(llrt_device *base, void *memory);
llrt_status llrt_cuda_synchronize(llrt_device *base, void *stream);
llrt_status llrt_cuda_stream_state(llrt_device *base, void *stream, backend_stream *state);

llrt_status llrt_cuda_reaches(llrt_device *base, const void *address, bool *reached);

/* cuda_pool.c */
void llrt_cuda_pool_open(cuda_device *device);
void llrt_cuda_pool_close(cuda_device *device);
bool llrt_cuda_orders_memory(const llrt_device *base);
llrt_status llrt_cuda_allocate_on(llrt_device *base, size_t bytes, void *stream, void **memory);
llrt_status llrt_cuda_release_on(llrt_device *base, void *memory, void *stream);
llrt_status llrt_cuda_trim(llrt_device *base, size_t keep_bytes);

/* cuda_event.c */
llrt_status llrt_cuda_event_create(llrt_device *base, backend_event **event);
void llrt_cuda_event_destroy(llrt_device *base, backend_event *event);
llrt_status llrt_cuda_event_record(llrt_device *base, backend_event *event, void *stream);
llrt_status llrt_cuda_event_elapsed(llrt_device *base, const backend_event *start,
                                    const backend_event *stop, double *microseconds);
llrt_status llrt_cuda_event_done(llrt_device *base, const backend_event *event, bool *done);
llrt_status llrt_cuda_event_wait(llrt_device *base, const backend_event *event, void *stream);

/* cuda_stream.c */
llrt_status llrt_cuda_stream_create(llrt_device *base, void **stream);
void llrt_cuda_stream_destroy(llrt_device *base, void *stream);
llrt_status llrt_cuda_enter_device(llrt_device *base, int *entry);
llrt_status llrt_cuda_leave_device(llrt_device *base, int entry, llrt_status status);

/* cuda_module.c */
llrt_status llrt_cuda_link(llrt_device *base, const void *code, size_t size, void **linked,
                           size_t *linked_size);
llrt_status llrt_cuda_load(llrt_device *base, const backend_code *code, backend_module **module);
void llrt_cuda_unload(llrt_device *base, backend_module *module);
llrt_status llrt_cuda_launch(llrt_device *base, const backend_module *module,
                             const backend_launch *launch, void *stream);

/* cuda_sharing.c */
extern const backend_sharing llrt_cuda_sharing;

/* cuda_meet.c */
llrt_status llrt_cuda_meet_load(llrt_device *base, backend_module **module);
llrt_status llrt_cuda_meet(llrt_device *base, const backend_module *module,
                           const backend_meet *meet, void *stream);
llrt_status llrt_cuda_note_create(llrt_device *base, uint64_t **note);
void llrt_cuda_note_destroy(llrt_device *base, uint64_t *note);
llrt_status llrt_cuda_reach_peer(llrt_device *base, llrt_device *peer);

#endif
