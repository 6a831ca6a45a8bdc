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

/* The output's own images, and the numbers of its tensors. */
typedef struct compute_outputs {
  storage_image image[PLAN_MOST_ARGS];
  int engine[PLAN_MOST_ARGS];
} compute_outputs;

/* One run; `dry`: whether it is missing on this rank, alone. */
static llrt_status bind_choice(step_draft *step, const compute_outputs *outputs, int64_t c,
                               bool dry, bool *missing) {
  const recipe_row *row = step->row;
  part_choice choice = draft_choice(step, c);
  plan_computed computed = {.expression = row->expression, .n = row->n_in + row->n_out};
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
    plan_arg_image *arg = &computed.arg[row->n_in + t];
    storage_image image = outputs->image[t];
    arg->tensor = outputs->engine[t];
    arg->name = row->out[t].key;
    arg->output = true;
    LLRT_TRY(cut_output(step, &row->out[t], &choice, &image, arg, &none));
  }
  *missing |= none;
  return none || dry ? LLRT_OK : plan_step_computes(step->binder->plan, &computed);
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
