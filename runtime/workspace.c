#include "runtime/workspace.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"

#include <stdlib.h>

#define MAX_KEPT 64 /* streams of a context that have workspace */
#define MAX_KEPT_BYTES \
  (64 << 20) /* of one; calls that need more are long, and the driver's pool keeps it */
#define ROUND_BYTES (64 << 10)

/* Memory of one kind that an entry holds. */
typedef struct kept_memory {
  void *memory;
  size_t bytes;
} kept_memory;

struct kept_workspace {
  kept_workspace *next;
  llrt_device *device;
  void *stream;
  uint64_t stream_id;       /* a handle that is used again for another stream has another one */
  pthread_mutex_t borrowed; /* held from take to return */
  kept_memory zeroed, rest;
  size_t unclean; /* bytes at the beginning of `zeroed` that may not be zero */
};

void llrt_workspace_keeper_init(workspace_keeper *keeper) {
  keeper->first = NULL;
  pthread_mutex_init(&keeper->mutex, NULL);
}

void llrt_workspace_keeper_fini(workspace_keeper *keeper) { pthread_mutex_destroy(&keeper->mutex); }

/* ---- entries ---- */

static void release(llrt_device *device, kept_memory *kept, void *stream) {
  if (kept->memory) llrt_context_release(device, kept->memory, stream);
  *kept = (kept_memory){0};
}

static kept_workspace *add_entry(workspace_keeper *keeper, llrt_device *device, void *stream,
                                 uint64_t id) {
  kept_workspace *entry = memory_zeroed(1, sizeof *entry);
  if (!entry) return NULL;
  entry->device = device;
  entry->stream = stream;
  entry->stream_id = id;
  pthread_mutex_init(&entry->borrowed, NULL);
  entry->next = keeper->first;
  keeper->first = entry;
  return entry;
}

/* The stream's entry, found or made; NULL where there are too many, or no memory. */
static kept_workspace *find_entry(workspace_keeper *keeper, llrt_device *device, void *stream,
                                  uint64_t id) {
  int n = 0;
  for (kept_workspace *entry = keeper->first; entry; entry = entry->next, n++)
    if (entry->device == device && entry->stream == stream && entry->stream_id == id) return entry;
  return n < MAX_KEPT ? add_entry(keeper, device, stream, id) : NULL;
}

/* Of a stream that is not capturing, unless another thread has it now. */
static kept_workspace *borrow(workspace_keeper *keeper, llrt_device *device, void *stream,
                              uint64_t id) {
  pthread_mutex_lock(&keeper->mutex);
  kept_workspace *entry = find_entry(keeper, device, stream, id);
  if (entry && pthread_mutex_trylock(&entry->borrowed) != 0) entry = NULL;
  pthread_mutex_unlock(&keeper->mutex);
  return entry;
}

void llrt_workspace_drop_device(workspace_keeper *keeper, llrt_device *device) {
  pthread_mutex_lock(&keeper->mutex);
  for (kept_workspace **link = &keeper->first; *link;) {
    kept_workspace *entry = *link;
    if (entry->device != device) {
      link = &entry->next;
      continue;
    }
    *link = entry->next;
    release(device, &entry->zeroed, NULL); /* its stream may be gone */
    release(device, &entry->rest, NULL);
    pthread_mutex_destroy(&entry->borrowed);
    free(entry);
  }
  pthread_mutex_unlock(&keeper->mutex);
}

/* ---- a loan ---- */

/* Makes `kept` hold at least `bytes` bytes. *grown: it is new memory, of unknown content; it then
 * has a quarter more than asked, so that shapes which grow from call to call seldom ask the driver.
 */
static llrt_status hold(kept_workspace *entry, kept_memory *kept, size_t bytes, bool *grown) {
  *grown = bytes > kept->bytes;
  if (!*grown) return LLRT_OK;
  size_t rounded = (bytes + bytes / 4 + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
  release(entry->device, kept, entry->stream);
  LLRT_TRY(llrt_context_allocate(entry->device, rounded, entry->stream, &kept->memory));
  kept->bytes = rounded;
  return LLRT_OK;
}

static llrt_status set_zero(llrt_device *device, void *memory, size_t bytes, void *stream) {
  return bytes > 0 ? device->backend->set(device, memory, 0, bytes, stream) : LLRT_OK;
}

static llrt_status take_kept(kept_workspace *entry, plan_run *run) {
  bool grown, unused;
  LLRT_TRY(hold(entry, &entry->zeroed, (size_t)run->zero_bytes, &grown));
  if (grown) entry->unclean = entry->zeroed.bytes;
  LLRT_TRY(set_zero(entry->device, entry->zeroed.memory, entry->unclean, entry->stream));
  entry->unclean = 0;
  LLRT_TRY(hold(entry, &entry->rest, (size_t)(run->workspace_bytes - run->zero_bytes), &unused));
  plan_run_place(run, entry->zeroed.memory, entry->rest.memory);
  return LLRT_OK;
}

static llrt_status take_own(workspace_loan *loan, plan_run *run) {
  LLRT_TRY(
      llrt_context_allocate(loan->device, (size_t)run->workspace_bytes, loan->stream, &loan->own));
  llrt_status status = set_zero(loan->device, loan->own, loan->zero_bytes, loan->stream);
  if (status != LLRT_OK) llrt_context_release(loan->device, loan->own, loan->stream);
  plan_run_place(run, loan->own, (char *)loan->own + run->zero_bytes);
  return status;
}

llrt_status llrt_workspace_take(llrt_device *device, plan_run *run, void *stream,
                                workspace_loan *loan) {
  *loan =
      (workspace_loan){.device = device, .stream = stream, .zero_bytes = (size_t)run->zero_bytes};
  backend_stream state;
  LLRT_TRY(device->backend->stream_state(device, stream, &state));
  if (!state.capturing && run->workspace_bytes <= MAX_KEPT_BYTES)
    loan->kept = borrow(&device->context->workspaces, device, stream, state.id);
  if (!loan->kept) return take_own(loan, run);
  llrt_status status = take_kept(loan->kept, run);
  if (status != LLRT_OK) pthread_mutex_unlock(&loan->kept->borrowed);
  return status;
}

llrt_status llrt_workspace_return(workspace_loan *loan, llrt_status status, bool zeroes) {
  kept_workspace *kept = loan->kept;
  if (!kept) {
    llrt_status released = llrt_context_release(loan->device, loan->own, loan->stream);
    return status == LLRT_OK ? released : status;
  }
  if (!zeroes || status != LLRT_OK) kept->unclean = loan->zero_bytes;
  pthread_mutex_unlock(&kept->borrowed);
  return status;
}
