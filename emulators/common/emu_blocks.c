/* Allocations. What is freed in a stream's order keeps its addresses for a while, so that who comes
 * too late finds nothing there rather than another's memory. */
#include "emulators/common/emu_state.h"

#include <stdlib.h>
#include <string.h>

#define MOST_APART \
  ((size_t)64 << 20) /* bytes of freed memory whose addresses are not used again \
                      */
#define POISON 0xa5

bool emu_shares_memory(void) {
  const char *set = getenv("LLRT_EMU_IPC");
  return set && strcmp(set, "1") == 0;
}

static struct pinned {
  struct pinned *next;
  emu_range range; /* nothing in it counts as undefined */
} *pinned_memory;

/* ---- with the run lock ---- */

static void free_block(emu_block *block) {
  if (block->range) emu_memory_free(&block->context->memory, block->range->address);
  free(block);
}

static void drop_locked(emu_block *block) {
  if (atomic_fetch_sub(&block->holders, 1) == 1) free_block(block);
}

void emu_empty_apart(emu_context *context, size_t keep_bytes) {
  while (context->apart && context->apart_bytes > keep_bytes) {
    emu_block **oldest = &context->apart;
    while ((*oldest)->next) oldest = &(*oldest)->next;
    emu_block *block = *oldest;
    *oldest = NULL;
    context->apart_bytes -= block->range->bytes;
    drop_locked(block);
  }
}

void emu_keep_apart(emu_block *block) {
  emu_context *context = block->context;
  block->next = context->apart;
  context->apart = block;
  context->apart_bytes += block->range->bytes;
  emu_empty_apart(context, MOST_APART);
}

int emu_block_make(emu_context *context, size_t bytes, bool hidden, emu_block **out) {
  emu_block *block = calloc(1, sizeof *block);
  *out = block;
  if (!block) return EMU_OUT_OF_MEMORY;
  if (context->memory.used + bytes > context->total_bytes) emu_empty_apart(context, 0);
  bool fits = bytes <= context->total_bytes && context->memory.used <= context->total_bytes - bytes;
  uint64_t (*allocate)(emu_memory *, size_t) =
      emu_shares_memory() && !hidden ? emu_memory_allocate_file : emu_memory_allocate;
  uint64_t address = fits ? allocate(&context->memory, bytes) : 0;
  if (!address) {
    free(block);
    *out = NULL;
    return EMU_OUT_OF_MEMORY;
  }
  block->holders = 1;
  block->context = context;
  block->id = emu_next_id();
  block->range = emu_memory_find_any(&context->memory, address, bytes);
  block->range->owner = block;
  block->range->hidden = hidden;
  return 0;
}

int emu_run_allocate(emu_block *block) {
  if (!block->range) return EMU_CONTEXT_IS_DESTROYED;
  memset(block->range->undefined, 0xff, block->range->bytes);
  memset(emu_range_data(block->range, block->range->address), POISON, block->range->bytes);
  block->range->hidden = false;
  return 0;
}

int emu_run_free(emu_block *block) {
  if (!block->range) return 0;
  block->range->hidden = true;
  if (block->graph) return 0;
  if (block->pool) emu_pool_count(block->pool, -(int64_t)block->range->bytes);
  atomic_fetch_add(&block->holders, 1);
  emu_keep_apart(block);
  return 0;
}

emu_range *emu_find_any(emu_context *first, uint64_t address, size_t bytes) {
  emu_range *range = first ? emu_memory_find_any(&first->memory, address, bytes) : NULL;
  for (emu_context *context = emu_contexts; context && !range; context = context->next)
    range = emu_memory_find_any(&context->memory, address, bytes);
  return range;
}

emu_range *emu_find_pinned(uint64_t address, size_t bytes) {
  for (struct pinned *at = pinned_memory; at; at = at->next)
    if (emu_range_holds(&at->range, address, bytes)) return &at->range;
  return NULL;
}

bool emu_is_pinned(uint64_t address, size_t bytes) {
  return emu_find_pinned(address, bytes) != NULL;
}

/* ---- from outside ---- */

void emu_block_drop(emu_block *block) {
  if (atomic_fetch_sub(&block->holders, 1) != 1) return;
  if (!block->range) {
    free(block);
    return;
  }
  emu_run_lock();
  free_block(block);
  emu_run_unlock();
}

int emu_allocate(emu_context *context, size_t bytes, uint64_t *address) {
  emu_block *block;
  *address = 0;
  if (!context) return EMU_INVALID_CONTEXT;
  if (bytes == 0) return EMU_INVALID_VALUE;
  emu_run_lock();
  int result = emu_block_make(context, bytes, false, &block);
  if (!result) *address = block->range->address;
  emu_run_unlock();
  return result;
}

static emu_block *find_block(uint64_t address) {
  emu_range *range = emu_find_any(NULL, address, 1);
  return range && range->address == address ? range->owner : NULL;
}

/* The block that begins there and that the user may give back; it is now (a graph's: until the next
 * launch). The user's hold is the caller's. */
static emu_block *take_back(uint64_t address) {
  emu_block *block = find_block(address);
  if (!block || (block->graph ? !block->outstanding : block->returned)) return NULL;
  if (!block->graph) block->returned = true;
  block->outstanding = false;
  return block;
}

/* The same in a capture, of memory of this graph or such as another one's launches leave. The hold
 * is a new one. */
static emu_block *take_back_captured(uint64_t address, const emu_graph *graph) {
  emu_block *block = find_block(address);
  if (!block || !block->graph || (block->graph == graph && block->returned)) return NULL;
  if (block->graph == graph) block->returned = true;
  atomic_fetch_add(&block->holders, 1);
  return block;
}

int emu_free(uint64_t address) {
  emu_run_lock();
  emu_block *block = take_back(address);
  emu_context *context = block ? block->context : NULL;
  emu_run_unlock();
  if (!block) return EMU_INVALID_VALUE;
  emu_wait_for_all(context);
  emu_run_lock();
  if (block->ordered) emu_run_free(block);
  drop_locked(block);
  emu_run_unlock();
  return 0;
}

int emu_free_on(emu_stream *stream, uint64_t address) {
  const emu_graph *graph = emu_capture_graph(stream);
  emu_run_lock();
  emu_block *block = graph ? take_back_captured(address, graph) : take_back(address);
  emu_run_unlock();
  if (!block) emu_capture_break(stream);
  if (!block) return EMU_INVALID_VALUE;
  emu_work work = {.kind = EMU_WORK_FREE, .block = block};
  return emu_submit(stream, &work, NULL, NULL);
}

/* With the run lock: a block of the pool, held by the user and by the work to come; or of a graph,
 * held by the work. */
static int make_ordered(emu_context *context, emu_pool *pool, const emu_graph *graph, size_t bytes,
                        emu_block **block) {
  *block = NULL;
  if (!emu_pool_is_one(pool)) return EMU_INVALID_VALUE;
  if (!graph && !emu_pool_has_room(pool, bytes)) return EMU_OUT_OF_MEMORY;
  int result = emu_block_make(context, bytes, true, block);
  if (result) return result;
  (*block)->ordered = true;
  (*block)->graph = graph;
  if (graph) return 0;
  (*block)->pool = pool;
  (*block)->holders = 2;
  emu_pool_count(pool, (int64_t)bytes);
  return 0;
}

int emu_allocate_on(emu_stream *stream, void *handle, size_t bytes, uint64_t *address) {
  emu_context *context = stream->context;
  emu_pool *pool = handle ? handle : emu_pool_current(context);
  const emu_graph *graph = emu_capture_graph(stream);
  emu_block *block;
  *address = 0;
  if (bytes == 0) return EMU_INVALID_VALUE;
  emu_run_lock();
  int result = make_ordered(context, pool, graph, bytes, &block);
  if (!result) *address = block->range->address;
  emu_run_unlock();
  if (result) return result;
  emu_work work = {.kind = EMU_WORK_ALLOCATE, .block = block};
  result = emu_submit(stream, &work, NULL, NULL);
  if (result && !graph) emu_free(*address);
  if (result) *address = 0;
  return result;
}

/* Memory that no block stands for: what processes share. */
static emu_context *context_of(uint64_t address) {
  emu_context *context = emu_contexts;
  while (context && !emu_memory_find_any(&context->memory, address, 1)) context = context->next;
  return context;
}

bool emu_find_place(uint64_t address, emu_place *place) {
  emu_run_lock();
  *place = (emu_place){.host = emu_is_pinned(address, 1), .begin = address, .fd = -1};
  emu_range *range = emu_find_any(NULL, address, 1);
  const emu_block *block = range ? range->owner : NULL;
  bool known = range && (!block || !block->returned);
  if (known) {
    *place = (emu_place){.context = block ? block->context : context_of(address),
                         .pool = block ? block->pool : NULL,
                         .begin = range->address,
                         .id = block ? block->id : 0,
                         .bytes = range->bytes,
                         .fd = block && !range->block ? range->fd : -1};
  }
  emu_run_unlock();
  return known || place->host;
}

int emu_pin(void *memory, size_t bytes) {
  struct pinned *at = calloc(1, sizeof *at);
  uint8_t *undefined = calloc(bytes, 1);
  if (!at || !undefined) {
    free(at);
    free(undefined);
    return EMU_OUT_OF_MEMORY;
  }
  at->range = (emu_range){.address = (uintptr_t)memory, .bytes = bytes, .undefined = undefined};
  emu_run_lock();
  at->next = pinned_memory;
  pinned_memory = at;
  emu_run_unlock();
  return 0;
}

bool emu_unpin(void *memory) {
  emu_run_lock();
  struct pinned **link = &pinned_memory;
  while (*link && (*link)->range.address != (uintptr_t)memory) link = &(*link)->next;
  struct pinned *found = *link;
  if (found) *link = found->next;
  emu_run_unlock();
  bool was_there = found != NULL;
  if (found) free(found->range.undefined);
  free(found);
  return was_there;
}
