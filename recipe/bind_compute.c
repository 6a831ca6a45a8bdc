/* A row that computes: for every choice of parts one run of its expression, from the checkpoint's
 * tensors into places of the engine's. */
#include "base/status.h"
#include "recipe/step_draft.h"

#include <stdlib.h>

/* Takes an axis of one position out of the image. */
static void drop_axis(storage_image *image, int axis) {
  for (int i = 0; i < image->n; i++)
    if (image->digit[i].axis > axis) image->digit[i].axis--;
}

/* Sets the tensor that the expression sees: `image` cut to it, stacked axes left out. */
static llrt_status finish_arg(const recipe_tensor *tensor, storage_image *image,
                              plan_arg_image *arg) {
  arg->dtype = tensor->logical;
  image->pads = false; /* they are set before */
  arg->image = *image;
  return LLRT_OK;
}

static llrt_status cut_input(step_draft *step, const recipe_tensor *in, const part_choice *choice,
                             storage_image *image, plan_arg_image *arg, bool *none) {
  for (int i = 0; i < in->n_axes; i++) {
    const axis_part *part = axes_part(axes_entry(&step->axes, in->axis[i].name), choice);
    *none |= part->length == 0;
    if (*none) return LLRT_OK;
    LLRT_TRY(
        image_cut(image, i, part->begin, part->length, part->begin + part->length == part->full));
    arg->shape[arg->rank++] = part->length;
  }
  return finish_arg(in, image, arg);
}

static llrt_status cut_output(step_draft *step, const recipe_tensor *out, const part_choice *choice,
                              storage_image *image, plan_arg_image *arg, bool *none) {
  for (int i = 0; i < out->n_axes; i++) {
    axis_entry *entry = axes_entry(&step->axes, out->axis[i].name);
    draft_place place = draft_place_of(entry, choice);
    *none |= place.part.length == 0;
    if (*none) return LLRT_OK;
    LLRT_TRY(image_cut(image, arg->rank, place.part.at, place.room, place.last));
    if (entry->stacked) drop_axis(image, arg->rank);
    else arg->shape[arg->rank++] = place.part.length;
  }
  return finish_arg(out, image, arg);
}

/* ---- the largest of a whole tensor ---- */

/* All of the row's first input, which every rank looks at. */
static llrt_status whole_input(step_draft *step, const part_choice *choice, int tensor,
                               plan_arg_image *arg) {
  const recipe_tensor *in = &step->row->in[0];
  *arg = (plan_arg_image){.name = in->key, .tensor = tensor};
  LLRT_TRY(draft_image(step, in, in, choice, &arg->image));
  for (int i = 0; i < in->n_axes; i++)
    arg->shape[arg->rank++] = axes_part(axes_entry(&step->axes, in->axis[i].name), choice)->full;
  return finish_arg(in, &arg->image, arg);
}

/* Adds the runs that find one: of each position of the first axis, then of those. *all: where. */
static llrt_status bind_largest(step_draft *step, const recipe_largest *largest,
                                const part_choice *choice, int tensor, plan_arg_image *all) {
  llrt_repack *plan = step->binder->plan;
  plan_computed rows = {.expression = &largest->of_rows, .of = tensor, .n = 2},
                one = {.expression = &largest->of_all, .of = tensor, .n = 2, .stage = 1};
  LLRT_TRY(whole_input(step, choice, tensor, &rows.arg[0]));
  one.arg[0] = (plan_arg_image){
      .name = span_of(RECIPE_ROWS), .dtype = LLRT_F32, .rank = 1, .shape = {rows.arg[0].shape[0]}};
  *all = (plan_arg_image){.name = span_of(RECIPE_ALL), .dtype = LLRT_F32};
  LLRT_TRY(plan_step_words(plan, &one.arg[0]));
  LLRT_TRY(plan_step_words(plan, all));
  rows.arg[1] = one.arg[0];
  one.arg[1] = *all;
  rows.arg[1].output = one.arg[1].output = true;
  LLRT_TRY(plan_step_computes(plan, &rows));
  return plan_step_computes(plan, &one);
}

/* ---- runs ---- */

/* Expressions write no pads. Where the storage of an output has some, they write it to the
 * workspace, in rows, from where it is brought: *brought is the output then. */
static llrt_status avoid_pads(step_draft *step, plan_arg_image *arg, plan_arg_image *brought,
                              bool *through) {
  *through = false;
  for (int a = 0; a < arg->rank; a++) *through |= image_extent(&arg->image, a) > arg->shape[a];
  if (!*through) return LLRT_OK;
  *brought = *arg;
  return plan_step_words(step->binder->plan, arg);
}

static llrt_status add_run(step_draft *step, const plan_computed *asked) {
  llrt_repack *plan = step->binder->plan;
  plan_computed computed = *asked;
  plan_arg_image brought[PLAN_MOST_ARGS];
  bool through[PLAN_MOST_ARGS] = {false};
  for (int i = 0; i < computed.n; i++)
    if (computed.arg[i].output)
      LLRT_TRY(avoid_pads(step, &computed.arg[i], &brought[i], &through[i]));
  LLRT_TRY(plan_step_computes(plan, &computed));
  for (int i = 0; i < computed.n; i++)
    if (through[i]) LLRT_TRY(plan_step_brings(plan, &computed.arg[i], &brought[i]));
  return LLRT_OK;
}

/* The output's own images, and the numbers of its tensors. */
typedef struct compute_outputs {
  storage_image image[PLAN_MOST_ARGS];
  int engine[PLAN_MOST_ARGS];
} compute_outputs;

/* One run, behind those that find what is the largest; `dry`: whether it is missing on this rank,
 * alone. */
static llrt_status bind_choice(step_draft *step, const compute_outputs *outputs, int64_t c,
                               bool dry, bool *missing) {
  const recipe_row *row = step->row;
  part_choice choice = draft_choice(step, c);
  int of = step->tensor[c], n_given = row->n_in + row->n_largest;
  plan_computed computed = {
      .expression = row->expression, .of = of, .n = n_given + row->n_out, .stage = 2};
  bool none = false;
  for (int t = 0; t < row->n_in && !none; t++) {
    const llrt_named_tensor *given;
    storage_image image;
    size_t bytes;
    computed.arg[t].tensor = step->tensor[t * step->choices + c];
    computed.arg[t].name = row->in[t].key;
    given = &step->binder->given.tensor[computed.arg[t].tensor];
    LLRT_TRY(draft_image(step, &row->in[t], &row->in[t], &choice, &image));
    LLRT_TRY(draft_check_bytes(&row->in[t], &image, given->rank, given->shape, &bytes));
    LLRT_TRY(cut_input(step, &row->in[t], &choice, &image, &computed.arg[t], &none));
  }
  for (int t = 0; t < row->n_out && !none; t++) {
    plan_arg_image *arg = &computed.arg[n_given + t];
    storage_image image = outputs->image[t];
    arg->tensor = outputs->engine[t];
    arg->name = row->out[t].key;
    arg->output = true;
    LLRT_TRY(cut_output(step, &row->out[t], &choice, &image, arg, &none));
  }
  *missing |= none;
  if (none || dry) return LLRT_OK;
  for (int i = 0; i < row->n_largest; i++) {
    plan_arg_image *all = &computed.arg[row->n_in + i];
    LLRT_TRY(bind_largest(step, &row->largest[i], &choice, of, all));
    all->name = row->largest[i].name;
  }
  return add_run(step, &computed);
}

/* Where parts are missing, or places are padded, outputs are zero first. */
static llrt_status set_outputs(step_draft *step, const compute_outputs *outputs, bool missing) {
  for (int t = 0; t < step->row->n_out; t++)
    if (missing || outputs->image[t].pads)
      LLRT_TRY(plan_step_sets(step->binder->plan, outputs->engine[t],
                              outputs->image[t].pads ? (int)outputs->image[t].pad_value : 0));
  return LLRT_OK;
}

llrt_status draft_compute(step_draft *step) {
  const recipe_row *row = step->row;
  compute_outputs outputs;
  bool missing = row->shard == SHARD_FIRST && step->binder->rank > 0, absent = missing;
  if (step->binder->plan->inverse)
    return json_error(LLRT_UNSUPPORTED, row->compute_at, "the row has no inverse: it computes");
  for (int t = 0; t < row->n_out; t++) {
    llrt_status status = draft_output(step, &row->out[t], &outputs.image[t], &outputs.engine[t]);
    if (status) return json_error(status, row->out[t].at, "%s", llrt_error_text());
  }
  for (int dry = 1; dry >= 0; dry--) {
    for (int64_t c = 0; c < step->choices && !absent; c++) {
      llrt_status status = bind_choice(step, &outputs, c, dry, &missing);
      if (status) return json_error(status, row->compute_at, "%s", llrt_error_text());
    }
    if (dry) LLRT_TRY(set_outputs(step, &outputs, missing));
  }
  return LLRT_OK;
}
