#include "tools/repack_show.h"

#include "tools/tool.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GB 1e9

/* ---- progress ---- */

#define BAR_PAUSE 0.1  /* seconds between two pictures of the bar */
#define LINE_PAUSE 10. /* seconds between two lines */
#define BAR_WIDTH 24   /* characters */

static double rate_of(const repack_progress *p) {
  return p->seconds > 0 ? (double)p->bytes / GB / p->seconds : 0;
}

static int seconds_left(const repack_progress *p) {
  if (p->bytes == 0 || p->bytes >= p->all_bytes) return 0;
  return (int)(p->seconds * (double)(p->all_bytes - p->bytes) / (double)p->bytes + 0.5);
}

static void draw_bar(const repack_progress *p) {
  char bar[BAR_WIDTH + 1];
  int full = p->all_bytes ? (int)(BAR_WIDTH * (double)p->bytes / (double)p->all_bytes) : BAR_WIDTH;
  for (int i = 0; i < BAR_WIDTH; i++) bar[i] = i < full ? '#' : '.';
  bar[BAR_WIDTH] = 0;
  fprintf(stderr, "\r[%s] %zu/%zu tensors  %.2f/%.2f GB  %.2f GB/s  %d:%02d left ", bar, p->tensors,
          p->all_tensors, (double)p->bytes / GB, (double)p->all_bytes / GB, rate_of(p),
          seconds_left(p) / 60, seconds_left(p) % 60);
}

void repack_bar_progress(void *user, const repack_progress *now) {
  repack_bar *bar = user;
  bool last = now->bytes == now->all_bytes, terminal = isatty(STDERR_FILENO);
  if (now->seconds - bar->told < (terminal ? BAR_PAUSE : LINE_PAUSE) && !(terminal && last)) return;
  bar->told = now->seconds;
  bar->drawn = terminal;
  if (terminal) draw_bar(now);
  else
    fprintf(stderr,
            "llrt repack: %zu of %zu tensors, %.2f of %.2f GB, %.2f GB/s, %d seconds left\n",
            now->tensors, now->all_tensors, (double)now->bytes / GB, (double)now->all_bytes / GB,
            rate_of(now), seconds_left(now));
}

void repack_bar_end(const repack_bar *bar) {
  if (bar->drawn) fputc('\n', stderr);
}

/* ---- plans ---- */

static int print_json(json_t *object) {
  char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
  json_decref(object);
  if (!text) return tool_refuse("no memory for the output");
  printf("%s\n", text);
  free(text);
  return TOOL_DONE;
}

static json_t *shape_of(int rank, const int64_t *shape) {
  json_t *list = json_array();
  for (int axis = 0; axis < rank; axis++) json_array_append_new(list, json_integer(shape[axis]));
  return list;
}

static json_t *tensor_json(const repack *r, const output_tensor *t) {
  return json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:s*}", "name", t->name, "file",
                   r->to.file[t->file].name, "type", t->type->name, "shape",
                   shape_of(t->rank, t->shape), "at", (json_int_t)t->at, "bytes",
                   (json_int_t)t->bytes, "is", t->spec);
}

static json_t *step_json(const repack *r, int rank, const llrt_repack_step *step) {
  json_t *in = json_array(), *out = json_array();
  const llrt_repack *plan = r->rank[rank].plan;
  for (int i = 0; i < step->n_inputs; i++)
    json_array_append_new(in, json_string(llrt_repack_input(plan, step->inputs[i])->name));
  for (int i = 0; i < step->n_outputs; i++)
    json_array_append_new(out, json_string(llrt_repack_output(plan, step->outputs[i])->name));
  return json_pack("{s:i, s:i, s:o, s:o, s:i, s:I, s:I, s:I}", "rank", rank, "row", (int)step->row,
                   "in", in, "out", out, "launches", (int)step->launches, "workspace",
                   (json_int_t)step->workspace, "bytes_read", (json_int_t)step->bytes_read,
                   "bytes_written", (json_int_t)step->bytes_written);
}

static json_t *files_json(const repack *r) {
  json_t *files = json_array();
  for (int32_t i = 0; i < r->to.n_files; i++)
    json_array_append_new(files, json_pack("{s:s, s:I}", "name",
                                           r->target ? r->target[i] : r->to.file[i].name, "bytes",
                                           (json_int_t)r->to.file[i].size));
  return files;
}

static int show_plan_json(const repack *r, uint64_t memory) {
  json_t *tensors = json_array(), *steps = json_array();
  for (size_t i = 0; i < r->to.n_tensors; i++)
    json_array_append_new(tensors, tensor_json(r, &r->to.tensor[i]));
  for (int rank = 0; rank < r->ranks; rank++)
    for (int s = 0; llrt_repack_step_at(r->rank[rank].plan, s); s++)
      json_array_append_new(steps, step_json(r, rank, llrt_repack_step_at(r->rank[rank].plan, s)));
  return print_json(json_pack("{s:o, s:o, s:o, s:I, s:I}", "files", files_json(r), "tensors",
                              tensors, "steps", steps, "memory", (json_int_t)memory, "least_memory",
                              (json_int_t)r->largest));
}

/* A rank's plan as the library prints it. */
static int print_plan(const llrt_repack *plan) {
  size_t length = 0;
  if (llrt_repack_print(plan, NULL, 0, &length) != LLRT_OK) return tool_refuse_library(NULL);
  char *text = malloc(length + 1);
  if (!text) return tool_refuse("no memory for the plan");
  int code = llrt_repack_print(plan, text, length + 1, NULL) == LLRT_OK ? TOOL_DONE
                                                                        : tool_refuse_library(NULL);
  if (code == TOOL_DONE) fputs(text, stdout);
  free(text);
  return code;
}

int repack_show_plan(const repack *r, uint64_t memory, bool json) {
  if (json) return show_plan_json(r, memory);
  for (int rank = 0; rank < r->ranks; rank++) {
    if (r->ranks > 1) printf("rank %d\n", rank);
    int code = print_plan(r->rank[rank].plan);
    if (code != TOOL_DONE) return code;
  }
  for (int32_t i = 0; i < r->to.n_files; i++)
    printf("%s: %" PRIu64 " bytes\n", r->target ? r->target[i] : r->to.file[i].name,
           r->to.file[i].size);
  printf("memory: %" PRIu64 " bytes, at least %" PRIu64 "\n", memory, r->largest);
  return TOOL_DONE;
}

int repack_show_result(const repack *r, const char *out, const repack_result *result, bool json) {
  const repack_progress *p = &result->done;
  if (json)
    return print_json(
        json_pack("{s:s, s:o, s:I, s:I, s:f, s:b, s:I, s:I, s:b, s:b}", "out", out, "files",
                  files_json(r), "tensors", (json_int_t)p->tensors, "bytes", (json_int_t)p->bytes,
                  "seconds", p->seconds, "resumed", (int)result->resumed, "resumed_tensors",
                  (json_int_t)result->resumed_tensors, "memory", (json_int_t)result->memory,
                  "verified", (int)result->verified, "went_back", (int)result->went_back));
  printf("%s: %zu tensors, %.3f GB in %.2f seconds, %.2f GB/s", out, p->tensors,
         (double)p->bytes / GB, p->seconds, rate_of(p));
  if (result->resumed) printf("; %zu were complete before", result->resumed_tensors);
  if (result->verified)
    printf("; verified on the disk%s", result->went_back ? " and back" : ", there is no way back");
  printf("\n");
  return TOOL_DONE;
}
