/* See compute_axes.h. */
#include "runtime/compute_axes.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/storage_rule.h"

#include <string.h>

/* ---- extents ---- */

static llrt_status agree(const char *tensor, const char *axis, int64_t extent, int64_t *known) {
  LLRT_REQUIRE(extent >= 0, "%s has %lld positions along %s, not 0 or more", tensor,
               (long long)extent, axis);
  LLRT_REQUIRE(*known < 0 || *known == extent, "%s has %lld positions along %s, others %lld",
               tensor, (long long)extent, axis, (long long)*known);
  *known = extent;
  return LLRT_OK;
}

/* One axis of a tensor, which named axes share: those that are known, and one that follows. */
static llrt_status learn_dim(const llrt_expr *expr, const expr_tensor *tensor, const expr_dim *dim,
                             int64_t extent, compute_extents *out, bool *complete) {
  int64_t product = 1;
  int open = -1;
  if (dim->n == 0)
    LLRT_REQUIRE(extent == 1, "%s has %lld positions where the expression has 1", tensor->name,
                 (long long)extent);
  for (int i = 0; i < dim->n; i++) {
    int64_t own = out->named[dim->axis[i]];
    if (own >= 0) {
      if (__builtin_mul_overflow(product, own, &product)) product = INT64_MAX;
    } else if (open >= 0) {
      *complete = false; /* another tensor may know one of the two */
      return LLRT_OK;
    } else {
      open = dim->axis[i];
    }
  }
  if (open < 0) {
    LLRT_REQUIRE(dim->n == 0 || product == extent, "%s has %lld positions along %s, others %lld",
                 tensor->name, (long long)extent, expr->axis[dim->axis[0]].name,
                 (long long)product);
    return LLRT_OK;
  }
  if (product == 0 && extent == 0) { /* of any extent */
    *complete = false;
    return LLRT_OK;
  }
  LLRT_REQUIRE(product > 0 && extent % product == 0,
               "%s has %lld positions along an axis that %lld do not divide", tensor->name,
               (long long)extent, (long long)product);
  return agree(tensor->name, expr->axis[open].name, extent / product, &out->named[open]);
}

static llrt_status learn_tensor(const llrt_expr *expr, int t, const llrt_tensor *bound,
                                compute_extents *out, bool *complete) {
  const expr_tensor *tensor = &expr->tensor[t];
  int leading = bound->rank - tensor->n_dims;
  LLRT_REQUIRE(tensor->leading ? leading >= 0 : leading == 0,
               "%s has rank %d, in the expression %d%s", tensor->name, bound->rank, tensor->n_dims,
               tensor->leading ? " or more" : "");
  for (int i = 0; i < leading; i++)
    LLRT_TRY(agree(tensor->name, "...", bound->shape[leading - 1 - i], &out->leading[i]));
  if (leading > out->n_leading) out->n_leading = leading;
  for (int i = 0; i < tensor->n_dims; i++)
    LLRT_TRY(learn_dim(expr, tensor, &tensor->dim[i], bound->shape[leading + i], out, complete));
  return LLRT_OK;
}

llrt_status compute_find_extents(const llrt_expr *expr, const llrt_tensor *const *tensors,
                                 compute_extents *out) {
  bool complete = false;
  out->n_leading = 0;
  for (int a = 0; a < EXPR_MAX_AXES; a++)
    out->named[a] = a < expr->n_axes && expr->axis[a].extent ? expr->axis[a].extent : -1;
  for (int a = 0; a < LLRT_MAX_RANK; a++) out->leading[a] = -1;
  for (int pass = 0; pass <= expr->n_axes && !complete; pass++) {
    complete = true;
    for (int t = 0; t < expr->n_tensors; t++)
      if (tensors[t]) LLRT_TRY(learn_tensor(expr, t, tensors[t], out, &complete));
  }
  LLRT_REQUIRE(
      complete,
      "axes in parentheses share one axis of a tensor, and no tensor tells their own extents: "
      "write them into the expression (j:32)");
  return LLRT_OK;
}

llrt_status compute_output_shape(const llrt_expr *expr, int t, const compute_extents *extents,
                                 llrt_tensor *out) {
  const expr_tensor *tensor = &expr->tensor[t];
  int leading = tensor->leading ? extents->n_leading : 0;
  out->rank = leading + tensor->n_dims;
  LLRT_REQUIRE(out->rank <= LLRT_MAX_RANK, "%s has more than %d axes", tensor->name, LLRT_MAX_RANK);
  for (int i = 0; i < leading; i++) out->shape[i] = extents->leading[leading - 1 - i];
  for (int i = 0; i < tensor->n_dims; i++) {
    int64_t *extent = &out->shape[leading + i];
    *extent = 1;
    for (int j = 0; j < tensor->dim[i].n; j++) {
      int axis = tensor->dim[i].axis[j];
      LLRT_REQUIRE(extents->named[axis] >= 0,
                   "%s: no tensor and no number in the expression tells the extent of %s",
                   tensor->name, expr->axis[axis].name);
      LLRT_REQUIRE(!__builtin_mul_overflow(*extent, extents->named[axis], extent),
                   "%s has too many positions", tensor->name);
    }
  }
  return LLRT_OK;
}

/* ---- storages ---- */

/* A storage whose axes are being split. */
typedef struct splitter {
  const llrt_expr *expr;
  const expr_program *program;
  const program_tensor *tensor;
  const expr_dim *dim; /* of the axis that is split */
  const compute_extents *extents;
  const llrt_storage *from;
  llrt_storage *to;
  int next;     /* the named axis in dim that takes digits now, from the last */
  int64_t left; /* positions that it still takes */
} splitter;

static llrt_status add_digit(splitter *s, llrt_digit digit, int64_t extent, int axis,
                             bool reversed) {
  if (s->to->n_digits == LLRT_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "its storage has more than %d digits once axes are split",
                      LLRT_MAX_DIGITS);
  digit.extent = extent;
  digit.axis = axis;
  digit.reversed ^= reversed;
  s->to->digit[s->to->n_digits++] = digit;
  return LLRT_OK;
}

static bool counts_down(const splitter *s, int i) {
  return ((s->dim->reversed >> i ^ s->tensor->flipped >> s->dim->axis[i]) & 1) != 0;
}

static void next_axis(splitter *s) {
  s->next--;
  s->left = s->next > 0 ? s->extents->named[s->dim->axis[s->next]] : INT64_MAX;
}

/* One digit of the axis becomes digits of the named axes, from the last up; each counts down if it
 * does: from the end of all positions, every digit counts from its own. */
static llrt_status split_digit(splitter *s, const llrt_digit *digit) {
  llrt_digit rest = *digit;
  bool open = digit->extent == LLRT_EXTENT_REST;
  int64_t extent = digit->extent;
  for (;;) {
    int axis = s->program->leading + s->dim->axis[s->next];
    bool reversed = counts_down(s, s->next);
    if (s->next == 0) return add_digit(s, rest, open ? LLRT_EXTENT_REST : extent, axis, reversed);
    if (!open && extent <= s->left) {
      if (s->left % extent != 0) break;
      LLRT_TRY(add_digit(s, rest, extent, axis, reversed));
      s->left /= extent;
      if (s->left == 1) next_axis(s);
      return LLRT_OK;
    }
    if (!open && extent % s->left != 0) break;
    LLRT_TRY(add_digit(s, rest, s->left, axis, reversed));
    if (storage_stride_is_number(&rest)) rest.stride *= s->left;
    if (!open) extent /= s->left;
    next_axis(s);
    if (!open && extent == 1) return LLRT_OK;
  }
  return llrt_error(LLRT_UNSUPPORTED, "its storage's digits and the axes of the expression do not "
                                      "divide each other");
}

static const expr_dim one_axis = {.n = 0};

const expr_dim *compute_dim_of(const llrt_expr *expr, int tensor, int rank, int a) {
  const expr_tensor *own = &expr->tensor[tensor];
  int at = a - (rank - own->n_dims);
  if (at < 0) return NULL;
  return own->dim[at].n ? &own->dim[at] : &one_axis;
}

static bool needs_split(const splitter *s, const expr_dim *dim) {
  if (!dim) return false;
  bool needs = dim->n > 1 || dim->reversed;
  for (int i = 0; i < dim->n; i++) needs |= (s->tensor->flipped >> dim->axis[i] & 1) != 0;
  return needs;
}

int compute_axis_of(const llrt_expr *expr, const expr_program *program, int tensor, int rank,
                    int a) {
  const expr_dim *dim = compute_dim_of(expr, tensor, rank, a);
  int leading = rank - expr->tensor[tensor].n_dims;
  if (!dim) return program->leading - leading + a;
  return dim->n ? program->leading + dim->axis[0] : -1;
}

static int plain_axis(const splitter *s, int rank, int a) {
  return compute_axis_of(s->expr, s->program, s->tensor->tensor, rank, a);
}

/* How far the digits of one axis of the tensor have come. */
typedef struct split_state {
  int next;
  int64_t left;
  bool begun;
} split_state;

/* The tile's bits of axis a, of a dim that is split, are dealt out to its axes, lowest bits to the
 * last axis. */
static llrt_status split_tile(splitter *s, int a, storage_tile_piece *piece, int *n) {
  int bits = storage_tile_bits(s->from, a), first = 0;
  s->next = s->dim->n;
  next_axis(s);
  while (first < bits) {
    int axis = s->program->leading + s->dim->axis[s->next];
    int take = s->next > 0 ? bits_min(bits - first, bits_alignment(s->left)) : bits - first;
    if (counts_down(s, s->next))
      return llrt_error(LLRT_UNSUPPORTED,
                        "axis %d, which the expression takes backwards, is in its storage's tile",
                        a);
    piece[(*n)++] = (storage_tile_piece){(int8_t)a, (int8_t)axis, (int8_t)first, (int8_t)take};
    first += take;
    if (s->next == 0) break;
    s->left >>= take;
    if (first < bits && s->left > 1)
      return llrt_error(LLRT_UNSUPPORTED,
                        "its storage's tile and the axes of the expression do not "
                        "divide each other");
    if (s->left == 1) next_axis(s);
  }
  return LLRT_OK;
}

/* Numbers the axes of all but those that are split; the tile's bits of these are dealt out. */
static llrt_status split_tiles(splitter *s, int rank, split_state state[LLRT_MAX_RANK]) {
  storage_tile_piece piece[LLRT_MAX_BITS];
  int8_t to[LLRT_MAX_RANK];
  int n = 0;
  for (int a = 0; a < rank; a++) {
    s->dim = compute_dim_of(s->expr, s->tensor->tensor, rank, a);
    int bits = storage_tile_bits(s->from, a);
    to[a] = (int8_t)plain_axis(s, rank, a);
    if (s->dim && s->dim->n == 0 && bits > 0)
      return llrt_error(LLRT_UNSUPPORTED, "axis %d, of one position, is in its storage's tile", a);
    if (bits > 0 && needs_split(s, s->dim)) {
      LLRT_TRY(split_tile(s, a, piece, &n));
      state[a] = (split_state){s->next, s->left, true};
    } else if (bits > 0) {
      piece[n++] = (storage_tile_piece){(int8_t)a, to[a], 0, (int8_t)bits};
    }
  }
  LLRT_TRY(storage_renumber(s->from, to, s->program->rank, s->to));
  return n > 0 ? storage_deal_tile(&s->from->tile, piece, n, s->program->rank, &s->to->tile)
               : LLRT_OK;
}

/* Whether an axis that would take a part of a storage's digits has no position: then no element
 * lies anywhere, and any storage says so. */
static bool splits_nothing(const splitter *s, int rank) {
  bool nothing = false;
  for (int a = 0; a < rank; a++) {
    const expr_dim *dim = compute_dim_of(s->expr, s->tensor->tensor, rank, a);
    for (int i = 1; dim && i < dim->n; i++) nothing |= s->extents->named[dim->axis[i]] == 0;
  }
  return nothing;
}

static llrt_status split_axes(splitter *s, int rank) {
  if (splits_nothing(s, rank)) return llrt_storage_row_major(s->program->rank, s->to);
  split_state state[LLRT_MAX_RANK] = {0};
  LLRT_TRY(split_tiles(s, rank, state));
  const llrt_storage plain = *s->to;
  s->to->n_digits = 0;
  for (int i = 0; i < s->from->n_digits; i++) {
    const llrt_digit *digit = &s->from->digit[i];
    int a = digit->axis;
    s->dim = a < 0 ? NULL : compute_dim_of(s->expr, s->tensor->tensor, rank, a);
    if (a < 0 || !needs_split(s, s->dim)) {
      LLRT_TRY(add_digit(s, plain.digit[i], plain.digit[i].extent, plain.digit[i].axis, false));
      continue;
    }
    s->next = s->dim->n;
    if (state[a].begun) {
      s->next = state[a].next;
      s->left = state[a].left;
    } else {
      next_axis(s);
    }
    LLRT_TRY(split_digit(s, digit));
    state[a] = (split_state){s->next, s->left, true};
  }
  return LLRT_OK;
}

/* ---- positions that are taken ---- */

/* PACKED strides that are numbers whatever the shape are written so, as digits inside may go. */
static void fix_strides(llrt_storage *storage) {
  int64_t inside = (int64_t)1 << llrt_layout_in_bits(&storage->tile);
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit *digit = &storage->digit[i];
    if (digit->stride != LLRT_STRIDE_PACKED) return;
    digit->stride = inside;
    if (digit->extent == LLRT_EXTENT_REST || digit->axis < 0 ||
        __builtin_mul_overflow(inside, digit->extent, &inside))
      return;
  }
}

/* What a storage's digits are on a shape; below: positions of the axis that its digits count. */
typedef struct bound_digits {
  int64_t extent[LLRT_MAX_DIGITS], stride[LLRT_MAX_DIGITS], below[LLRT_MAX_DIGITS];
  int n_runtime[LLRT_MAX_RANK]; /* digits of an axis with its run-time stride */
} bound_digits;

/* Positions along the operation's axes that are in memory: of an index those that it chooses from,
 * of axes that it folds one. */
static void shape_in_memory(const splitter *s, const llrt_tensor *from, const llrt_tensor *tensor,
                            int64_t shape[LLRT_MAX_RANK]) {
  memcpy(shape, tensor->shape, sizeof tensor->shape);
  for (int i = 0; i < from->n_indices; i++)
    for (int a = 0; a < from->rank; a++) {
      const llrt_index *index = &from->indices[i];
      int axis = plain_axis(s, from->rank, a);
      if (axis < 0) continue;
      if (index->folded >> a & 1) shape[axis] = 1;
      if (index->axis == a) shape[axis] = index->extent;
    }
}

/* False where their product is more than there can be. */
static bool bind_digits(const llrt_storage *storage, const llrt_tensor *tensor,
                        const int64_t *shape, bound_digits *out) {
  int64_t inside = (int64_t)1 << llrt_layout_in_bits(&storage->tile), below[LLRT_MAX_RANK];
  memset(out, 0, sizeof *out);
  for (int a = 0; a < LLRT_MAX_RANK; a++) below[a] = 1;
  for (int a = 0; a < storage->rank; a++) below[a] = (int64_t)1 << storage_tile_bits(storage, a);
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    int axis = digit->axis;
    bool runtime = digit->stride == LLRT_STRIDE_RUNTIME && axis >= 0;
    out->extent[i] =
        digit->extent == LLRT_EXTENT_REST ? bits_ceil_div(shape[axis], below[axis]) : digit->extent;
    out->below[i] = axis >= 0 ? below[axis] : 1;
    out->stride[i] = storage_stride_is_number(digit) ? digit->stride : inside;
    if (runtime && __builtin_mul_overflow(tensor->strides[axis], out->below[i], &out->stride[i]))
      return false;
    if (__builtin_mul_overflow(out->stride[i], out->extent[i], &inside)) return false;
    if (axis < 0) continue;
    if (__builtin_mul_overflow(below[axis], out->extent[i], &below[axis])) return false;
    out->n_runtime[axis] += runtime;
  }
  return true;
}

static llrt_status refuse_position(void) {
  return llrt_error(LLRT_UNSUPPORTED,
                    "a position of an axis is taken whose digits have no known strides");
}

/* Digit number i, whose stride followed from one that is gone, keeps its own: the call's, where the
 * axis has no other such and all of its positions below are as far apart; else this number alone.
 */
static void keep_stride(const bound_digits *bound, int i, llrt_digit *digit, llrt_tensor *tensor) {
  int axis = digit->axis;
  bool runtime =
      axis >= 0 && bound->n_runtime[axis] == 0 && bound->stride[i] % bound->below[i] == 0;
  digit->stride = runtime ? LLRT_STRIDE_RUNTIME : bound->stride[i];
  if (runtime) tensor->strides[axis] = bound->stride[i] / bound->below[i];
}

/* The tensor at one position of an axis: its digits go, and what they add is the offset's. A digit
 * right outside one of them keeps the stride that followed from it. */
static llrt_status take_position(splitter *s, const llrt_tensor *from, int axis, int64_t position,
                                 llrt_tensor *tensor) {
  llrt_storage *storage = s->to;
  bound_digits bound;
  int64_t shape[LLRT_MAX_RANK];
  int kept = 0;
  int64_t bits = llrt_dtype_bits(tensor->dtype), moved = 0;
  bool gone = false; /* the digit before */
  if (storage_tile_bits(storage, axis) > 0)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a position of an axis is taken that is in the storage's tile");
  fix_strides(storage);
  shape_in_memory(s, from, tensor, shape);
  if (!bind_digits(storage, tensor, shape, &bound)) return refuse_position();
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit digit = storage->digit[i];
    if (digit.axis != axis) {
      if (gone && digit.stride == LLRT_STRIDE_PACKED) keep_stride(&bound, i, &digit, tensor);
      gone = false;
      storage->digit[kept++] = digit;
      continue;
    }
    if (bound.extent[i] < 1) return refuse_position();
    int64_t at = position % bound.extent[i];
    position /= bound.extent[i];
    if (digit.reversed) at = bound.extent[i] - 1 - at;
    gone = true;
    if (storage_stride_is_number(&digit)) storage->offset[0] += at * digit.stride;
    else moved += at * bound.stride[i];
  }
  storage->n_digits = kept;
  if (moved * bits % 8 != 0)
    return llrt_error(LLRT_UNSUPPORTED, "a position of an axis is taken that begins inside a byte");
  if (tensor->data) tensor->data = (char *)tensor->data + moved * bits / 8;
  return LLRT_OK;
}

/* ---- the tensor ---- */

/* Shape and RUN-TIME strides along the operation's axes. */
static void fill_axes(const splitter *s, const llrt_tensor *from, llrt_tensor *out) {
  for (int a = 0; a < LLRT_MAX_RANK; a++) {
    out->shape[a] = a < s->program->rank ? 1 : 0;
    out->strides[a] = 0;
  }
  for (int a = 0; a < from->rank; a++) {
    const expr_dim *dim = compute_dim_of(s->expr, s->tensor->tensor, from->rank, a);
    if (!dim) {
      int axis = plain_axis(s, from->rank, a);
      out->shape[axis] = from->shape[a];
      out->strides[axis] = from->strides[a];
      continue;
    }
    int64_t stride = from->strides[a];
    for (int i = dim->n - 1; i >= 0; i--) {
      int axis = s->program->leading + dim->axis[i];
      out->shape[axis] = s->extents->named[dim->axis[i]];
      out->strides[axis] = stride;
      if (__builtin_mul_overflow(stride, out->shape[axis], &stride)) stride = 0;
    }
  }
}

llrt_status compute_expand(const llrt_expr *expr, const expr_program *program, int number,
                           const llrt_tensor *from, const compute_extents *extents,
                           llrt_storage *storage, llrt_tensor *out) {
  llrt_storage own;
  if (from->storage) own = *from->storage;
  else LLRT_TRY(llrt_storage_row_major(from->rank, &own));
  LLRT_TRY(llrt_storage_validate(&own));
  LLRT_REQUIRE(own.rank == from->rank, "it has rank %d, its storage rank %d", from->rank, own.rank);
  splitter s = {.expr = expr,
                .program = program,
                .tensor = &program->tensor[number],
                .extents = extents,
                .from = &own,
                .to = storage};
  LLRT_TRY(split_axes(&s, from->rank));
  *out = *from;
  out->rank = program->rank;
  out->storage = storage;
  fill_axes(&s, from, out);
  for (int a = 0; a < expr->n_axes; a++) {
    if (!(s.tensor->taken >> a & 1)) continue;
    LLRT_TRY(take_position(&s, from, program->leading + a, s.tensor->at[a], out));
    out->shape[program->leading + a] = 1;
    out->strides[program->leading + a] = 0;
  }
  return LLRT_OK;
}

void compute_set_groups(op_description *desc) {
  const expr_program *program = &desc->program;
  for (int t = 0; t < program->n_tensors; t++)
    for (int a = 0; a < LLRT_MAX_RANK; a++)
      desc->dot.group[t][a] =
          a < program->rank && !(program->tensor[t].axes >> a & 1) ? LLRT_GROUP_ALL : 0;
}
