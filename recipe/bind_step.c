/* One step: the tensors of a row whose names are known. */
#include "base/memory.h"
#include "base/status.h"
#include "recipe/step_draft.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  LOGICAL = 16
}; /* numbers of a step's axes, beside those of a storage's, while it is split */

part_choice draft_choice(const step_draft *step, int64_t number) {
  part_choice choice = {{0}};
  for (int f = 0; f < step->row->n_fuses; f++) {
    choice.part[f] = number % step->axes.n_parts[f];
    number /= step->axes.n_parts[f];
  }
  return choice;
}

/* ---- names ---- */

/* The row's names, and those of the parts; `digits` keeps numbers' text. */
static llrt_status names_of(const step_draft *step, const part_choice *choice,
                            char digits[RECIPE_MAX_FUSES][24], row_names *names) {
  *names = *step->known;
  for (int f = 0; f < step->row->n_fuses && choice; f++) {
    const recipe_fuse *fuse = &step->row->fuse[f];
    const json_value *part = fuse->parts ? fuse->parts->first : NULL;
    for (int64_t i = 0; part && i < choice->part[f]; i++) part = part->next;
    snprintf(digits[f], 24, "%lld", (long long)choice->part[f]);
    if (!names_add(names, fuse->axis, span_of(part ? part->text : digits[f])))
      return llrt_error(LLRT_UNSUPPORTED, "more than %d names in braces", NAMES_MAX);
  }
  return LLRT_OK;
}

/* The name of a tensor of the row. Ownership: llrt_text_fini. */
static llrt_status name_of(const step_draft *step, const recipe_tensor *tensor,
                           const part_choice *choice, llrt_text *name) {
  char digits[RECIPE_MAX_FUSES][24];
  row_names names;
  llrt_text_init(name);
  LLRT_TRY(names_of(step, choice, digits, &names));
  return names_expand(tensor->name, step->row->each, &names, name);
}

bool bind_type_fits(llrt_dtype wanted, llrt_dtype found) {
  bool any = wanted >= LLRT_B4 && wanted <= LLRT_B128;
  return wanted == found || (any && llrt_dtype_bits(wanted) == llrt_dtype_bits(found));
}

static llrt_status find_tensor(step_draft *step, const recipe_tensor *tensor,
                               const part_choice *choice, int32_t *number) {
  llrt_text name;
  llrt_status status = name_of(step, tensor, choice, &name);
  *number = status ? -1 : checkpoint_find(&step->binder->given, name.data ? name.data : "");
  if (!status && *number < 0)
    status = llrt_error(LLRT_INVALID_ARGUMENT, "there is no tensor %s", name.data);
  llrt_text_fini(&name);
  return status ? json_error(status, tensor->at, "%s", llrt_error_text()) : LLRT_OK;
}

/* That the tensor is as the recipe says, and no other step's. */
static llrt_status use_tensor(step_draft *step, const recipe_tensor *tensor, int number) {
  llrt_repack *plan = step->binder->plan;
  const llrt_named_tensor *found = &step->binder->given.tensor[number];
  int32_t *of_step = &step->binder->given.step[number], now = plan->steps.n - 1;
  if (*of_step >= 0 && *of_step != now)
    return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "rows[%d] uses %s too",
                      PLAN_AT(plan->steps, llrt_repack_step, *of_step)->row, found->name);
  if (!bind_type_fits(tensor->stored, found->dtype))
    return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%s is of %s, and not of %s", found->name,
                      llrt_dtype_name(found->dtype), llrt_dtype_name(tensor->stored));
  if (tensor->n_shape != found->rank)
    return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%s has %d axes, and not %d", found->name,
                      found->rank, tensor->n_shape);
  if (*of_step == now) return LLRT_OK;
  *of_step = now;
  return plan_step_uses(plan, number);
}

static llrt_status find_tensors(step_draft *step) {
  const recipe_row *row = step->row;
  step->choices = 1;
  for (int f = 0; f < row->n_fuses; f++) step->choices *= step->axes.n_parts[f];
  step->tensor = memory_zeroed((size_t)(row->n_in * step->choices) + 1, sizeof *step->tensor);
  if (!step->tensor) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a step");
  for (int t = 0; t < row->n_in; t++)
    for (int64_t c = 0; c < step->choices; c++) {
      part_choice choice = draft_choice(step, c);
      int32_t *number = &step->tensor[t * step->choices + c];
      LLRT_TRY(find_tensor(step, &row->in[t], &choice, number));
      if (step->first < 0) step->first = *number;
      LLRT_TRY(use_tensor(step, &row->in[t], *number));
    }
  return LLRT_OK;
}

/* Shapes may follow from those of other tensors: what the first look does not tell the second does.
 */
static llrt_status learn_axes(step_draft *step) {
  for (int look = 0; look < 2; look++)
    for (int t = 0; t < step->row->n_in; t++)
      for (int64_t c = 0; c < step->choices; c++) {
        part_choice choice = draft_choice(step, c);
        const llrt_named_tensor *given =
            &step->binder->given.tensor[step->tensor[t * step->choices + c]];
        LLRT_TRY(axes_learn(&step->axes, &step->row->in[t], &choice, given, look == 1));
      }
  return axes_settle(&step->axes);
}

/* ---- images ---- */

/* The storage's text with its $(expressions) as numbers. */
static llrt_status storage_text(const recipe_tensor *tensor, const number_scope *scope,
                                llrt_text *out) {
  const char *at = tensor->storage.text, *end = at + tensor->storage.length;
  while (at < end) {
    const char *open = memmem(at, (size_t)(end - at), "$(", 2), *close = open ? open + 2 : end;
    llrt_text_add_bytes(out, at, (size_t)((open ? open : end) - at));
    if (!open) break;
    for (int depth = 1; close < end; close++) {
      depth += (*close == '(') - (*close == ')');
      if (depth == 0) break;
    }
    if (close == end) return llrt_error(LLRT_INVALID_ARGUMENT, "a $( without its )");
    int64_t value;
    LLRT_TRY(number_whole(open + 2, (size_t)(close - open - 2), scope, &value));
    llrt_text_add(out, "%lld", (long long)value);
    at = close + 1;
  }
  return llrt_text_status(out);
}

static llrt_status make_storage(const recipe_tensor *tensor, const number_scope *scope,
                                const int64_t *shape, llrt_storage *storage) {
  if (tensor->storage.length == 0) return llrt_storage_row_major(tensor->n_groups, storage);
  llrt_text text;
  llrt_text_init(&text);
  llrt_status status = storage_text(tensor, scope, &text);
  if (!status) status = llrt_storage_parse(text.data, tensor->n_groups, shape, storage);
  llrt_text_fini(&text);
  return status;
}

/* The extent of an axis of a tensor as its memory has it. */
static int64_t extent_of(step_draft *step, span axis, const part_choice *choice) {
  axis_entry *entry = axes_entry(&step->axes, axis);
  return choice ? axes_part(entry, choice)->full : entry->padded;
}

/* The number of an axis in a step's moves: its place among the output's. */
static int number_of(const recipe_tensor *out, span axis) {
  for (int i = 0; i < out->n_axes; i++)
    if (span_is(out->axis[i].name, axis)) return i;
  return -1;
}

static llrt_status split_groups(step_draft *step, const recipe_tensor *tensor,
                                const recipe_tensor *out, const part_choice *choice,
                                storage_image *image) {
  for (int g = 0; g < tensor->n_groups; g++) {
    int32_t to[LLRT_MAX_RANK];
    int64_t extent[LLRT_MAX_RANK];
    for (int i = 0; i < tensor->group[g].n; i++) {
      const recipe_axis *axis = &tensor->axis[tensor->group[g].first + i];
      to[i] = LOGICAL + number_of(out, axis->name);
      extent[i] = extent_of(step, axis->name, choice);
    }
    LLRT_TRY(image_split(image, g, tensor->group[g].n, to, extent));
  }
  for (int i = 0; i < image->n; i++) image->digit[i].axis -= LOGICAL;
  for (int i = 0; i < tensor->n_axes; i++)
    if (tensor->axis[i].down)
      LLRT_TRY(image_turn(image, number_of(out, tensor->axis[i].name),
                          extent_of(step, tensor->axis[i].name, choice)));
  return LLRT_OK;
}

llrt_status draft_image(step_draft *step, const recipe_tensor *tensor, const recipe_tensor *out,
                        const part_choice *choice, storage_image *image) {
  axes_scope scope = {&step->axes, choice};
  number_scope numbers = {.user = &scope, .find = axes_find};
  int64_t shape[LLRT_MAX_RANK];
  llrt_storage storage;
  for (int g = 0; g < tensor->n_groups; g++) {
    shape[g] = 1;
    for (int i = 0; i < tensor->group[g].n; i++)
      if (__builtin_mul_overflow(
              shape[g], extent_of(step, tensor->axis[tensor->group[g].first + i].name, choice),
              &shape[g]))
        return llrt_error(LLRT_INVALID_ARGUMENT, "an axis is too long");
  }
  LLRT_TRY(make_storage(tensor, &numbers, shape, &storage));
  LLRT_TRY(image_make(&storage, tensor->n_groups, shape, image));
  return split_groups(step, tensor, out, choice, image);
}

llrt_status draft_check_bytes(const recipe_tensor *tensor, const storage_image *image, int rank,
                              const int64_t *shape, size_t *bytes) {
  unsigned __int128 stored = (unsigned)llrt_dtype_bits(tensor->stored),
                    meant = (unsigned)llrt_dtype_bits(tensor->logical);
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0 || stored >> 66) return llrt_error(LLRT_INVALID_ARGUMENT, "too many elements");
    stored *= (uint64_t)shape[i];
  }
  meant *= (uint64_t)image->span;
  *bytes = (size_t)((stored + 7) / 8);
  if (stored != meant || stored >> 66)
    return llrt_error(LLRT_INVALID_ARGUMENT, "stored are %llu bytes, meant %llu",
                      (unsigned long long)(stored / 8), (unsigned long long)(meant / 8));
  return LLRT_OK;
}

/* ---- outputs ---- */

/* The engine's tensor: its stored shape and bytes. */
static llrt_status shape_of(step_draft *step, const recipe_tensor *out, llrt_repack_tensor *made) {
  axes_scope scope = {&step->axes, NULL};
  number_scope numbers = {.user = &scope, .find = axes_find};
  *made = (llrt_repack_tensor){.dtype = out->stored, .rank = out->n_shape, .place = -1};
  for (int i = 0; i < out->n_shape; i++)
    LLRT_TRY(number_whole(out->shape[i].text, out->shape[i].length, &numbers, &made->shape[i]));
  return LLRT_OK;
}

static llrt_status add_output(step_draft *step, const recipe_tensor *out, llrt_repack_tensor *made,
                              int *number) {
  llrt_text name;
  llrt_status status = name_of(step, out, NULL, &name);
  if (!status) {
    made->name = plan_text(step->binder->plan, (span){name.data, name.length});
    status = made->name ? plan_step_makes(step->binder->plan, made, number)
                        : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a name");
  }
  llrt_text_fini(&name);
  return status;
}

/* What pads of the engine's tensor become: the storage's own value, zeros where the row pads axes,
 * or there are none. */
static llrt_status settle_pads(step_draft *step, const recipe_tensor *out, storage_image *image) {
  bool rows = false, own = false;
  int64_t places = 1;
  for (int i = 0; i < out->n_axes; i++) {
    axis_entry *entry = axes_entry(&step->axes, out->axis[i].name);
    int64_t n = entry->fuse >= 0 && !entry->stacked ? step->axes.n_parts[entry->fuse] : 1;
    rows |= entry->padded > entry->local;
    for (int64_t p = 0; p < n; p++) rows |= entry->part[p].room > entry->part[p].length;
    own |= image_extent(image, i) > entry->padded;
  }
  for (int i = 0; i < image->n; i++) places *= image->digit[i].extent;
  if (places != image->span)
    return llrt_error(LLRT_UNSUPPORTED, "the storage leaves gaps between elements");
  if (own && !image->pads)
    return llrt_error(LLRT_UNSUPPORTED, "the storage leaves its pads as they are: give it a pad=");
  if (rows && own && image->pad_value)
    return llrt_error(LLRT_UNSUPPORTED, "axes are padded with 0, and the storage with %llu",
                      (unsigned long long)image->pad_value);
  if (rows) image->pad_value = 0;
  image->pads = rows || own;
  return LLRT_OK;
}

/* ---- moves ---- */

static const recipe_maps *maps_of(const recipe_row *row, span key) {
  for (int i = 0; i < row->n_maps; i++)
    if (span_is(row->maps[i].key, key)) return &row->maps[i];
  return NULL;
}

draft_place draft_place_of(axis_entry *entry, const part_choice *choice) {
  axis_part part = *axes_part(entry, choice);
  if (entry->stacked) {
    int64_t at = choice->part[entry->fuse] - part.begin;
    bool there = at >= 0 && at < part.length;
    part = (axis_part){.length = there, .room = 1, .at = at};
  }
  bool last = part.at + part.room == entry->local;
  return (draft_place){
      .part = part, .room = last ? entry->padded - part.at : part.room, .last = last};
}

/* Keeps of both images what this choice of parts moves; *none: nothing, on this rank. */
static llrt_status cut_images(step_draft *step, const recipe_tensor *in, const recipe_tensor *out,
                              const part_choice *choice, plan_pair *pair, bool *none) {
  *none = false;
  pair->rank = out->n_axes;
  for (int i = 0; i < out->n_axes && !*none; i++) {
    draft_place place = draft_place_of(axes_entry(&step->axes, out->axis[i].name), choice);
    axis_part part = place.part;
    *none |= part.length == 0;
    if (*none) return LLRT_OK;
    bool of_in = number_of(in, out->axis[i].name) >= 0;
    if (of_in)
      LLRT_TRY(image_cut(&pair->from, i, part.begin, part.length,
                         part.begin + part.length == part.full));
    LLRT_TRY(image_cut(&pair->to, i, part.at, place.room, place.last));
    pair->whole &= part.begin == 0 && part.length == part.full && part.at == 0 && place.last;
    pair->shape[i] = part.length;
  }
  return LLRT_OK;
}

/* Whether the row has the tensor under one key alone: two outputs cannot both take its memory. */
static bool is_alone(const step_draft *step, int32_t tensor) {
  int uses = 0;
  for (int64_t i = 0; i < step->row->n_in * step->choices; i++) uses += step->tensor[i] == tensor;
  return uses == 1;
}

static llrt_status add_move(step_draft *step, int t, const recipe_tensor *out,
                            const storage_image *to, int engine, int64_t c, bool dry,
                            bool *missing) {
  const recipe_tensor *in = &step->row->in[t];
  part_choice choice = draft_choice(step, c);
  plan_pair pair = {.checkpoint = step->tensor[t * step->choices + c],
                    .engine = engine,
                    .to = *to,
                    .from_dtype = in->logical,
                    .to_dtype = out->logical,
                    .whole = is_alone(step, step->tensor[t * step->choices + c]),
                    .maps = maps_of(step->row, in->key)};
  const llrt_named_tensor *given = &step->binder->given.tensor[pair.checkpoint];
  size_t bytes;
  bool none;
  LLRT_TRY(draft_image(step, in, out, &choice, &pair.from));
  LLRT_TRY(draft_check_bytes(in, &pair.from, given->rank, given->shape, &bytes));
  LLRT_TRY(cut_images(step, in, out, &choice, &pair, &none));
  if (none) *missing = true;
  return none || dry ? LLRT_OK : plan_step_moves(step->binder->plan, &pair);
}

/* All moves into one output. Where a part is missing on this rank, or all of it, its place is set
 * to the value of pads first. */
static llrt_status add_moves(step_draft *step, int t, const recipe_tensor *out, storage_image *to,
                             int engine) {
  llrt_repack *plan = step->binder->plan;
  bool missing = step->row->shard == SHARD_FIRST && step->binder->rank > 0;
  if (missing) return plan_step_sets(plan, engine, 0);
  for (int dry = 1; dry >= 0; dry--) {
    for (int64_t c = 0; c < step->choices; c++) {
      llrt_status status = add_move(step, t, out, to, engine, c, dry, &missing);
      if (status) return json_error(status, step->row->in[t].at, "%s", llrt_error_text());
    }
    if (dry && missing) LLRT_TRY(plan_step_sets(plan, engine, to->pads ? (int)to->pad_value : 0));
  }
  return LLRT_OK;
}

llrt_status draft_output(step_draft *step, const recipe_tensor *out, storage_image *to,
                         int *engine) {
  llrt_repack_tensor made;
  LLRT_TRY(shape_of(step, out, &made));
  LLRT_TRY(draft_image(step, out, out, NULL, to));
  LLRT_TRY(draft_check_bytes(out, to, made.rank, made.shape, &made.bytes));
  LLRT_TRY(settle_pads(step, out, to));
  return add_output(step, out, &made, engine);
}

static llrt_status bind_output(step_draft *step, const recipe_tensor *out) {
  storage_image to;
  int t = 0, engine;
  llrt_status status = draft_output(step, out, &to, &engine);
  if (status) return json_error(status, out->at, "%s", llrt_error_text());
  while (!span_is(step->row->in[t].key, out->key)) t++;
  return add_moves(step, t, out, &to, engine);
}

static llrt_status bind_const(step_draft *step, const recipe_const *constant) {
  llrt_repack_tensor made;
  int engine;
  int64_t n = 1;
  LLRT_TRY(shape_of(step, &constant->tensor, &made));
  for (int i = 0; i < made.rank; i++)
    if (made.shape[i] < 0 || __builtin_mul_overflow(n, made.shape[i], &n))
      return llrt_error(LLRT_INVALID_ARGUMENT, "too many elements");
  made.bytes = (size_t)n * (size_t)llrt_dtype_bits(made.dtype) / 8;
  LLRT_TRY(add_output(step, &constant->tensor, &made, &engine));
  return plan_step_fills(step->binder->plan, engine, constant->value);
}

static llrt_status bind_outputs(step_draft *step) {
  if (step->row->expression) return draft_compute(step);
  for (int i = 0; i < step->row->n_out; i++) LLRT_TRY(bind_output(step, &step->row->out[i]));
  for (int i = 0; i < step->row->n_consts && !step->binder->plan->inverse; i++) {
    llrt_status status = bind_const(step, &step->row->constant[i]);
    if (status)
      return json_error(status, step->row->constant[i].tensor.at, "%s", llrt_error_text());
  }
  return LLRT_OK;
}

llrt_status bind_step(recipe_binder *binder, int row, const row_names *known) {
  step_draft *step = memory_zeroed(1, sizeof *step);
  if (!step) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a step");
  step->binder = binder;
  step->row = &binder->recipe->row[row];
  step->known = known;
  step->first = -1;
  llrt_status status = plan_step_begin(binder->plan, row);
  if (!status) status = axes_begin(binder, step->row, &step->axes);
  if (!status) status = find_tensors(step);
  if (!status) status = learn_axes(step);
  if (!status) status = bind_outputs(step);
  if (!status) plan_step_end(binder->plan);
  else if (step->first >= 0)
    llrt_error_prefix(status, "%s", binder->given.tensor[step->first].name);
  free(step->tensor);
  free(step);
  return status;
}
