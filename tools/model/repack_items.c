#include "tools/model/repack_parts.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256                  /* bytes, of tensors in memory: a device's */
#define KEPT_PART ((uint64_t)32 << 20) /* bytes of a kept tensor at a time */

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* ---- a step's tensors ---- */

static void add_part(repack_parts *parts, int rank, int32_t place, bool is_output, int32_t number,
                     size_t bytes) {
  parts->part[parts->n++] = (repack_part){.rank = rank,
                                          .number = number,
                                          .place = place,
                                          .output = is_output,
                                          .at = parts->bytes,
                                          .bytes = bytes};
  parts->bytes += round_up(bytes);
}

static void add_side(const repack *r, int32_t step, bool is_output, repack_parts *parts) {
  int ranks = r->inverse == is_output ? 1 : r->ranks; /* the checkpoint's side is shared */
  for (int rank = 0; rank < ranks; rank++) {
    const llrt_repack *plan = r->rank[rank].plan;
    const llrt_repack_step *s = llrt_repack_step_at(plan, step);
    for (int32_t i = 0; i < (is_output ? s->n_outputs : s->n_inputs); i++) {
      int32_t number = is_output ? s->outputs[i] : s->inputs[i];
      const llrt_repack_tensor *t =
          is_output ? llrt_repack_output(plan, number) : llrt_repack_input(plan, number);
      add_part(parts, rank, i, is_output, number, t->bytes);
    }
  }
}

bool repack_parts_of(const repack *r, int32_t step, repack_parts *out, array_error *error) {
  size_t n = 0, workspace = 0;
  *out = (repack_parts){0};
  for (int rank = 0; rank < r->ranks; rank++) {
    const llrt_repack_step *s = llrt_repack_step_at(r->rank[rank].plan, step);
    n += (size_t)s->n_inputs + (size_t)s->n_outputs;
    if (s->workspace > workspace) workspace = s->workspace;
  }
  out->part = calloc(n + 1, sizeof *out->part);
  if (!out->part) return array_fail(error, "no memory for a step");
  add_side(r, step, false, out);
  add_side(r, step, true, out);
  for (int i = 0; i < out->n && r->rank[0].back; i++) {
    if (out->part[i].output) continue;
    out->part[i].check = out->bytes;
    out->bytes += round_up(out->part[i].bytes);
  }
  out->workspace = out->bytes;
  out->bytes += round_up(workspace > r->back_workspace ? workspace : r->back_workspace);
  return true;
}

void repack_parts_fini(repack_parts *parts) {
  free(parts->part);
  *parts = (repack_parts){0};
}

/* ---- items ---- */

static bool add_item(repack *r, const repack_item *item, array_error *error) {
  size_t n = r->n_items;
  if ((n & (n - 1)) == 0) {
    repack_item *larger = realloc(r->item, (n ? 2 * n : 1) * sizeof *larger);
    if (!larger) return array_fail(error, "no memory for the steps");
    r->item = larger;
  }
  r->item[r->n_items++] = *item;
  if (item->memory > r->largest) {
    r->largest = item->memory;
    r->largest_step = item->step;
  }
  return true;
}

/* A tensor that is kept goes through memory in parts; one without bytes is a part, too. */
static bool add_kept(repack *r, int32_t step, uint64_t bytes, array_error *error) {
  uint64_t from = 0;
  do {
    uint64_t part = bytes - from < KEPT_PART ? bytes - from : KEPT_PART;
    repack_item item = {.step = step, .kept = true, .from = from, .bytes = part, .memory = part};
    if (!add_item(r, &item, error)) return false;
    from += part;
  } while (from < bytes);
  return true;
}

static bool is_kept(const llrt_repack_step *step) {
  return step->row < 0 && step->n_inputs == 1 && step->n_outputs == 1;
}

bool repack_make_items(repack *r, const int32_t *order, int n_steps, array_error *error) {
  for (int rank = 0; rank < r->ranks; rank++) {
    llrt_repack_info info = {.size = sizeof info};
    if (r->rank[rank].back && llrt_repack_get_info(r->rank[rank].back, &info) == LLRT_OK &&
        info.workspace > r->back_workspace)
      r->back_workspace = info.workspace;
  }
  for (int s = 0; s < n_steps; s++) {
    const llrt_repack_step *step = llrt_repack_step_at(r->rank[0].plan, order[s]);
    repack_parts parts;
    bool done;
    if (is_kept(step)) {
      done = add_kept(r, order[s], r->rank[0].in[step->inputs[0]]->bytes, error);
    } else {
      done = repack_parts_of(r, order[s], &parts, error);
      repack_item item = {.step = order[s], .memory = parts.bytes};
      done = done && add_item(r, &item, error);
      repack_parts_fini(&parts);
    }
    if (!done) return false;
  }
  return true;
}

bool repack_is_done(const repack *r, const repack_item *item) {
  for (int rank = 0; rank < (r->inverse ? 1 : r->ranks); rank++) {
    const llrt_repack_step *step = llrt_repack_step_at(r->rank[rank].plan, item->step);
    for (int i = 0; i < step->n_outputs; i++)
      if (!r->to.tensor[r->rank[rank].out[step->outputs[i]]].hash[0]) return false;
  }
  return true;
}
