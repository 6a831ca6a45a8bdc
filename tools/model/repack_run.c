/* The run: items through the pipeline into the stage. */
#include "tools/model/repack.h"

#include "tools/common/library_says.h"
#include "tools/model/digest.h"
#include "tools/model/pipeline.h"
#include "tools/model/repack_parts.h"
#include "tools/model/repack_stage.h"

#include <llrt/llrt.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Addresses by a rank's inputs and outputs; all NULL between steps. */
typedef struct addresses {
  const void **in;
  void **out;
} addresses;

typedef struct run {
  repack *r;
  const repack_run_params *params;
  stage stage;
  size_t *todo; /* items */
  size_t n_todo;
  addresses *rank;
  void *device_memory; /* of one item at a time, as its stream has them; NULL: the host's is used */
  llrt_event *begun[2], *ended[2]; /* by items in turn, where they are queued; NULL: they are not */
  bool on_host, pinned;
  digest *kept; /* of the tensor that is being copied */
  struct timespec began;
  repack_progress progress;
} run;

static const repack_item *item_of(const run *u, size_t number) {
  return &u->r->item[u->todo[number]];
}

static bool fail_library(array_error *error) { return array_fail(error, "%.400s", library_says()); }

static const llrt_repack_step *step_of(const repack *r, int rank, int32_t step) {
  return llrt_repack_step_at(r->rank[rank].plan, step);
}

static size_t tensor_of(const repack *r, const repack_part *part) {
  return r->rank[part->rank].out[part->number];
}

/* ---- reading ---- */

static size_t bytes_of(void *user, size_t number) { return item_of(user, number)->memory; }

static bool read_item(void *user, size_t number, void *memory, array_error *error) {
  const run *u = user;
  const repack *r = u->r;
  const repack_item *item = item_of(u, number);
  repack_parts parts;
  bool done = true;
  if (item->kept) {
    const model_tensor *t = r->rank[0].in[step_of(r, 0, item->step)->inputs[0]];
    return model_read(&r->from[0], t, item->from, item->bytes, memory, error);
  }
  if (!repack_parts_of(r, item->step, &parts, error)) return false;
  for (int i = 0; i < parts.n && done; i++) {
    const repack_part *part = &parts.part[i];
    if (part->output) continue;
    done = model_read(&r->from[part->rank], r->rank[part->rank].in[part->number], 0, part->bytes,
                      (char *)memory + part->at, error);
  }
  repack_parts_fini(&parts);
  return done;
}

/* ---- converting ---- */

/* Sets, or clears, where each rank's inputs and outputs of a step lie. */
static void place(run *u, const repack_parts *parts, int32_t step, char *memory) {
  const repack *r = u->r;
  for (int i = 0; i < parts->n; i++) {
    const repack_part *part = &parts->part[i];
    bool shared = part->output == r->inverse;
    for (int rank = 0; rank < r->ranks; rank++) {
      const llrt_repack_step *s = step_of(r, rank, step);
      if (!shared && rank != part->rank) continue;
      void *at = memory ? memory + part->at : NULL;
      if (part->output) u->rank[rank].out[s->outputs[part->place]] = at;
      else u->rank[rank].in[s->inputs[part->place]] = at;
    }
  }
}

/* Copies inputs to the device, or outputs from it. */
static bool copy_parts(const run *u, const repack_parts *parts, char *memory, bool outputs,
                       array_error *error) {
  for (int i = 0; i < parts->n && !u->on_host; i++) {
    const repack_part *part = &parts->part[i];
    char *host = memory + part->at, *there = (char *)u->device_memory + part->at;
    if (part->output != outputs) continue;
    llrt_status status = outputs ? llrt_memory_copy(u->params->device, host, there, part->bytes,
                                                    LLRT_COPY_FROM_DEVICE, NULL)
                                 : llrt_memory_copy(u->params->device, there, host, part->bytes,
                                                    LLRT_COPY_TO_DEVICE, NULL);
    if (status != LLRT_OK) return fail_library(error);
  }
  return true;
}

/* The inverse of several ranks writes a part of each tensor: what none writes is zero. */
static bool clear_outputs(const run *u, const repack_parts *parts, char *at, array_error *error) {
  for (int i = 0; i < parts->n && u->r->inverse && u->r->ranks > 1; i++)
    if (parts->part[i].output && parts->part[i].bytes &&
        llrt_memory_set(u->params->device, at + parts->part[i].at, 0, parts->part[i].bytes, NULL) !=
            LLRT_OK)
      return fail_library(error);
  return true;
}

/* Waits for an item, or marks where it ends: then finish_item waits. */
static bool end_step(const run *u, size_t number, array_error *error) {
  llrt_event *ended = u->ended[number % 2];
  llrt_status status =
      ended ? llrt_event_record(ended, NULL) : llrt_stream_synchronize(u->params->device, NULL);
  return status == LLRT_OK || fail_library(error);
}

static bool begin_step(const run *u, size_t number, array_error *error) {
  llrt_event *begun = u->begun[number % 2];
  return !begun || llrt_event_record(begun, NULL) == LLRT_OK || fail_library(error);
}

static bool run_step(run *u, const repack_parts *parts, size_t number, char *memory,
                     array_error *error) {
  int32_t step = item_of(u, number)->step;
  char *at = u->on_host ? memory : u->device_memory;
  bool done = begin_step(u, number, error) && copy_parts(u, parts, memory, false, error) &&
              clear_outputs(u, parts, at, error);
  place(u, parts, step, at);
  for (int rank = 0; rank < u->r->ranks && done; rank++)
    done = llrt_repack_run_step(u->r->rank[rank].plan, step, u->rank[rank].in, u->rank[rank].out,
                                at + parts->workspace, NULL) == LLRT_OK ||
           fail_library(error);
  place(u, parts, step, NULL);
  done = done && copy_parts(u, parts, memory, true, error) && end_step(u, number, error);
  return done && (!u->r->rank[0].back ||
                  repack_check_back(u->r, u->params->device, parts, memory, at, error));
}

static bool convert_item(void *user, size_t number, void *memory, array_error *error) {
  run *u = user;
  const repack_item *item = item_of(u, number);
  repack_parts parts;
  if (item->kept) return true;
  if (!repack_parts_of(u->r, item->step, &parts, error)) return false;
  bool done = run_step(u, &parts, number, memory, error);
  repack_parts_fini(&parts);
  return done;
}

static bool finish_item(void *user, size_t number, array_error *error) {
  const run *u = user;
  double unused;
  if (item_of(u, number)->kept || !u->ended[number % 2]) return true;
  return llrt_event_elapsed(u->begun[number % 2], u->ended[number % 2], &unused) == LLRT_OK ||
         fail_library(error);
}

/* ---- writing ---- */

static void tell_progress(run *u, uint64_t bytes, size_t tensors) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  u->progress.bytes += bytes;
  u->progress.tensors += tensors;
  u->progress.seconds =
      (double)(now.tv_sec - u->began.tv_sec) + 1e-9 * (double)(now.tv_nsec - u->began.tv_nsec);
  if (u->params->progress) u->params->progress(u->params->user, &u->progress);
}

static bool is_last(const repack *r, const repack_item *item) {
  return item->from + item->bytes == r->rank[0].in[step_of(r, 0, item->step)->inputs[0]]->bytes;
}

/* A part of a tensor that is kept, in the file of each rank. */
static bool write_kept(run *u, const repack_item *item, const void *memory, array_error *error) {
  const repack *r = u->r;
  int files = r->inverse ? 1 : r->ranks;
  char hash[DIGEST_SIZE];
  bool last = is_last(r, item), done = true;
  if (item->from == 0 && !(u->kept = digest_begin()))
    return array_fail(error, "no memory for a digest");
  digest_add(u->kept, memory, item->bytes);
  if (last) {
    digest_end(u->kept, hash);
    u->kept = NULL;
  }
  for (int rank = 0; rank < files && done; rank++) {
    size_t number = r->rank[rank].out[step_of(r, rank, item->step)->outputs[0]];
    output_tensor *t = &u->r->to.tensor[number];
    done = stage_write(&u->stage, &r->to, t->file, t->at + item->from, memory, item->bytes, error);
    if (last) memcpy(t->hash, hash, sizeof t->hash);
  }
  if (done) tell_progress(u, item->bytes * (uint64_t)files, last ? (size_t)files : 0);
  return done;
}

static bool write_item(void *user, size_t number, const void *memory, array_error *error) {
  run *u = user;
  const repack_item *item = item_of(u, number);
  repack_parts parts;
  bool done = true;
  if (item->kept) return write_kept(u, item, memory, error);
  if (!repack_parts_of(u->r, item->step, &parts, error)) return false;
  for (int i = 0; i < parts.n && done; i++) {
    const repack_part *part = &parts.part[i];
    if (!part->output) continue;
    output_tensor *t = &u->r->to.tensor[tensor_of(u->r, part)];
    const char *data = (const char *)memory + part->at;
    digest_of(data, t->bytes, t->hash);
    done = stage_write(&u->stage, &u->r->to, t->file, t->at, data, t->bytes, error);
    if (done) tell_progress(u, t->bytes, 1);
  }
  repack_parts_fini(&parts);
  return done;
}

/* All tensors of items that are whole go into the journal at once. */
static bool settle_items(void *user, size_t first, size_t end, array_error *error) {
  run *u = user;
  size_t n = 0, *number = calloc(u->r->to.n_tensors + 1, sizeof *number);
  if (!number) return array_fail(error, "no memory for the journal");
  for (size_t i = first; i < end; i++) {
    const repack_item *item = item_of(u, i);
    if (item->kept && !is_last(u->r, item)) continue;
    for (int rank = 0; rank < (u->r->inverse ? 1 : u->r->ranks); rank++) {
      const llrt_repack_step *s = step_of(u->r, rank, item->step);
      for (int k = 0; k < s->n_outputs; k++) number[n++] = u->r->rank[rank].out[s->outputs[k]];
    }
  }
  bool done = stage_note(&u->stage, &u->r->to, number, n, error);
  free(number);
  return done;
}

/* ---- all together ---- */

static bool list_todo(run *u, repack_result *result, array_error *error) {
  const repack *r = u->r;
  u->todo = calloc(r->n_items + 1, sizeof *u->todo);
  if (!u->todo) return array_fail(error, "no memory for the steps");
  for (size_t i = 0; i < r->n_items; i++)
    if (!repack_is_done(r, &r->item[i])) u->todo[u->n_todo++] = i;
  for (size_t i = 0; i < r->to.n_tensors; i++) {
    bool complete = r->to.tensor[i].hash[0];
    result->resumed_tensors += complete;
    u->progress.all_tensors += !complete;
    if (!complete) u->progress.all_bytes += r->to.tensor[i].bytes;
  }
  return true;
}

static bool make_addresses(run *u, array_error *error) {
  u->rank = calloc((size_t)u->r->ranks + 1, sizeof *u->rank);
  for (int rank = 0; rank < u->r->ranks && u->rank; rank++) {
    llrt_repack_info info = {.size = sizeof info};
    if (llrt_repack_get_info(u->r->rank[rank].plan, &info) != LLRT_OK) return fail_library(error);
    u->rank[rank].in = calloc((size_t)info.n_inputs + 1, sizeof *u->rank[rank].in);
    u->rank[rank].out = calloc((size_t)info.n_outputs + 1, sizeof *u->rank[rank].out);
    if (!u->rank[rank].in || !u->rank[rank].out) return array_fail(error, "no memory for a plan");
  }
  return u->rank || array_fail(error, "no memory for a plan");
}

static bool open_device(run *u, array_error *error) {
  llrt_device_info info = {.size = sizeof info};
  if (llrt_device_get_info(u->params->device, &info) != LLRT_OK) return fail_library(error);
  u->on_host = strcmp(info.name, "host") == 0;
  if (u->on_host || u->r->largest == 0) return true;
  return llrt_memory_allocate(u->params->device, u->r->largest, &u->device_memory) == LLRT_OK ||
         fail_library(error);
}

/* Pins the memory of all items, so that copies are queued; where it cannot be, they are not. */
static void pin(void *user, void *block, size_t bytes) {
  run *u = user;
  u->pinned = !u->on_host && llrt_memory_pin(u->params->device, block, bytes) == LLRT_OK;
  bool queues = u->pinned && !u->r->rank[0].back;
  for (int i = 0; i < 2 && queues; i++)
    queues = llrt_event_create(u->params->device, &u->begun[i]) == LLRT_OK &&
             llrt_event_create(u->params->device, &u->ended[i]) == LLRT_OK;
  for (int i = 0; i < 2 && !queues; i++) {
    llrt_event_destroy(&u->begun[i]);
    llrt_event_destroy(&u->ended[i]);
  }
}

static void unpin(void *user, void *block, size_t bytes) {
  run *u = user;
  (void)bytes;
  if (!u->on_host) (void)llrt_stream_synchronize(u->params->device, NULL);
  for (int i = 0; i < 2; i++) {
    llrt_event_destroy(&u->begun[i]);
    llrt_event_destroy(&u->ended[i]);
  }
  if (u->pinned) (void)llrt_memory_unpin(u->params->device, block);
}

static bool check_memory(const repack *r, uint64_t memory, array_error *error) {
  if (memory >= r->largest) return true;
  const llrt_repack_step *step = step_of(r, 0, r->largest_step);
  const char *name =
      step->n_outputs ? llrt_repack_output(r->rank[0].plan, step->outputs[0])->name : "a tensor";
  return array_fail(error, "'%.100s' takes %llu bytes of memory at once, %llu are allowed", name,
                    (unsigned long long)r->largest, (unsigned long long)memory);
}

static bool run_all(run *u, uint64_t memory, repack_result *result, array_error *error) {
  pipeline p = {.user = u,
                .bytes = bytes_of,
                .read = read_item,
                .convert = convert_item,
                .finish = finish_item,
                .prepare = pin,
                .release = unpin,
                .write = write_item,
                .settle = settle_items,
                .memory = memory};
  if (!list_todo(u, result, error) || !make_addresses(u, error) || !open_device(u, error))
    return false;
  clock_gettime(CLOCK_MONOTONIC, &u->began);
  p.n_items = u->n_todo;
  bool done = pipeline_run(&p, error);
  for (int i = 0; i < u->r->n_models && done; i++) done = model_unchanged(&u->r->from[i], error);
  if (done && u->params->verifies) done = repack_verify(u->r, &u->stage, error);
  done =
      done && repack_add_rest(u->r, &u->stage, error) && stage_finish(&u->stage, &u->r->to, error);
  if (done) tell_progress(u, 0, 0);
  result->done = u->progress;
  return done;
}

static void fini(run *u) {
  char unused[DIGEST_SIZE];
  if (u->kept) digest_end(u->kept, unused);
  for (int rank = 0; rank < u->r->ranks && u->rank; rank++) {
    free(u->rank[rank].in);
    free(u->rank[rank].out);
  }
  if (u->device_memory) llrt_memory_free(u->params->device, u->device_memory);
  free(u->rank);
  free(u->todo);
  stage_close(&u->stage);
}

bool repack_run(repack *r, const char *out, const repack_run_params *params, repack_result *result,
                array_error *error) {
  run u = {.r = r, .params = params, .stage = {.journal = -1}};
  uint64_t memory = params->memory ? params->memory : REPACK_PRESET_MEMORY + r->largest;
  *result = (repack_result){.memory = memory, .verified = params->verifies, .went_back = true};
  for (int rank = 0; rank < r->ranks; rank++)
    result->went_back &= params->verifies && r->rank[rank].back;
  if (!check_memory(r, memory, error)) return false;
  const char *const *target = r->folder ? NULL : (const char *const *)r->target;
  if (!stage_open(out, target, &r->to, r->identity, &u.stage, error)) return false;
  result->resumed = u.stage.resumed;
  bool done = run_all(&u, memory, result, error);
  fini(&u);
  return done;
}
