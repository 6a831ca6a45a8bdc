#include "recipe/axes.h"

#include "base/status.h"

axis_entry *axes_entry(axis_list *axes, span name) {
  for (int i = 0; i < axes->n; i++)
    if (span_is(axes->entry[i].name, name)) return &axes->entry[i];
  return NULL;
}

axis_part *axes_part(axis_entry *entry, const part_choice *choice) {
  return &entry->part[entry->fuse >= 0 && !entry->stacked ? choice->part[entry->fuse] : 0];
}

static llrt_status add_entry(axis_list *axes, span name, axis_entry **entry) {
  *entry = axes_entry(axes, name);
  if (*entry) return LLRT_OK;
  if (axes->n == AXES_MAX)
    return json_error(LLRT_UNSUPPORTED, axes->row->at, "more than %d names", AXES_MAX);
  *entry = &axes->entry[axes->n++];
  **entry = (axis_entry){.name = name, .fuse = -1};
  return LLRT_OK;
}

static bool has_axis(const recipe_tensor *tensors, int n, span name) {
  for (int t = 0; t < n; t++)
    for (int i = 0; i < tensors[t].n_axes; i++)
      if (span_is(tensors[t].axis[i].name, name)) return true;
  return false;
}

static llrt_status begin_fuse(axis_list *axes, int f) {
  const recipe_fuse *fuse = &axes->row->fuse[f];
  axis_entry *entry;
  LLRT_TRY(add_entry(axes, fuse->axis, &entry));
  entry->fuse = f;
  entry->stacked = !has_axis(axes->row->in, axes->row->n_in, fuse->axis);
  int64_t n = fuse->parts ? fuse->parts->n : 0;
  if (!fuse->parts) {
    number_scope scope = {.user = axes->binder, .find = bind_find};
    if (number_whole(fuse->count.text, fuse->count.length, &scope, &n) != LLRT_OK)
      return json_error(LLRT_INVALID_ARGUMENT, fuse->at, "%s", llrt_error_text());
  }
  if (n < 1 || n > 65536 || (!entry->stacked && n > AXES_MAX_PARTS))
    return json_error(LLRT_UNSUPPORTED, fuse->at, "%lld parts", (long long)n);
  axes->n_parts[f] = n;
  if (entry->stacked) entry->part[0] = (axis_part){.known = true, .full = n};
  return LLRT_OK;
}

llrt_status axes_begin(recipe_binder *binder, const recipe_row *row, axis_list *axes) {
  axis_entry *entry;
  memset(axes, 0, sizeof *axes);
  axes->binder = binder;
  axes->row = row;
  for (int t = 0; t < row->n_in + row->n_out; t++) {
    const recipe_tensor *tensor = t < row->n_in ? &row->in[t] : &row->out[t - row->n_in];
    for (int i = 0; i < tensor->n_axes; i++)
      LLRT_TRY(add_entry(axes, tensor->axis[i].name, &entry));
  }
  for (int f = 0; f < row->n_fuses; f++) LLRT_TRY(begin_fuse(axes, f));
  return LLRT_OK;
}

int axes_find(void *user, const char *name, size_t length, int64_t *value) {
  axes_scope *scope = user;
  axis_entry *entry = axes_entry(scope->axes, (span){name, length});
  if (!entry) return bind_find(scope->axes->binder, name, length, value);
  if (!scope->choice) {
    *value = entry->padded;
    return 1;
  }
  const axis_part *part = axes_part(entry, scope->choice);
  *value = part->full;
  return part->known;
}

/* ---- learning ---- */

/* That `form` is `value`: the unknown in it is known then, or it is so. */
static llrt_status learn(axis_list *axes, const recipe_tensor *tensor, const part_choice *choice,
                         span text, int64_t value, bool final) {
  axes_scope scope = {axes, choice};
  number_scope numbers = {.user = &scope, .find = axes_find};
  linear form;
  axis_entry *entry;
  int64_t solved;
  if (number_read(text.text, text.length, &numbers, &form) != LLRT_OK)
    return final ? json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%s", llrt_error_text()) : LLRT_OK;
  if (!form.unknown) {
    if (form.rest.under == 1 && form.rest.over == value) return LLRT_OK;
    return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%.*s should be %lld%s, and is %lld",
                      (int)text.length, text.text, (long long)(form.rest.over / form.rest.under),
                      form.rest.under == 1 ? "" : " and a part", (long long)value);
  }
  if (number_solve(&form, value, &solved) != LLRT_OK)
    return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%.*s: %s", (int)text.length, text.text,
                      llrt_error_text());
  LLRT_TRY(add_entry(axes, (span){form.unknown, form.unknown_length}, &entry));
  *axes_part(entry, choice) = (axis_part){.known = true, .full = solved};
  return LLRT_OK;
}

static llrt_status learn_extent(axis_list *axes, const recipe_tensor *tensor,
                                const part_choice *choice, const recipe_axis *axis, bool final) {
  axes_scope scope = {axes, choice};
  number_scope numbers = {.user = &scope, .find = axes_find};
  axis_part *part = axes_part(axes_entry(axes, axis->name), choice);
  int64_t extent = 0;
  if (axis->extent.length == 0) return LLRT_OK;
  llrt_status status = number_whole(axis->extent.text, axis->extent.length, &numbers, &extent);
  if (status)
    return final ? json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%s", llrt_error_text()) : LLRT_OK;
  if (part->known && part->full != extent)
    return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "%.*s has %lld positions, and not %lld",
                      (int)axis->name.length, axis->name.text, (long long)part->full,
                      (long long)extent);
  *part = (axis_part){.known = true, .full = extent};
  return LLRT_OK;
}

llrt_status axes_learn(axis_list *axes, const recipe_tensor *tensor, const part_choice *choice,
                       const llrt_named_tensor *given, bool final) {
  for (int i = 0; i < tensor->n_axes; i++)
    LLRT_TRY(learn_extent(axes, tensor, choice, &tensor->axis[i], final));
  for (int i = 0; i < tensor->n_shape; i++)
    LLRT_TRY(learn(axes, tensor, choice, tensor->shape[i], given->shape[i], final));
  for (int i = 0; i < tensor->n_axes && final; i++)
    if (!axes_part(axes_entry(axes, tensor->axis[i].name), choice)->known)
      return json_error(LLRT_INVALID_ARGUMENT, tensor->at, "how long axis %.*s is, nothing says",
                        (int)tensor->axis[i].name.length, tensor->axis[i].name.text);
  return LLRT_OK;
}

/* ---- settling ---- */

/* The value of an expression of the row's, which is `at` in the recipe. */
static llrt_status value_of(axis_list *axes, const json_value *at, span text, bool of_engine,
                            int64_t *value) {
  part_choice none = {{0}};
  axes_scope scope = {axes, of_engine ? NULL : &none};
  number_scope numbers = {.user = &scope, .find = axes_find};
  llrt_status status = number_whole(text.text, text.length, &numbers, value);
  return status ? json_error(status, at, "%s", llrt_error_text()) : LLRT_OK;
}

static llrt_status check_wheres(axis_list *axes) {
  for (int i = 0; i < axes->row->n_wheres; i++) {
    const recipe_where *where = &axes->row->where[i];
    int64_t left, right;
    LLRT_TRY(value_of(axes, where->at, where->left, false, &left));
    LLRT_TRY(value_of(axes, where->at, where->right, false, &right));
    if (left != right)
      return json_error(LLRT_INVALID_ARGUMENT, where->at, "%.*s is %lld, and should be %lld",
                        (int)where->left.length, where->left.text, (long long)left,
                        (long long)right);
  }
  return LLRT_OK;
}

/* This rank's positions of a part; `block` 0: all are. Where a rank has fewer than the others, the
 * rest of its room is pads. */
static llrt_status share(const axis_list *axes, int64_t block, axis_part *part) {
  int64_t tp = axes->binder->tp, rank = axes->binder->rank;
  part->length = part->room = part->full;
  if (block == 0) return LLRT_OK;
  if (block < 0 || part->full > INT64_MAX / 4 || block > INT64_MAX / 4 / tp)
    return json_error(LLRT_INVALID_ARGUMENT, axes->row->shard_at, "a block of %lld",
                      (long long)block);
  int64_t blocks = (part->full + block - 1) / block;
  part->room = (blocks + tp - 1) / tp * block;
  if (part->room > part->full) part->room = part->full;
  if (__builtin_mul_overflow(part->room, rank, &part->begin) || part->begin > part->full)
    part->begin = part->full;
  int64_t left = part->full - part->begin;
  part->length = left < part->room ? left : part->room;
  return LLRT_OK;
}

static llrt_status settle_entry(axis_list *axes, axis_entry *entry, int64_t block) {
  int64_t n = entry->fuse >= 0 && !entry->stacked ? axes->n_parts[entry->fuse] : 1;
  entry->local = 0;
  for (int64_t p = 0; p < n; p++) {
    axis_part *part = &entry->part[p];
    LLRT_TRY(share(axes, block, part));
    part->at = entry->local;
    if (__builtin_add_overflow(entry->local, part->room, &entry->local))
      return json_error(LLRT_INVALID_ARGUMENT, axes->row->at, "an axis is too long");
  }
  entry->padded = entry->local;
  return LLRT_OK;
}

static llrt_status settle_pads(axis_list *axes) {
  int64_t padded[AXES_MAX];
  for (int i = 0; i < axes->row->n_pads; i++) { /* all of them from unpadded extents */
    const recipe_pad *pad = &axes->row->pad[i];
    LLRT_TRY(value_of(axes, pad->at, pad->extent, true, &padded[i]));
  }
  for (int i = 0; i < axes->row->n_pads; i++) {
    const recipe_pad *pad = &axes->row->pad[i];
    axis_entry *entry = axes_entry(axes, pad->axis);
    if (padded[i] < entry->local)
      return json_error(LLRT_INVALID_ARGUMENT, pad->at, "%lld is less than the %lld that there are",
                        (long long)padded[i], (long long)entry->local);
    entry->padded = padded[i];
  }
  return LLRT_OK;
}

llrt_status axes_settle(axis_list *axes) {
  const recipe_row *row = axes->row;
  int64_t block = 1;
  LLRT_TRY(check_wheres(axes));
  if (row->shard_block.length)
    LLRT_TRY(value_of(axes, row->shard_at, row->shard_block, false, &block));
  if (row->shard == SHARD_AXIS && block < 1)
    return json_error(LLRT_INVALID_ARGUMENT, row->shard_at, "a block of %lld", (long long)block);
  if (row->n_pads > AXES_MAX)
    return json_error(LLRT_UNSUPPORTED, row->at, "more than %d pads", AXES_MAX);
  for (int i = 0; i < axes->n; i++) {
    bool sharded = row->shard == SHARD_AXIS && span_is(axes->entry[i].name, row->shard_axis);
    LLRT_TRY(settle_entry(axes, &axes->entry[i], sharded ? block : 0));
  }
  return settle_pads(axes);
}
