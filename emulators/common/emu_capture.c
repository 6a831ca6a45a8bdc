/* Stream capture: what is queued on a capturing stream becomes a node of a graph, behind what the
 * stream has there; events carry that to other streams, which then capture, too. Rules and errors
 * are those of the CUDA programming guide ("Creating a Graph Using Stream Capture", "Prohibited and
 * Unhandled Operations") and of cuThreadExchangeStreamCaptureMode; an error breaks the captures
 * concerned. */
#include "emulators/common/emu_state.h"

#include <stdlib.h>
#include <string.h>

static emu_capture *captures; /* under way; with the state's lock, as all below */
static _Thread_local int thread_mode = EMU_CAPTURE_GLOBAL;

/* ---- tips ---- */

static bool add_tips(emu_tips *tips, const emu_tips *more) {
  for (size_t i = 0; i < more->n; i++) {
    size_t at = 0;
    while (at < tips->n && tips->node[at] != more->node[i]) at++;
    if (at < tips->n) continue;
    emu_node **grown = realloc(tips->node, (tips->n + 1) * sizeof(emu_node *));
    if (!grown) return false;
    tips->node = grown;
    tips->node[tips->n++] = more->node[i];
  }
  return true;
}

static void clear_tips(emu_tips *tips) {
  free(tips->node);
  *tips = (emu_tips){NULL, 0};
}

/* ---- captures ---- */

static void release(emu_capture *capture) {
  if (--capture->holders == 0) free(capture);
}

void emu_capture_forget(emu_capture **capture, emu_tips *tips) {
  clear_tips(tips);
  if (*capture) release(*capture);
  *capture = NULL;
}

void emu_capture_leave(emu_stream *stream) { emu_capture_forget(&stream->capture, &stream->tips); }

static bool join(emu_stream *stream, emu_capture *capture, const emu_tips *tips) {
  if (!stream->capture) capture->holders++;
  stream->capture = capture;
  return add_tips(&stream->tips, tips);
}

static int broken(emu_capture *capture, int result) {
  capture->broken = true;
  return result;
}

static bool forbids(const emu_capture *capture) {
  if (capture->thread == emu_this_thread()) return capture->mode != EMU_CAPTURE_RELAXED;
  return thread_mode == EMU_CAPTURE_GLOBAL && capture->mode == EMU_CAPTURE_GLOBAL;
}

int emu_capture_check_thread(void) {
  int result = 0;
  if (thread_mode == EMU_CAPTURE_RELAXED) return 0;
  for (emu_capture *capture = captures; capture; capture = capture->next) {
    if (forbids(capture)) result = broken(capture, EMU_CAPTURE_UNSUPPORTED);
  }
  return result;
}

int emu_capture_forbids(void) {
  emu_lock();
  int result = emu_capture_check_thread();
  emu_unlock();
  return result;
}

/* Breaks the captures of a context's streams, of those that the legacy stream waits for alone or of
 * all. */
static int break_all(const emu_context *context, bool blocking_alone, int result) {
  int found = 0;
  for (emu_stream *stream = context->streams; stream; stream = stream->next) {
    bool concerned = !blocking_alone || !(stream->flags & EMU_STREAM_NON_BLOCKING);
    if (stream->capture && concerned) found = broken(stream->capture, result);
  }
  return found;
}

/* The error of break_all, without breaking anything: of questions about the legacy stream. */
static int implied(const emu_context *context) {
  const emu_stream *stream = context->streams;
  while (stream && !(stream->capture && !(stream->flags & EMU_STREAM_NON_BLOCKING)))
    stream = stream->next;
  return stream ? EMU_CAPTURE_IMPLICIT : 0;
}

int emu_capture_check_context(emu_context *context) {
  return break_all(context, false, EMU_CAPTURE_UNSUPPORTED);
}

static int check_legacy(const emu_stream *stream) {
  return stream->legacy ? break_all(stream->context, true, EMU_CAPTURE_IMPLICIT) : 0;
}

int emu_capture_check_wait(emu_stream *stream) {
  int result = check_legacy(stream);
  if (result || !stream->capture) return result;
  return broken(stream->capture, EMU_CAPTURE_UNSUPPORTED);
}

int emu_capture_check_event(const emu_event *event) {
  if (!event->capture) return 0;
  return broken(event->capture, EMU_CAPTURED_EVENT);
}

/* ---- work on streams ---- */

int emu_capture_take(emu_stream *stream, emu_work *work, bool *taken) {
  int result = check_legacy(stream);
  if (result || !stream->capture) return result;
  if (stream->capture->broken) return EMU_CAPTURE_INVALIDATED;
  if (work->kind == EMU_WORK_GRAPH && emu_exec_has_memory(work->exec))
    return broken(stream->capture, EMU_NOT_SUPPORTED);
  *taken = true;
  return emu_graph_add(stream->capture->graph, work, &stream->tips)
             ? 0
             : broken(stream->capture, EMU_OUT_OF_MEMORY);
}

int emu_capture_record(emu_event *event, emu_stream *stream, bool *taken) {
  int result = check_legacy(stream);
  if (result) return result;
  emu_capture *capture = stream->capture;
  if (capture && capture->broken) return EMU_CAPTURE_INVALIDATED;
  if (!capture) return 0;
  *taken = true;
  emu_capture_forget(&event->capture, &event->tips);
  event->capture = capture;
  capture->holders++;
  return add_tips(&event->tips, &stream->tips) ? 0 : broken(capture, EMU_OUT_OF_MEMORY);
}

/* A stream waits for an event of no capture. */
static int wait_outside(emu_stream *stream, const emu_event *event, bool *taken) {
  if (!stream->capture) return 0;
  *taken = true;
  if (stream->capture->broken) return EMU_CAPTURE_INVALIDATED;
  return event->stamp ? broken(stream->capture, EMU_CAPTURE_ISOLATION) : 0;
}

int emu_capture_wait(emu_stream *stream, emu_event *event, bool *taken) {
  int result = check_legacy(stream);
  if (result) return result;
  emu_capture *capture = event->capture;
  if (!capture) return wait_outside(stream, event, taken);
  *taken = true;
  if (capture->ended) return EMU_CAPTURED_EVENT;
  if (capture->broken) return EMU_CAPTURE_INVALIDATED;
  if (stream->legacy) return broken(capture, EMU_CAPTURE_IMPLICIT);
  if (stream->capture && stream->capture != capture) {
    stream->capture->broken = true;
    return broken(capture, EMU_CAPTURE_MERGE);
  }
  return join(stream, capture, &event->tips) ? 0 : broken(capture, EMU_OUT_OF_MEMORY);
}

const emu_graph *emu_capture_graph(emu_stream *stream) {
  emu_lock();
  const emu_graph *graph = stream->capture ? stream->capture->graph : NULL;
  emu_unlock();
  return graph;
}

void emu_capture_break(emu_stream *stream) {
  emu_lock();
  if (stream->capture) stream->capture->broken = true;
  emu_unlock();
}

/* ---- beginning and end ---- */

static emu_capture *make_capture(emu_stream *stream, int mode) {
  emu_capture *capture = calloc(1, sizeof *capture);
  emu_graph *graph = capture ? emu_graph_make() : NULL;
  if (!graph) {
    free(capture);
    return NULL;
  }
  *capture = (emu_capture){.next = captures,
                           .holders = 1,
                           .mode = mode,
                           .id = emu_next_id(),
                           .thread = emu_this_thread(),
                           .origin = stream,
                           .graph = graph};
  return captures = capture;
}

static int begin(emu_stream *stream, int mode) {
  if (mode < EMU_CAPTURE_GLOBAL || mode > EMU_CAPTURE_RELAXED) return EMU_INVALID_VALUE;
  if (stream->legacy) return EMU_CAPTURE_UNSUPPORTED;
  if (stream->capture) return EMU_ILLEGAL_STATE;
  stream->capture = make_capture(stream, mode);
  return stream->capture ? 0 : EMU_OUT_OF_MEMORY;
}

int emu_capture_begin(emu_stream *stream, int mode) {
  emu_lock();
  int result = begin(stream, mode);
  emu_unlock();
  return result;
}

/* Takes all streams out of the capture. */
static void end(emu_capture *capture) {
  emu_capture **link = &captures;
  while (*link != capture) link = &(*link)->next;
  *link = capture->next;
  capture->ended = true;
  capture->holders++;
  for (emu_context *context = emu_contexts; context; context = context->next) {
    for (emu_stream *stream = context->streams; stream; stream = stream->next) {
      if (stream->capture == capture) emu_capture_leave(stream);
    }
  }
  release(capture);
}

/* What is to be said of a capture that ends here. */
static int end_result(emu_capture *capture, emu_stream *stream) {
  if (capture->broken) return EMU_CAPTURE_INVALIDATED;
  return emu_graph_is_joined(capture->graph, &stream->tips) ? 0 : EMU_CAPTURE_UNJOINED;
}

int emu_capture_end(emu_stream *stream, void **handle) {
  emu_graph *graph = NULL;
  *handle = NULL;
  emu_lock();
  emu_capture *capture = stream->capture;
  int result = 0;
  if (!capture) {
    result = EMU_ILLEGAL_STATE;
  } else if (capture->origin && capture->origin != stream) {
    result = broken(capture, EMU_CAPTURE_UNMATCHED);
  } else if (capture->mode != EMU_CAPTURE_RELAXED && capture->thread != emu_this_thread()) {
    result = broken(capture, EMU_CAPTURE_WRONG_THREAD);
  } else {
    result = end_result(capture, stream);
    graph = capture->graph;
    end(capture);
  }
  emu_unlock();
  if (result && graph) emu_graph_drop(graph);
  if (!result) *handle = graph;
  return result;
}

int emu_capture_exchange(int *mode) {
  if (*mode < EMU_CAPTURE_GLOBAL || *mode > EMU_CAPTURE_RELAXED) return EMU_INVALID_VALUE;
  int before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return 0;
}

int emu_capture_status_of(emu_stream *stream, int *status) {
  return emu_capture_info(stream, status, NULL, NULL, NULL, NULL);
}

int emu_capture_info(emu_stream *stream, int *status, unsigned long long *id, void **graph,
                     void *const **nodes, size_t *n) {
  emu_lock();
  int result = stream->legacy ? implied(stream->context) : 0;
  const emu_capture *capture = stream->capture;
  *status = !capture ? EMU_CAPTURE_NONE : capture->broken ? EMU_CAPTURE_BROKEN : EMU_CAPTURE_ACTIVE;
  bool active = *status == EMU_CAPTURE_ACTIVE;
  if (id) *id = active ? capture->id : 0;
  if (graph) *graph = active ? capture->graph : NULL;
  if (nodes) *nodes = active ? (void *const *)stream->tips.node : NULL;
  if (n) *n = active ? stream->tips.n : 0;
  emu_unlock();
  return result;
}
