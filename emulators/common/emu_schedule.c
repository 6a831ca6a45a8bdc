/* When queued work runs: in the call that queues it, by a thread of its stream, or by who waits for
 * it. The order that streams and events demand is kept by all modes; what they leave open is where
 * modes differ. */
#include "emulators/common/emu_state.h"

#include <stdlib.h>
#include <string.h>

typedef struct worker {
  struct worker *next;
  pthread_t thread;
  emu_stream *stream;
} worker;

static emu_mode mode;
static bool mode_known, stopping;
static worker *workers;

emu_mode emu_current_mode(void) {
  static const char *const names[] = {"immediate", "workers", "late", "crossed"};
  if (mode_known) return mode;
  const char *set = getenv("LLRT_EMU_STREAMS");
  for (int i = 0; set && i < 4; i++) {
    if (strcmp(set, names[i]) == 0) mode = (emu_mode)i;
  }
  mode_known = true;
  return mode;
}

void llrt_emu_set_mode(emu_mode wanted) {
  emu_lock();
  for (emu_context *context = emu_contexts; context; context = context->next)
    emu_context_drain(context);
  mode = wanted;
  mode_known = true;
  emu_unlock();
}

void emu_point_set(emu_point *point, emu_stream *stream, uint64_t number) {
  if (stream) stream->holders++;
  if (point->stream) emu_stream_drop(point->stream);
  *point = (emu_point){stream, number};
}

bool emu_is_done(const emu_point *point) {
  return !point->stream || point->stream->done >= point->number;
}

int emu_take_failure(emu_context *context) {
  int failure = context->failure;
  if (failure) emu_set_trouble(context->trouble);
  context->failure = 0;
  return failure;
}

/* ---- running ---- */

/* What keeps the books runs after a failure, too. */
static bool is_book_keeping(emu_work_kind kind) {
  return kind == EMU_WORK_ALLOCATE || kind == EMU_WORK_FREE || kind == EMU_WORK_STAMP ||
         kind == EMU_WORK_NOTHING;
}

static _Thread_local void **front; /* emu_front */

void **emu_front(void) { return front; }

/* Whatever is no kernel begins when all in front of it has ended. */
static void set_front(emu_stream *stream, emu_work_kind kind) {
  front = kind == EMU_WORK_KERNEL ? &stream->front : NULL;
  if (front) return;
  free(stream->front);
  stream->front = NULL;
}

/* Runs work of a stream that nobody else runs; gives up the lock for it. */
static int run_work(emu_stream *stream, emu_work *work, uint64_t number, char *trouble) {
  emu_context *context = stream->context;
  bool skipped = context->failure && !is_book_keeping(work->kind);
  stream->busy = true;
  set_front(stream, work->kind);
  emu_unlock();
  int result = skipped ? 0 : emu_work_run(context, work, trouble, TROUBLE_BYTES);
  emu_work_drop(work);
  emu_lock();
  stream->busy = false;
  stream->done = number;
  emu_tell_change();
  return result;
}

static void op_free(emu_op *op) {
  for (int i = 0; i < op->n_waits; i++) emu_point_set(&op->wait[i], NULL, 0);
  free(op);
}

static void run_head(emu_stream *stream) {
  emu_op *op = stream->head;
  emu_context *context = stream->context;
  char trouble[TROUBLE_BYTES];
  stream->holders++;
  int result = run_work(stream, &op->work, op->number, trouble);
  if (result && !context->failure) {
    context->failure = result;
    memcpy(context->trouble, trouble, sizeof trouble);
  }
  stream->head = op->next;
  if (!stream->head) stream->end = &stream->head;
  op_free(op);
  if (stream->gone && !stream->head) emu_stream_unlink(stream);
  emu_stream_drop(stream);
}

/* What the stream's next work still waits for; NULL: nothing. */
static const emu_point *missing(const emu_stream *stream) {
  for (int i = 0; i < stream->head->n_waits; i++) {
    if (!emu_is_done(&stream->head->wait[i])) return &stream->head->wait[i];
  }
  return NULL;
}

static void run_needed(emu_point point) {
  emu_stream *stream = point.stream;
  while (stream->done < point.number) {
    if (mode == EMU_WORKERS || stream->busy) {
      emu_wait_change();
      continue;
    }
    const emu_point *other = missing(stream);
    if (!other) {
      run_head(stream);
      continue;
    }
    emu_point held = {NULL, 0};
    emu_point_set(&held, other->stream, other->number);
    run_needed(held);
    emu_point_set(&held, NULL, 0);
  }
}

/* ---- EMU_CROSSED ---- */

static void mark_needed(const emu_point *point) {
  emu_stream *stream = point->stream;
  if (!stream || stream->needed >= point->number) return;
  uint64_t before = stream->needed;
  stream->needed = point->number;
  for (const emu_op *op = stream->head; op && op->number <= point->number; op = op->next) {
    for (int i = 0; op->number > before && i < op->n_waits; i++) mark_needed(&op->wait[i]);
  }
}

static emu_stream *find_unneeded(void) {
  for (emu_context *context = emu_contexts; context; context = context->next) {
    for (emu_stream *stream = context->streams; stream; stream = stream->next) {
      if (stream->head && !stream->busy && stream->head->number > stream->needed &&
          !missing(stream))
        return stream;
    }
  }
  return NULL;
}

static void run_unneeded(const emu_point *point) {
  for (emu_context *context = emu_contexts; context; context = context->next) {
    for (emu_stream *stream = context->streams; stream; stream = stream->next) stream->needed = 0;
  }
  mark_needed(point);
  for (emu_stream *stream; (stream = find_unneeded());) run_head(stream);
}

void emu_run_until(emu_point point) {
  emu_point held = {NULL, 0};
  if (emu_is_done(&point)) return;
  emu_point_set(&held, point.stream, point.number);
  if (mode == EMU_CROSSED) run_unneeded(&held);
  run_needed(held);
  emu_point_set(&held, NULL, 0);
}

void emu_nudge(emu_point point) {
  while (!emu_is_done(&point) && mode != EMU_WORKERS && !point.stream->busy) {
    const emu_point *other = missing(point.stream);
    if (!other) {
      run_head(point.stream);
      return;
    }
    point = *other;
  }
}

/* ---- workers ---- */

static void *work(void *argument) {
  emu_stream *stream = argument;
  emu_lock();
  while (!stopping && !(stream->gone && !stream->head)) {
    if (mode == EMU_WORKERS && stream->head && !stream->busy && !missing(stream)) {
      run_head(stream);
    } else {
      emu_wait_change();
    }
  }
  emu_stream_drop(stream);
  emu_unlock();
  return NULL;
}

static bool start_worker(emu_stream *stream) {
  if (stream->has_worker) return true;
  worker *made = calloc(1, sizeof *made);
  if (!made) return false;
  stream->holders++;
  if (pthread_create(&made->thread, NULL, work, stream) != 0) {
    stream->holders--;
    free(made);
    return false;
  }
  made->next = workers;
  workers = made;
  return stream->has_worker = true;
}

void emu_stream_forget_work(emu_stream *stream) {
  while (stream->head) {
    emu_op *op = stream->head;
    stream->head = op->next;
    emu_work_drop(&op->work);
    op_free(op);
  }
}

/* When the library is unloaded, or the process ends: what is still queued does not run. */
__attribute__((destructor)) static void stop_workers(void) {
  emu_lock();
  stopping = true;
  emu_tell_change();
  emu_unlock();
  while (workers) {
    worker *next = workers->next;
    pthread_join(workers->thread, NULL);
    free(workers);
    workers = next;
  }
  emu_contexts_end();
}

/* ---- queueing ---- */

/* The legacy stream and blocking streams of one context wait for each other. */
static bool waits_for(const emu_stream *stream, const emu_stream *other) {
  if (other == stream || other->done == other->tail) return false;
  if (stream->legacy) return !(other->flags & EMU_STREAM_NON_BLOCKING);
  return other->legacy && !(stream->flags & EMU_STREAM_NON_BLOCKING);
}

static int count_waits(const emu_stream *stream) {
  int n = 0;
  for (const emu_stream *other = stream->context->streams; other; other = other->next)
    n += waits_for(stream, other);
  return n;
}

static emu_op *make_op(emu_stream *stream, const emu_work *work, const emu_point *wait, int n) {
  emu_op *op = calloc(1, sizeof *op + (size_t)(n + 1) * sizeof(emu_point));
  if (!op) return NULL;
  op->work = *work;
  op->number = stream->tail + 1;
  if (wait) emu_point_set(&op->wait[op->n_waits++], wait->stream, wait->number);
  for (emu_stream *other = stream->context->streams; other; other = other->next) {
    if (waits_for(stream, other)) emu_point_set(&op->wait[op->n_waits++], other, other->tail);
  }
  return op;
}

static int run_here(emu_stream *stream, emu_work *work) {
  char trouble[TROUBLE_BYTES] = "";
  int result = run_work(stream, work, ++stream->tail, trouble);
  if (result) emu_set_trouble(trouble);
  return result;
}

int emu_enqueue(emu_stream *stream, emu_work *work, const emu_point *wait, emu_point *at) {
  bool immediate = emu_current_mode() == EMU_IMMEDIATE;
  int n = count_waits(stream);
  if (at) emu_point_set(at, stream, stream->tail + 1);
  if (immediate && n == 0 && !stream->head && !stream->busy && (!wait || emu_is_done(wait)))
    return run_here(stream, work);
  emu_op *op = make_op(stream, work, wait, n);
  if (!op || (mode == EMU_WORKERS && !start_worker(stream))) {
    if (op) op_free(op);
    if (at) emu_point_set(at, NULL, 0);
    emu_work_drop(work);
    return EMU_OUT_OF_MEMORY;
  }
  stream->tail = op->number;
  *stream->end = op;
  stream->end = &op->next;
  emu_tell_change();
  if (!immediate) return 0;
  emu_run_until((emu_point){stream, stream->tail});
  return emu_take_failure(stream->context);
}
