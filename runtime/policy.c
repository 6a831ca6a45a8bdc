#include "runtime/policy.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/context.h"
#include "runtime/launch_log.h"
#include "runtime/op_text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

llrt_compile_policy llrt_policy_of(const llrt_context *context) {
  return (llrt_compile_policy)atomic_load_explicit(&context->compile, memory_order_relaxed);
}

llrt_status llrt_context_set_compile(llrt_context *context, llrt_compile_policy policy) {
  LLRT_ENTRY();
  LLRT_REQUIRE(context, "context is NULL");
  LLRT_REQUIRE(policy >= LLRT_COMPILE_NOW && policy <= LLRT_COMPILE_FORBIDDEN,
               "there is no compile policy %d", (int)policy);
  atomic_store(&context->compile, policy);
  return LLRT_OK;
}

llrt_status llrt_not_prepared(const op_description *desc, const storage_set *set, const char *why) {
  llrt_text text;
  llrt_text_init(&text);
  llrt_op_describe(desc, set, &text);
  llrt_status status =
      llrt_error(LLRT_NOT_PREPARED, "a kernel would have to be compiled, and %s; to prepare: %s",
                 why, text.data ? text.data : "");
  llrt_text_fini(&text);
  return status;
}

void llrt_tell_compile(llrt_op *op, double milliseconds, bool background) {
  llrt_context *context = op->device->context;
  if (!llrt_log_wants(&context->log, LLRT_LOG_INFO) && !context->on_compile) return;
  llrt_text text;
  llrt_text_init(&text);
  llrt_op_describe(&op->desc, op->set, &text);
  if (text.data)
    llrt_log(&context->log, LLRT_LOG_INFO,
             "compile device=%s target=%s ms=%.1f behind=%d what=\"%s\"", op->device->info.name,
             op->device->target.name, milliseconds, background, text.data);
  const llrt_op_desc shown = op_description_show(&op->desc);
  llrt_compile_event event = {.size = sizeof event,
                              .device = op->device,
                              .desc = &shown,
                              .text = text.data,
                              .milliseconds = milliseconds,
                              .background = background};
  if (text.data && context->on_compile) context->on_compile(context->compile_user, &event);
  llrt_text_fini(&text);
}

/* ---- the thread behind calls ---- */

static _Thread_local bool is_behind;

bool llrt_compiles_behind(void) { return is_behind; }

struct compile_wish {
  compile_wish *next;
  llrt_op *op; /* retained */
  llrt_tensor first;
};

/* Waits for a compile that a call has wished for, and takes it out of the queue; NULL when the
 * context's compile thread is to end. */
static compile_wish *next_wish(compile_queue *queue) {
  pthread_mutex_lock(&queue->mutex);
  queue->current = NULL;
  pthread_cond_broadcast(&queue->changed);
  while (!queue->first && !queue->ends) pthread_cond_wait(&queue->changed, &queue->mutex);
  compile_wish *wish = queue->ends ? NULL : queue->first;
  if (wish) {
    queue->first = wish->next;
    queue->current = wish->op->device;
  }
  pthread_mutex_unlock(&queue->mutex);
  return wish;
}

static void drop_wish(compile_wish *wish) {
  atomic_store(&wish->op->wished, false);
  llrt_op_release(wish->op);
  free(wish);
}

/* An error here is met again by a call that needs the kernel. */
static void *compile_all(void *argument) {
  compile_queue *queue = argument;
  is_behind = true;
  for (compile_wish *wish = next_wish(queue); wish; wish = next_wish(queue)) {
    int variant;
    llrt_status status = llrt_op_ready(wish->op, &wish->first, NULL, &variant);
    llrt_log_failure(wish->op->device, wish->op->desc.kind, status);
    kernel_cache *cache = &wish->op->device->context->cache;
    drop_wish(wish);
    llrt_cache_enforce(cache);
  }
  return NULL;
}

/* The program's signals are for the program's own threads. Precondition: the mutex is held. */
static bool start_thread(compile_queue *queue) {
  if (queue->started) return true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  queue->started = memory_thread(&queue->thread, NULL, compile_all, queue) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  queue->process = getpid();
  return queue->started;
}

/* A child of fork() has the parent's queue and not its thread, for which the mutex and the
 * condition would wait. What was wished for is still in the list, and a thread of the child's own
 * sees to it. */
static void forget_parents_thread(compile_queue *queue) {
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  if (queue->started && queue->process != getpid()) {
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->started = false;
    queue->current = NULL;
  }
  pthread_mutex_unlock(&once);
}

void llrt_compile_behind(llrt_op *op, const llrt_tensor *first) {
  compile_queue *queue = &op->device->context->behind;
  if (atomic_exchange(&op->wished, true)) return;
  compile_wish *wish = memory_new(sizeof *wish);
  if (!wish) {
    atomic_store(&op->wished, false);
    return;
  }
  *wish = (compile_wish){.op = llrt_op_retain(op), .first = *first};
  forget_parents_thread(queue);
  pthread_mutex_lock(&queue->mutex);
  bool started = start_thread(queue);
  compile_wish **end = &queue->first;
  while (started && *end) end = &(*end)->next;
  if (started) *end = wish;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  if (!started) drop_wish(wish);
}

/* Wishes of the device (NULL: of all), out of the list. Precondition: the mutex is held. */
static void drop_wishes(compile_queue *queue, const llrt_device *device) {
  for (compile_wish **link = &queue->first; *link;) {
    compile_wish *wish = *link;
    if (device && wish->op->device != device) {
      link = &wish->next;
      continue;
    }
    *link = wish->next;
    drop_wish(wish);
  }
}

void llrt_compile_behind_end(llrt_context *context, const llrt_device *device) {
  compile_queue *queue = &context->behind;
  forget_parents_thread(queue);
  pthread_mutex_lock(&queue->mutex);
  drop_wishes(queue, device);
  while (device && queue->current == device) pthread_cond_wait(&queue->changed, &queue->mutex);
  queue->ends |= !device;
  bool joins = !device && queue->started;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  if (joins) pthread_join(queue->thread, NULL);
}
