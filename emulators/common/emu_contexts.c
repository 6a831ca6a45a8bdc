/* Contexts, and the locks over everything (emu_state.h). */
#include "emulators/common/emu_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char this_thread, trouble[TROUBLE_BYTES];
static atomic_uint_fast64_t ids;

emu_context *emu_contexts;

void emu_lock(void) { pthread_mutex_lock(&state); }
void emu_unlock(void) { pthread_mutex_unlock(&state); }
void emu_wait_change(void) { pthread_cond_wait(&changed, &state); }
void emu_tell_change(void) { pthread_cond_broadcast(&changed); }
void emu_run_lock(void) { pthread_mutex_lock(&running); }
void emu_run_unlock(void) { pthread_mutex_unlock(&running); }
const void *emu_this_thread(void) { return &this_thread; }
uint64_t emu_next_id(void) { return atomic_fetch_add(&ids, 1) + 1; }
const char *emu_trouble(void) { return trouble; }
void emu_set_trouble(const char *text) { snprintf(trouble, sizeof trouble, "%s", text); }

emu_context *emu_context_create(int device, size_t total_bytes) {
  emu_context *context = calloc(1, sizeof *context);
  if (!context) return NULL;
  context->device = device;
  context->id = emu_next_id();
  context->total_bytes = total_bytes;
  emu_lock();
  context->legacy = emu_stream_make(context, 0);
  if (context->legacy) {
    context->legacy->legacy = true;
    emu_run_lock();
    context->next = emu_contexts;
    emu_contexts = context;
    emu_run_unlock();
  }
  emu_unlock();
  if (context->legacy) return context;
  free(context);
  return NULL;
}

bool emu_context_is_one(const void *handle) {
  emu_lock();
  const emu_context *context = emu_contexts;
  while (context && context != handle) context = context->next;
  emu_unlock();
  return context != NULL;
}

int emu_context_device(const emu_context *context) { return context->device; }
uint64_t emu_context_id(const emu_context *context) { return context->id; }
emu_memory *emu_context_memory(emu_context *context) { return &context->memory; }

void emu_run_rest(int polls) {
  emu_run_unlock();
  nanosleep(&(struct timespec){.tv_nsec = polls < 64 ? 20000 : 1000000}, NULL);
  emu_run_lock();
}

emu_range *emu_context_find_peer(emu_context *context, uint64_t address, size_t bytes) {
  emu_range *range = emu_find_pinned(address, bytes);
  for (emu_context *other = emu_contexts; other && !range; other = other->next)
    if (context->reaches >> other->device & 1)
      range = emu_memory_find(&other->memory, address, bytes);
  return range;
}

bool emu_context_reach(emu_context *context, const emu_context *peer) {
  emu_run_lock();
  bool fresh = !(context->reaches >> peer->device & 1);
  context->reaches |= 1u << peer->device;
  emu_run_unlock();
  return fresh;
}

/* With both locks. */
static void unlink_context(emu_context *context) {
  emu_context **link = &emu_contexts;
  while (*link != context) link = &(*link)->next;
  *link = context->next;
}

/* Blocks that graphs hold outlive their memory. */
static void forget_memory(emu_context *context) {
  emu_run_lock();
  emu_empty_apart(context, 0);
  emu_pools_drop(context);
  for (int i = 0; i < context->memory.n; i++) {
    emu_block *block = context->memory.range[i]->owner;
    if (!block) continue;
    block->range = NULL;
    if (!block->graph) emu_block_drop(block);
  }
  emu_memory_fini(&context->memory);
  emu_run_unlock();
}

int emu_context_reset(emu_context *context, bool destroy) {
  emu_lock();
  emu_context_drain(context);
  context->failure = 0;
  if (destroy) {
    while (context->streams) emu_stream_unlink(context->streams);
    emu_run_lock();
    unlink_context(context);
    emu_run_unlock();
  }
  emu_unlock();
  forget_memory(context);
  if (destroy) free(context);
  return 0;
}

int emu_context_synchronize(emu_context *context) {
  emu_lock();
  int result = emu_capture_check_thread();
  if (!result) result = emu_capture_check_context(context);
  if (!result) {
    emu_context_drain(context);
    result = emu_take_failure(context);
  }
  emu_unlock();
  emu_pools_settle();
  return result;
}

void emu_wait_for_all(emu_context *context) {
  emu_lock();
  emu_context_drain(context);
  emu_unlock();
}

void emu_contexts_end(void) {
  for (emu_context *context = emu_contexts; context; context = context->next) {
    for (emu_stream *stream = context->streams; stream; stream = stream->next)
      emu_stream_forget_work(stream);
  }
  while (emu_contexts) {
    emu_context *context = emu_contexts;
    while (context->streams) emu_stream_unlink(context->streams);
    emu_contexts = context->next;
    forget_memory(context);
    free(context);
  }
}
