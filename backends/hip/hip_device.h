/* The HIP backend's own pieces: the runtime's functions, a device, and what its files share. */
#ifndef LLRT_BACKENDS_HIP_DEVICE_H
#define LLRT_BACKENDS_HIP_DEVICE_H

#include "backends/backend.h"
#include "backends/hip/hip_symbols.h"
#include "base/library.h"

/* Every device keeps its own table; the loader counts the opens of the one library behind them. */
typedef struct hip_driver {
  llrt_library library;
#define HIP_FIELD(required, type, name, arguments) type(*name) arguments;
  HIP_SYMBOLS(HIP_FIELD)
#undef HIP_FIELD
} hip_driver;

typedef struct hip_device {
  llrt_device base;
  hip_driver driver;
  int ordinal;
  bool reaches_all; /* kernels read the host's own memory, or the runtime cannot tell what is */
  void *pool; /* stream-ordered memory of this device's own; NULL where the runtime has none */
} hip_device;

/* Loads libamdhip64; path NULL: its usual names. Errors: UNAVAILABLE. */
llrt_status llrt_hip_driver_load(const char *path, hip_driver *driver);
void llrt_hip_driver_unload(hip_driver *driver);

/* Number of devices: 0, and no error, where the library finds no AMD GPU. */
llrt_status llrt_hip_driver_count(const hip_driver *driver, int *count);

/* OK for result 0; else DEVICE (OUT_OF_MEMORY, for that) with the library's words and code. */
llrt_status llrt_hip_check(const hip_driver *driver, hip_result result, const char *function);
#define HIP_CALL(driver, function, ...) \
  llrt_hip_check(driver, (driver)->function(__VA_ARGS__), #function)

static inline const hip_device *hip_device_of(const llrt_device *base) {
  return (const hip_device *)base;
}

/* HIP has one current device a thread. enter makes this one current and says in *previous which
 * was; every OK enter is followed by one leave, which passes the status of the work between
 * through. As with CUDA, what was made goes where leave fails, and what is given back is so though
 * enter fails. */
llrt_status llrt_hip_enter(const hip_device *device, int *previous);
llrt_status llrt_hip_leave(const hip_device *device, int previous, llrt_status status);

/* enter and leave, between which the thread may allocate, free, load and unload although some
 * thread captures: by the preset of captures (hipStreamCaptureModeGlobal) such a call of any thread
 * fails and breaks the capture, in case it depends on work that is only being recorded. None of
 * llrt's does. */
typedef struct hip_entry {
  int previous, mode; /* the current device; the capture mode, or -1: it was left as it is */
} hip_entry;
llrt_status llrt_hip_enter_relaxed(const hip_device *device, hip_entry *entry);
llrt_status llrt_hip_leave_relaxed(const hip_device *device, hip_entry entry, llrt_status status);

/* The functions of llrt_backend_hip, by file: hip_device.c */
llrt_status llrt_hip_count(const char *library, int *count);
llrt_status llrt_hip_open(int ordinal, const backend_open_params *params, llrt_device **out);
void llrt_hip_close(llrt_device *base);

/* hip_memory.c */
llrt_status llrt_hip_allocate(llrt_device *base, size_t bytes, void **memory);
llrt_status llrt_hip_release(llrt_device *base, void *memory);
llrt_status llrt_hip_copy(llrt_device *base, void *destination, const void *source, size_t bytes,
                          llrt_copy_kind kind, void *stream);
llrt_status llrt_hip_set(llrt_device *base, void *memory, int value, size_t bytes, void *stream);
llrt_status llrt_hip_pin(llrt_device *base, void *memory, size_t bytes);
llrt_status llrt_hip_unpin(llrt_device *base, void *memory);
llrt_status llrt_hip_synchronize(llrt_device *base, void *stream);
llrt_status llrt_hip_stream_state(llrt_device *base, void *stream, backend_stream *state);
llrt_status llrt_hip_reaches(llrt_device *base, const void *address, bool *reached);

/* hip_pool.c */
void llrt_hip_pool_open(hip_device *device);
void llrt_hip_pool_close(hip_device *device);
bool llrt_hip_orders_memory(const llrt_device *base);
llrt_status llrt_hip_allocate_on(llrt_device *base, size_t bytes, void *stream, void **memory);
llrt_status llrt_hip_release_on(llrt_device *base, void *memory, void *stream);
llrt_status llrt_hip_trim(llrt_device *base, size_t keep_bytes);

/* hip_event.c */
llrt_status llrt_hip_event_create(llrt_device *base, backend_event **event);
void llrt_hip_event_destroy(llrt_device *base, backend_event *event);
llrt_status llrt_hip_event_record(llrt_device *base, backend_event *event, void *stream);
llrt_status llrt_hip_event_elapsed(llrt_device *base, const backend_event *start,
                                   const backend_event *stop, double *microseconds);
llrt_status llrt_hip_event_done(llrt_device *base, const backend_event *event, bool *done);
llrt_status llrt_hip_event_wait(llrt_device *base, const backend_event *event, void *stream);

/* hip_stream.c */
llrt_status llrt_hip_stream_create(llrt_device *base, void **stream);
void llrt_hip_stream_destroy(llrt_device *base, void *stream);
llrt_status llrt_hip_enter_device(llrt_device *base, int *entry);
llrt_status llrt_hip_leave_device(llrt_device *base, int entry, llrt_status status);

/* hip_module.c */
llrt_status llrt_hip_load(llrt_device *base, const backend_code *code, backend_module **module);
void llrt_hip_unload(llrt_device *base, backend_module *module);
llrt_status llrt_hip_launch(llrt_device *base, const backend_module *module,
                            const backend_launch *launch, void *stream);

/* hip_meet.c */
llrt_status llrt_hip_meet_load(llrt_device *device, backend_module **module);
llrt_status llrt_hip_meet(llrt_device *device, const backend_module *module,
                          const backend_meet *meet, void *stream);
llrt_status llrt_hip_note_create(llrt_device *base, uint64_t **note);
void llrt_hip_note_destroy(llrt_device *base, uint64_t *note);
llrt_status llrt_hip_reach_peer(llrt_device *base, llrt_device *other);

#endif
