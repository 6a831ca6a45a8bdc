/* --verify: what a step made is converted back, and compared with what was read. */
#include "tools/common/library_says.h"
#include "tools/model/repack_parts.h"

#include <llrt/llrt.h>

#include <stdlib.h>
#include <string.h>

/* The step of a plan back that makes the first of a step's inputs again; -1: there is none. */
static int32_t step_back(const repack *r, const repack_part *part) {
  const llrt_repack *back = r->rank[part->rank].back;
  const char *name = llrt_repack_input(r->rank[part->rank].plan, part->number)->name;
  const llrt_repack_tensor *same = llrt_repack_output(back, part->number);
  if (same && strcmp(same->name, name) == 0) return same->step;
  for (int i = 0; (same = llrt_repack_output(back, i)); i++)
    if (strcmp(same->name, name) == 0) return same->step;
  return -1;
}

/* Where a name of a step lies among its parts; NULL: it is not there. */
static char *find_part(const repack *r, const repack_parts *parts, int rank, bool is_output,
                       const char *name, char *at) {
  for (int i = 0; i < parts->n; i++) {
    const repack_part *part = &parts->part[i];
    bool shared = part->output == r->inverse;
    if (part->output != is_output || (!shared && part->rank != rank)) continue;
    const llrt_repack *plan = r->rank[part->rank].plan;
    const llrt_repack_tensor *t =
        is_output ? llrt_repack_output(plan, part->number) : llrt_repack_input(plan, part->number);
    if (strcmp(t->name, name) == 0) return at + (is_output ? part->at : part->check);
  }
  return NULL;
}

static bool run_back(const repack *r, const repack_parts *parts, int rank, int32_t step, char *at,
                     array_error *error) {
  const llrt_repack *back = r->rank[rank].back;
  const llrt_repack_step *s = llrt_repack_step_at(back, step);
  llrt_repack_info info = {.size = sizeof info};
  if (!s || llrt_repack_get_info(back, &info) != LLRT_OK)
    return array_fail(error, "the way back has no such step");
  const void **in = calloc((size_t)info.n_inputs + 1, sizeof *in);
  void **out = calloc((size_t)info.n_outputs + 1, sizeof *out);
  bool done = (in && out) || array_fail(error, "no memory for a step");
  for (int i = 0; i < s->n_inputs && done; i++)
    in[s->inputs[i]] =
        find_part(r, parts, rank, true, llrt_repack_input(back, s->inputs[i])->name, at);
  for (int i = 0; i < s->n_outputs && done; i++)
    out[s->outputs[i]] =
        find_part(r, parts, rank, false, llrt_repack_output(back, s->outputs[i])->name, at);
  if (done && llrt_repack_run_step(back, step, in, out, at + parts->workspace, NULL) != LLRT_OK)
    done = array_fail(error, "%.400s", library_says());
  free(in);
  free(out);
  return done;
}

/* What was made again is the input, byte for byte. */
static bool compare_back(const repack *r, llrt_device *device, const repack_part *part,
                         const char *memory, char *at, array_error *error) {
  const char *name = llrt_repack_input(r->rank[part->rank].plan, part->number)->name;
  const void *made = at + part->check;
  void *copy = NULL;
  if (at != memory) {
    made = copy = malloc(part->bytes + 1);
    if (!copy) return array_fail(error, "no memory to compare '%.64s'", name);
    if (llrt_memory_copy(device, copy, at + part->check, part->bytes, LLRT_COPY_FROM_DEVICE,
                         NULL) != LLRT_OK ||
        llrt_stream_synchronize(device, NULL) != LLRT_OK) {
      free(copy);
      return array_fail(error, "%.400s", library_says());
    }
  }
  bool same = memcmp(made, memory + part->at, part->bytes) == 0;
  free(copy);
  return same || array_fail(error, "'%.64s', converted and back, is not what it was", name);
}

bool repack_check_back(const repack *r, llrt_device *device, const repack_parts *parts,
                       const char *memory, char *at, array_error *error) {
  bool done = true;
  for (int i = 0; i < parts->n && done; i++) {
    const repack_part *part = &parts->part[i];
    int32_t back = part->output || part->place > 0 ? -1 : step_back(r, part);
    for (int rank = 0; rank < r->ranks && done && back >= 0; rank++)
      if (!r->inverse || rank == part->rank) done = run_back(r, parts, rank, back, at, error);
  }
  for (int i = 0; i < parts->n && done; i++)
    if (!parts->part[i].output && step_back(r, &parts->part[i]) >= 0)
      done = compare_back(r, device, &parts->part[i], memory, at, error);
  return done;
}
