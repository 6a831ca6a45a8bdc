/* Making storages and checking the rule itself. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "layout/check.h"

/* As layout_finish. */
static llrt_status finish(llrt_status status, const llrt_storage *result, llrt_storage *out) {
  if (!out) return status ? status : llrt_error(LLRT_INVALID_ARGUMENT, "out: NULL");
  *out = status ? (llrt_storage){0} : *result;
  return status;
}

static llrt_status check_rank(int rank) {
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  return LLRT_OK;
}

/* One digit an axis, from first_axis on in steps of +1 or -1. */
static llrt_status one_digit_an_axis(int rank, int first_axis, int step, llrt_storage *out) {
  *out = (llrt_storage){.rank = rank, .n_digits = rank};
  LLRT_TRY(check_rank(rank));
  for (int i = 0; i < rank; i++)
    out->digit[i] = (llrt_digit){
        .extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED, .axis = first_axis + step * i};
  return LLRT_OK;
}

llrt_status llrt_storage_row_major(int rank, llrt_storage *out) {
  LLRT_ENTRY();
  llrt_storage result;
  return finish(one_digit_an_axis(rank, rank - 1, -1, &result), &result, out);
}

llrt_status llrt_storage_col_major(int rank, llrt_storage *out) {
  LLRT_ENTRY();
  llrt_storage result;
  return finish(one_digit_an_axis(rank, 0, 1, &result), &result, out);
}

static llrt_status strided(int rank, const int64_t *strides, llrt_storage *out) {
  LLRT_TRY(one_digit_an_axis(rank, rank - 1, -1, out));
  for (int i = 0; i < rank; i++) {
    int64_t stride = strides ? strides[rank - 1 - i] : LLRT_STRIDE_RUNTIME;
    LLRT_REQUIRE(stride >= 0, "the stride of axis %d is negative", rank - 1 - i);
    out->digit[i].stride = stride;
  }
  return LLRT_OK;
}

llrt_status llrt_storage_strided(int rank, const int64_t *strides, llrt_storage *out) {
  LLRT_ENTRY();
  llrt_storage result;
  return finish(strided(rank, strides, &result), &result, out);
}

static llrt_status from_layout(const llrt_layout *layout, llrt_storage *out) {
  *out = (llrt_storage){0};
  LLRT_TRY(layout_check(layout, "layout"));
  LLRT_REQUIRE(layout->n_out <= LLRT_MAX_RANK, "%d out-dims are more than %d axes", layout->n_out,
               LLRT_MAX_RANK);
  LLRT_REQUIRE(llrt_layout_is_surjective(layout),
               "a storage needs a surjective layout: rank %d of %d out bits",
               llrt_layout_rank(layout), llrt_layout_out_bits(layout));
  char names[LLRT_MAX_RANK][LLRT_NAME_BYTES];
  const char *axes[LLRT_MAX_RANK];
  for (int i = 0; i < layout->n_out; i++) {
    layout_axis_name(i, names[i]);
    axes[i] = names[i];
  }
  out->rank = layout->n_out;
  LLRT_TRY(llrt_layout_transpose_outs(layout, axes, layout->n_out, &out->tile));
  return llrt_layout_flatten_ins(&out->tile, STORAGE_IN_DIM, &out->tile);
}

llrt_status llrt_storage_from_layout(const llrt_layout *layout, llrt_storage *out) {
  LLRT_ENTRY();
  llrt_storage result;
  return finish(from_layout(layout, &result), &result, out);
}

/* Tiles along order[0] first. Every axis gets its REST digit outside the image. */
static llrt_status tiled(const llrt_layout *layout, const int *order, llrt_storage *out) {
  LLRT_TRY(from_layout(layout, out));
  LLRT_REQUIRE(order || out->rank == 0, "order: NULL");
  unsigned seen = 0;
  for (int i = 0; i < out->rank; i++) {
    bool fresh = order[i] >= 0 && order[i] < out->rank && !(seen >> order[i] & 1);
    LLRT_REQUIRE(fresh, "order does not list every axis once");
    seen |= 1u << order[i];
    out->digit[out->n_digits++] =
        (llrt_digit){.extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED, .axis = order[i]};
  }
  return LLRT_OK;
}

llrt_status llrt_storage_tiled(const llrt_layout *layout, const int *order, llrt_storage *out) {
  LLRT_ENTRY();
  llrt_storage result;
  return finish(tiled(layout, order, &result), &result, out);
}

llrt_status storage_whole_rows(int rank, int bits, llrt_storage *out) {
  llrt_layout piece = llrt_layout_empty();
  char name[LLRT_NAME_BYTES];
  int order[LLRT_MAX_RANK];
  if (bits == 0) return llrt_storage_row_major(rank, out);
  LLRT_TRY(llrt_layout_add_in(&piece, STORAGE_IN_DIM, bits));
  for (int a = 0; a < rank; a++) {
    layout_axis_name(a, name);
    LLRT_TRY(llrt_layout_add_out(&piece, name, a == rank - 1 ? bits : 0));
    order[a] = rank - 1 - a;
  }
  int shift = llrt_layout_out_shift(&piece, rank - 1);
  for (int i = 0; i < bits; i++) piece.column[i] = 1ull << (shift + i);
  LLRT_TRY(llrt_storage_tiled(&piece, order, out));
  out->pad = LLRT_PAD_KEEP;
  return LLRT_OK;
}

/* ---- the rule itself ---- */

static llrt_status validate_tile(const llrt_storage *storage) {
  const llrt_layout *tile = &storage->tile;
  LLRT_TRY(layout_check(tile, "tile"));
  if (tile->n_in == 0 && tile->n_out == 0) return LLRT_OK;
  LLRT_REQUIRE(tile->n_in == 1 && strcmp(tile->in[0].name, STORAGE_IN_DIM) == 0,
               "a tile has one in-dim, " STORAGE_IN_DIM);
  LLRT_REQUIRE(tile->n_out == storage->rank, "the tile has %d out-dims, the storage rank %d",
               tile->n_out, storage->rank);
  for (int i = 0; i < tile->n_out; i++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(i, name);
    LLRT_REQUIRE(strcmp(tile->out[i].name, name) == 0, "out-dim %d of the tile is %s, not %s", i,
                 tile->out[i].name, name);
  }
  LLRT_REQUIRE(llrt_layout_is_surjective(tile), "the tile is not surjective");
  return LLRT_OK;
}

static llrt_status validate_digit(const llrt_storage *storage, int i) {
  const llrt_digit *digit = &storage->digit[i];
  bool replica = digit->axis == LLRT_AXIS_REPLICA;
  LLRT_REQUIRE(replica || (digit->axis >= 0 && digit->axis < storage->rank),
               "digit %d is of axis %d, the rank is %d", i, digit->axis, storage->rank);
  LLRT_REQUIRE(digit->extent > 0 || (digit->extent == LLRT_EXTENT_REST && !replica),
               "digit %d has extent %lld, not 1 or more (LLRT_EXTENT_REST: not of a replica)", i,
               (long long)digit->extent);
  LLRT_REQUIRE(digit->stride >= 0 || digit->stride == LLRT_STRIDE_PACKED,
               "digit %d has stride %lld, not 0 or more or LLRT_STRIDE_PACKED", i,
               (long long)digit->stride);
  LLRT_REQUIRE(digit->target >= 0 && digit->target <= storage->n_targets,
               "digit %d is on target %d of %d", i, digit->target, storage->n_targets);
  LLRT_REQUIRE(digit->target == 0 || storage_stride_is_number(digit),
               "digit %d is not in memory: its stride must be a number", i);
  LLRT_REQUIRE(!replica || digit->stride != LLRT_STRIDE_RUNTIME,
               "digit %d is a replica, no axis of the tensor has its stride", i);
  return LLRT_OK;
}

static llrt_status validate_digits(const llrt_storage *storage) {
  bool ended[LLRT_MAX_RANK] = {false};
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    LLRT_TRY(validate_digit(storage, i));
    if (digit->axis == LLRT_AXIS_REPLICA) continue;
    LLRT_REQUIRE(!ended[digit->axis], "digit %d follows the rest of axis %d", i, digit->axis);
    ended[digit->axis] = digit->extent == LLRT_EXTENT_REST;
  }
  return LLRT_OK;
}

static llrt_status validate_targets(const llrt_storage *storage) {
  LLRT_REQUIRE(storage->n_targets >= 0 && storage->n_targets <= LLRT_MAX_TARGETS,
               "%d targets are not in 0..%d", storage->n_targets, LLRT_MAX_TARGETS);
  for (int t = 0; t < storage->n_targets; t++) {
    const char *name = storage->target[t];
    LLRT_REQUIRE(memchr(name, 0, LLRT_NAME_BYTES) && layout_name_is_valid(name) &&
                     strcmp(name, STORAGE_MEMORY) != 0,
                 "target %d has no proper name", t + 1);
    for (int u = 0; u < t; u++)
      LLRT_REQUIRE(strcmp(storage->target[u], name) != 0, "there are two targets %s", name);
  }
  for (int t = 0; t <= storage->n_targets; t++)
    LLRT_REQUIRE(storage->offset[t] >= 0 && storage->offset[t] <= STORAGE_MAX_OFFSET,
                 "offset %lld is not in 0..2^%d", (long long)storage->offset[t],
                 STORAGE_MAX_SPAN_BITS);
  return LLRT_OK;
}

static llrt_status validate_swizzle(const llrt_swizzle *swizzle) {
  LLRT_REQUIRE(swizzle->upward <= 1, "the swizzle's upward is %d, not 0 or 1", swizzle->upward);
  LLRT_REQUIRE(swizzle->atom_len >= swizzle->swizzle_len,
               "a swizzle of %d bits takes them from %d higher, where they overlap",
               swizzle->swizzle_len, swizzle->atom_len);
  LLRT_REQUIRE(swizzle->per_element + swizzle->swizzle_len + swizzle->atom_len <=
                   STORAGE_MAX_SPAN_BITS,
               "the swizzle reaches past bit %d", STORAGE_MAX_SPAN_BITS);
  return LLRT_OK;
}

static llrt_status validate_pad(const llrt_storage *storage) {
  LLRT_REQUIRE(storage->pad >= LLRT_PAD_NONE && storage->pad <= LLRT_PAD_VALUE,
               "there is no pad rule %d", storage->pad);
  LLRT_REQUIRE(storage->pad == LLRT_PAD_VALUE || storage->pad_value == 0,
               "a pad value without the rule that writes it");
  return LLRT_OK;
}

llrt_status llrt_storage_validate(const llrt_storage *storage) {
  LLRT_ENTRY();
  LLRT_REQUIRE(storage, "storage: NULL");
  LLRT_TRY(check_rank(storage->rank));
  LLRT_REQUIRE(storage->n_digits >= 0 && storage->n_digits <= LLRT_MAX_DIGITS,
               "%d digits are not in 0..%d", storage->n_digits, LLRT_MAX_DIGITS);
  LLRT_REQUIRE(llrt_params_are_zero(storage->reserved, sizeof storage->reserved),
               "storage: a reserved field is not 0");
  LLRT_TRY(validate_targets(storage));
  LLRT_TRY(validate_digits(storage));
  LLRT_TRY(validate_swizzle(&storage->swizzle));
  LLRT_TRY(validate_pad(storage));
  return validate_tile(storage);
}
