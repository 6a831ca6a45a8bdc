/* Writing storages: the shortest form that says the rule. */
#include "base/status.h"
#include "layout/storage_rule.h"
#include "layout/tirx_text.h"
#include "layout/writer.h"

/* Whether anything but digits and a tile takes part. */
static bool storage_has_more(const llrt_storage *storage) {
  bool more = storage_has_swizzle(storage) || storage->pad != LLRT_PAD_NONE ||
              storage->n_targets != 0 || storage->offset[0] != 0 || storage_has_reversed(storage);
  for (int i = 0; i < storage->n_digits; i++) more |= storage->digit[i].axis == LLRT_AXIS_REPLICA;
  return more;
}

/* Whether there is no tile, and digit i is all of axis i, or of axis rank-1-i where last_first. */
static bool is_one_digit_an_axis(const llrt_storage *storage, bool last_first) {
  if (storage_has_tile(storage) || storage->n_digits != storage->rank) return false;
  if (storage_has_more(storage)) return false;
  for (int i = 0; i < storage->n_digits; i++) {
    int axis = last_first ? storage->rank - 1 - i : i;
    if (storage->digit[i].axis != axis || storage->digit[i].extent != LLRT_EXTENT_REST)
      return false;
  }
  return true;
}

static bool all_strides_are(const llrt_storage *storage, int64_t stride) {
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].stride != stride) return false;
  return true;
}

static bool all_strides_are_numbers(const llrt_storage *storage) {
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].stride < 0 || storage->digit[i].stride == LLRT_STRIDE_RUNTIME)
      return false;
  return true;
}

static void add_strides(writer *text, const llrt_storage *storage) {
  writer_add(text, "strided([");
  for (int axis = 0; axis < storage->rank; axis++)
    writer_add(text, axis ? ",%lld" : "%lld",
               (long long)storage->digit[storage->rank - 1 - axis].stride);
  writer_add(text, "])");
}

static const char *target_name(const llrt_storage *storage, int target) {
  return target == 0 ? STORAGE_MEMORY : storage->target[target - 1];
}

static void add_digit(writer *text, const llrt_storage *storage, const llrt_digit *digit) {
  if (digit->axis == LLRT_AXIS_REPLICA) writer_add(text, "replica: ");
  else writer_add(text, "dim%d: ", digit->axis);
  if (digit->extent == LLRT_EXTENT_REST) writer_add(text, "rest");
  else writer_add(text, "%lld", (long long)digit->extent);
  if (digit->reversed) writer_add(text, " reversed");
  if (digit->stride == LLRT_STRIDE_RUNTIME) writer_add(text, " @ runtime");
  else if (digit->stride != LLRT_STRIDE_PACKED)
    writer_add(text, " @ %lld", (long long)digit->stride);
  if (digit->target) writer_add(text, " on %s", target_name(storage, digit->target));
}

static void add_offsets(writer *text, const llrt_storage *storage) {
  const char *separator = ", offset=[";
  for (int t = 0; t <= storage->n_targets; t++) {
    if (storage->offset[t] == 0) continue;
    writer_add(text, "%s%lld", separator, (long long)storage->offset[t]);
    if (t) writer_add(text, " on %s", target_name(storage, t));
    separator = ", ";
  }
  if (separator[2] == 0) writer_add(text, "]");
}

static void add_pad(writer *text, const llrt_storage *storage) {
  if (storage->pad == LLRT_PAD_KEEP) writer_add(text, ", pad=keep");
  if (storage->pad == LLRT_PAD_VALUE)
    writer_add(text, ", pad=%llu", (unsigned long long)storage->pad_value);
}

static void add_rule(writer *text, const llrt_storage *storage) {
  const llrt_swizzle *swizzle = &storage->swizzle;
  writer_add(text, "storage(rank=%d, digits=[", storage->rank);
  for (int i = 0; i < storage->n_digits; i++) {
    if (i) writer_add(text, ", ");
    add_digit(text, storage, &storage->digit[i]);
  }
  writer_add(text, "]");
  if (storage_has_tile(storage)) {
    writer_add(text, ", tile=");
    writer_add_layout(text, &storage->tile);
  }
  if (swizzle->swizzle_len)
    writer_add(text, ", swizzle=[%d,%d,%d%s]", swizzle->per_element, swizzle->swizzle_len,
               swizzle->atom_len, swizzle->upward ? ",up" : "");
  add_offsets(text, storage);
  add_pad(text, storage);
  writer_add(text, ")");
}

void writer_add_storage(writer *text, const llrt_storage *storage) {
  if (tirx_is_writable(storage)) {
    writer_add_tirx(text, storage);
    return;
  }
  if (is_one_digit_an_axis(storage, true)) {
    if (all_strides_are(storage, LLRT_STRIDE_PACKED)) {
      writer_add(text, "row_major");
      return;
    }
    if (all_strides_are(storage, LLRT_STRIDE_RUNTIME)) {
      writer_add(text, "strided");
      return;
    }
    if (all_strides_are_numbers(storage)) {
      add_strides(text, storage);
      return;
    }
  }
  if (is_one_digit_an_axis(storage, false) && all_strides_are(storage, LLRT_STRIDE_PACKED))
    writer_add(text, "col_major");
  else if (storage->n_digits == 0 && storage_has_tile(storage) && !storage_has_more(storage))
    writer_add_layout(text, &storage->tile);
  else add_rule(text, storage);
}

llrt_status llrt_storage_print(const llrt_storage *storage, char *buffer, size_t size,
                               size_t *length) {
  LLRT_ENTRY();
  writer text;
  LLRT_TRY(writer_start(buffer, size, length, &text));
  LLRT_TRY(llrt_storage_validate(storage));
  writer_add_storage(&text, storage);
  if (length) *length = text.length;
  return LLRT_OK;
}
