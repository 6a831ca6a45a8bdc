/* Lists of addresses in a captured stream. A graph reads what its copies bring each time it is
 * launched, so that they come from pinned host memory of the plan's, which lasts as long as it, and
 * which the first capture fills. Another capture may use it if it has the same addresses. */
#include "base/memory.h"
#include "base/status.h"
#include "recipe/run.h"

#include <stdlib.h>

#define PAGE_BYTES ((size_t)4096) /* what a driver pins at least */

struct captured_lists {
  pthread_mutex_t lock;
  bool taken;
  uint64_t *address; /* plan.whole.addresses of them */
};

captured_lists *captured_lists_make(llrt_device *device, int addresses) {
  size_t bytes = (size_t)addresses * sizeof(uint64_t);
  bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  captured_lists *lists = memory_zeroed(1, sizeof *lists);
  if (!lists) return NULL;
  lists->address = memory_aligned(PAGE_BYTES, bytes);
  if (!lists->address || llrt_memory_pin(device, lists->address, bytes) != LLRT_OK) {
    free(lists->address);
    free(lists);
    return NULL;
  }
  pthread_mutex_init(&lists->lock, NULL);
  return lists;
}

void captured_lists_destroy(llrt_device *device, captured_lists *lists) {
  if (!lists) return;
  (void)llrt_memory_unpin(device, lists->address);
  pthread_mutex_destroy(&lists->lock);
  free(lists->address);
  free(lists);
}

/* Fills the memory, or compares; *same: false where another capture has other addresses. */
static llrt_status fill(const repack_run *r, captured_lists *lists, bool *same) {
  const repack_schedule *schedule = &r->plan->whole;
  int at = 0;
  *same = true;
  for (int t = 0; t < schedule->n && *same; t++) {
    const repack_lot *lot = PLAN_AT(r->plan->lots, repack_lot, schedule->first + t);
    for (int list = 0; list < lot->lists; list++)
      for (int i = 0; i < lot->n && *same; i++, at++) {
        void *address;
        LLRT_TRY(run_listed_address(r, lot, list, i, &address));
        *same = !lists->taken || lists->address[at] == (uintptr_t)address;
        if (*same) lists->address[at] = (uintptr_t)address;
      }
  }
  return LLRT_OK;
}

llrt_status run_capture_lists(const repack_run *r, uint64_t *to, bool *done) {
  captured_lists *lists = r->plan->captured;
  *done = false;
  if (!lists) return LLRT_OK;
  pthread_mutex_lock(&lists->lock);
  llrt_status status = fill(r, lists, done);
  lists->taken |= !status && *done;
  pthread_mutex_unlock(&lists->lock);
  if (status || !*done) return status;
  return llrt_memory_copy(r->plan->device, to, lists->address,
                          (size_t)r->plan->whole.addresses * sizeof *to, LLRT_COPY_TO_DEVICE,
                          r->stream);
}
