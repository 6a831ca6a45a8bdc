/* Steps that combine: trees inside a thread, butterflies over lanes, positions. On the host a
 * thread is a SIMD register, and lanes are folded by halves of it. Must agree with
 * jit/interpret/interpret.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"
#include "layout/f2.h"

#include <stdio.h>
#include <string.h>

static int word_count(const plan_value *value) {
  return 1 << plan_value_bits(value, PLAN_REGISTER);
}

emit_pair emit_join(emitter *e, const plan_step *step, emit_pair a, emit_pair b) {
  llrt_dtype type = (llrt_dtype)step->type;
  if (!step->pairs) return (emit_pair){.key = emit_combine(e, step->combiner, type, a.key, b.key)};
  return step->ordered ? emit_combine_ordered_pair(e, step->combiner, type, a, b)
                       : emit_combine_pair(e, step->combiner, type, a, b);
}

static emit_pair word_of(emitter *e, const plan_step *step, int key, int index, int word) {
  return (emit_pair){.key = e->value[key][word],
                     .index = step->pairs ? e->value[index][word] : NULL};
}

static void put_word(emitter *e, const plan_step *step, int word, emit_pair made) {
  e->value[step->out][word] = made.key;
  if (step->pairs) e->value[step->index_out][word] = made.index;
}

/* Lanes that hold no copies; on the host they are the lowest. */
static int host_lanes(const plan_value *value) {
  int n = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    n += plan_value_columns(value, PLAN_LANE)[i] != 0;
  return n;
}

/* The type of a word: on the host a vector of lanes. */
static LLVMTypeRef type_of(const emitter *e, const plan_value *value) {
  LLVMTypeRef scalar = emit_int_type(e, value->bits);
  int lanes = emit_is_host(e) ? host_lanes(value) : 0;
  return lanes > 0 ? LLVMVectorType(scalar, 1u << lanes) : scalar;
}

void emit_fill_step(emitter *e, const plan_step *step) {
  const plan_value *out = &e->kernel->value[step->out];
  for (int i = 0; i < word_count(out); i++) {
    llrt_dtype type = (llrt_dtype)step->type;
    emit_pair neutral = {.key = emit_combine_identity(step->combiner, type, type_of(e, out))};
    if (step->exclusive)
      neutral.key = emit_splat(type_of(e, out),
                               combine_empty(step->combiner, (llrt_dtype)step->element, type));
    if (step->pairs) neutral.index = LLVMConstNull(type_of(e, &e->kernel->value[step->index_out]));
    put_word(e, step, i, neutral);
  }
}

void emit_join_step(emitter *e, const plan_step *step) {
  for (int i = 0; i < word_count(&e->kernel->value[step->out]); i++)
    put_word(e, step, i,
             emit_join(e, step, word_of(e, step, step->in, step->index_in, i),
                       word_of(e, step, step->with, step->index_with, i)));
}

/* Register index `packed` with its bits at the places that are not folded. */
static int kept_register(int packed, int n_registers, uint64_t folded) {
  int index = 0;
  for (int i = 0; i < n_registers; i++) {
    if (folded >> i & 1) continue;
    index |= (packed & 1) << i;
    packed >>= 1;
  }
  return index;
}

/* The tree over folded bits [0, n) from register `index` on; the highest bit is joined last. */
static emit_pair fold_tree(emitter *e, const plan_step *step, const int *bit, int n, int index) {
  if (n == 0) return word_of(e, step, step->in, step->index_in, index);
  emit_pair low = fold_tree(e, step, bit, n - 1, index);
  emit_pair high = fold_tree(e, step, bit, n - 1, index | 1 << bit[n - 1]);
  return emit_join(e, step, low, high);
}

void emit_fold_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  if (plan_folds_halves(step)) {
    emit_fold_halves(e, step);
    return;
  }
  int bit[LLRT_MAX_BITS];
  int n = plan_fold_bits(in, PLAN_REGISTER, out->layout.out[0].bits, bit);
  uint64_t folded = 0;
  for (int i = 0; i < n; i++) folded |= 1ull << bit[i];
  for (int i = 0; i < word_count(out); i++) {
    int first = kept_register(i, plan_value_bits(in, PLAN_REGISTER), folded);
    put_word(e, step, i, fold_tree(e, step, bit, n, first));
  }
}

/* ---- lanes ---- */

static LLVMValueRef from_lane(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  if (!word) return NULL;
  return emit_shuffle_word(e, word, lane);
}

static emit_pair butterfly(emitter *e, const plan_step *step, emit_pair own, int lane_bit) {
  LLVMValueRef lane = LLVMBuildXor(e->builder, e->lane, emit_i32(e, (int64_t)1 << lane_bit), "");
  emit_pair other = {.key = from_lane(e, own.key, lane), .index = from_lane(e, own.index, lane)};
  return emit_join(e, step, own, other);
}

/* redux.sync of all lanes. */
static LLVMValueRef fold_at_once(emitter *e, const plan_step *step, LLVMValueRef word) {
  static const char *const names[][2] = {
      [LLRT_COMBINE_SUM] = {"add", "add"},  [LLRT_COMBINE_MIN] = {"umin", "min"},
      [LLRT_COMBINE_MAX] = {"umax", "max"}, [LLRT_COMBINE_ANY] = {"or", "or"},
      [LLRT_COMBINE_ALL] = {"and", "and"},
  };
  char name[40];
  LLVMValueRef args[] = {word, emit_i32(e, UINT32_MAX)};
  snprintf(name, sizeof name, "llvm.nvvm.redux.sync.%s",
           names[step->combiner][step->type == LLRT_I32]);
  return emit_intrinsic(e, name, NULL, 0, args, 2);
}

/* The best key of all lanes first; then the lowest position of those that have it, by redux.sync.
 */
static emit_pair fold_pairs_at_once(emitter *e, const plan_step *step, emit_pair own,
                                    const int *bit, int n) {
  LLVMBuilderRef b = e->builder;
  llrt_dtype type = (llrt_dtype)step->type;
  int op = step->combiner == LLRT_COMBINE_ARGMIN ? LLRT_COMBINE_MIN : LLRT_COMBINE_MAX;
  emit_pair best = own;
  for (int i = 0; i < n; i++) {
    LLVMValueRef lane = LLVMBuildXor(b, e->lane, emit_i32(e, (int64_t)1 << bit[i]), "");
    best.key = emit_combine(e, op, type, best.key, from_lane(e, best.key, lane));
  }
  LLVMValueRef wins = emit_combine_same_key(e, type, own.key, best.key);
  LLVMValueRef args[] = {LLVMBuildSelect(b, wins, own.index, emit_i32(e, INT32_MAX), ""),
                         emit_i32(e, UINT32_MAX)};
  best.index = emit_intrinsic(e, "llvm.nvvm.redux.sync.min", NULL, 0, args, 2);
  return best;
}

/* The lanes of a vector whose bit `lane_bit` is `set`, one after the other. */
static LLVMValueRef half_of(emitter *e, LLVMValueRef word, int lane_bit, int set) {
  if (!word) return NULL;
  LLVMValueRef mask[EMIT_MAX_LANES];
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(word)), n = 0;
  for (unsigned l = 0; l < lanes; l++)
    if ((int)(l >> lane_bit & 1) == set) mask[n++] = emit_i32(e, l);
  if (n == 1) return LLVMBuildExtractElement(e->builder, word, mask[0], "");
  return LLVMBuildShuffleVector(e->builder, word, LLVMGetUndef(LLVMTypeOf(word)),
                                LLVMConstVector(mask, n), "");
}

static emit_pair fold_halves(emitter *e, const plan_step *step, emit_pair x, int lane_bit) {
  emit_pair low = {half_of(e, x.key, lane_bit, 0), half_of(e, x.index, lane_bit, 0)};
  emit_pair high = {half_of(e, x.key, lane_bit, 1), half_of(e, x.index, lane_bit, 1)};
  return emit_join(e, step, low, high);
}

/* Where lane bit `lane` of the value lies once those folded before are gone. */
static int left_of(const int *bit, int before, int lane) {
  int at = lane;
  for (int i = 0; i < before; i++) at -= bit[i] < lane;
  return at;
}

void emit_fold_lanes_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  int bit[LLRT_MAX_BITS];
  int n = plan_fold_bits(in, PLAN_LANE, out->layout.out[0].bits, bit);
  for (int i = 0; i < word_count(out); i++) {
    emit_pair x = word_of(e, step, step->in, step->index_in, i);
    if (plan_folds_at_once(e->kernel, step)) {
      put_word(e, step, i, (emit_pair){.key = fold_at_once(e, step, x.key)});
      continue;
    }
    if (plan_folds_pairs_at_once(e->kernel, step)) {
      put_word(e, step, i, fold_pairs_at_once(e, step, x, bit, n));
      continue;
    }
    for (int b = 0; b < n; b++)
      x = emit_is_host(e) ? fold_halves(e, step, x, left_of(bit, b, bit[b]))
                          : butterfly(e, step, x, bit[b]);
    put_word(e, step, i, x);
  }
}

/* ---- parts of lanes ---- */

/* The register bits that lanes choose by, and those lanes' bits. */
typedef struct chosen {
  int n, bit[LLRT_MAX_BITS], lane[LLRT_MAX_BITS];
} chosen;

static void find_chosen(const plan_value *in, const plan_value *out, chosen *c) {
  c->n = 0;
  for (int l = 0; l < plan_value_bits(out, PLAN_LANE); l++) {
    uint64_t x = plan_value_columns(out, PLAN_LANE)[l];
    if (x == plan_value_columns(in, PLAN_LANE)[l]) continue;
    for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++)
      if (plan_value_columns(in, PLAN_REGISTER)[i] == x) c->bit[c->n] = i;
    c->lane[c->n++] = l;
  }
}

static LLVMValueRef choose(emitter *e, const chosen *c, int n, LLVMValueRef *words, int index) {
  if (n == 0) return words[index];
  LLVMValueRef low = choose(e, c, n - 1, words, index);
  LLVMValueRef high = choose(e, c, n - 1, words, index | 1 << c->bit[n - 1]);
  return LLVMBuildSelect(e->builder, emit_functional(e, e->lane, 1ull << c->lane[n - 1]), high, low,
                         "");
}

/* GPUs alone: on the host lanes hold no copies. */
void emit_spread_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  uint64_t moved = 0;
  chosen c;
  find_chosen(in, out, &c);
  for (int i = 0; i < c.n; i++) moved |= 1ull << c.bit[i];
  for (int i = 0; i < word_count(out); i++) {
    int first = kept_register(i, plan_value_bits(in, PLAN_REGISTER), moved);
    e->value[step->out][i] = choose(e, &c, c.n, e->value[step->in], first);
  }
}

/* ---- positions ---- */

static LLVMValueRef splat(emitter *e, LLVMValueRef x, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return x;
  unsigned lanes = LLVMGetVectorSize(type);
  LLVMValueRef mask[EMIT_MAX_LANES], one = LLVMGetUndef(type);
  one = LLVMBuildInsertElement(e->builder, one, x, emit_i32(e, 0), "");
  for (unsigned l = 0; l < lanes; l++) mask[l] = emit_i32(e, 0);
  return LLVMBuildShuffleVector(e->builder, one, LLVMGetUndef(type), LLVMConstVector(mask, lanes),
                                "");
}

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* What a position of an axis counts. */
static LLVMValueRef weight_of(emitter *e, int axis, LLVMTypeRef type) {
  LLVMValueRef weight = emit_number(e, &e->kernel->position[axis]);
  return splat(e, LLVMBuildTrunc(e->builder, weight, scalar_of(type), ""), type);
}

/* The coordinate of an axis at a tile coordinate whose bits nothing else moves: a constant. */
static int64_t known_coordinate(const plan_kernel *kernel, int axis, uint64_t tile) {
  static const int64_t no_upper[PLAN_MAX_DIGITS];
  int64_t position[PLAN_MAX_DIGITS];
  plan_tile_position(kernel, tile, 0, no_upper, position);
  return plan_coordinate(kernel, axis, position);
}

/* The lanes' own coordinates on the host. */
static LLVMValueRef lane_coordinates(emitter *e, int axis, const plan_value *value,
                                     LLVMTypeRef type) {
  LLVMValueRef lanes[EMIT_MAX_LANES];
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstNull(type);
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned l = 0; l < n; l++) {
    uint64_t tile = f2_apply(plan_value_columns(value, PLAN_LANE), l);
    lanes[l] = LLVMConstInt(LLVMGetElementType(type),
                            (uint64_t)known_coordinate(e->kernel, axis, tile), 0);
  }
  return LLVMConstVector(lanes, n);
}

/* The position of the thread's register 0. */
static LLVMValueRef first_position(emitter *e, const plan_value *value, LLVMTypeRef type) {
  LLVMValueRef sum = LLVMConstNull(type);
  for (uint32_t axes = e->kernel->position_axes; axes; axes &= axes - 1) {
    int axis = bits_lowest(axes);
    LLVMValueRef at =
        LLVMBuildTrunc(e->builder, emit_coordinate(e, value, axis, 0), scalar_of(type), "");
    at = LLVMBuildAdd(e->builder, splat(e, at, type), lane_coordinates(e, axis, value, type), "");
    sum = LLVMBuildAdd(e->builder, sum, LLVMBuildMul(e->builder, at, weight_of(e, axis, type), ""),
                       "");
  }
  return sum;
}

/* What a register's tile coordinate adds to it. */
static LLVMValueRef own_position(emitter *e, uint64_t tile, LLVMTypeRef type) {
  LLVMValueRef sum = LLVMConstNull(type);
  for (uint32_t axes = e->kernel->position_axes; axes; axes &= axes - 1) {
    int axis = bits_lowest(axes);
    LLVMValueRef at = emit_splat(type, (uint64_t)known_coordinate(e->kernel, axis, tile));
    sum = LLVMBuildAdd(e->builder, sum, LLVMBuildMul(e->builder, at, weight_of(e, axis, type), ""),
                       "");
  }
  return sum;
}

/* Registers and lanes move bits of digits that nothing else moves (jit/plan/reduce/reduce_tile.c),
 * so their parts are added. */
void emit_position_step(emitter *e, const plan_step *step) {
  const plan_value *out = &e->kernel->value[step->out];
  bool add = step->kind == PLAN_POSITION_ADD;
  const plan_value *whole = add ? &e->kernel->value[step->with] : out;
  LLVMTypeRef type = type_of(e, out);
  LLVMValueRef first = LLVMConstNull(type);
  if (add || !step->relative) first = first_position(e, whole, type);
  for (int i = 0; i < word_count(out); i++) {
    uint64_t tile = f2_apply(plan_value_columns(out, PLAN_REGISTER), (uint64_t)i);
    LLVMValueRef own = add ? e->value[step->in][i] : own_position(e, tile, type);
    e->value[step->out][i] = LLVMBuildAdd(e->builder, first, own, "");
  }
}

void emit_positions_along(emitter *e, int value, int axis) {
  const plan_value *out = &e->kernel->value[value];
  LLVMTypeRef type = type_of(e, out);
  plan_value spread;
  plan_value_spread(e->kernel, out, &spread);
  LLVMValueRef first = emit_coordinate(e, &spread, axis, 0);
  first = splat(e, LLVMBuildTrunc(e->builder, first, scalar_of(type), ""), type);
  first = LLVMBuildAdd(e->builder, first, lane_coordinates(e, axis, &spread, type), "");
  for (int i = 0; i < word_count(out); i++) {
    uint64_t tile = f2_apply(plan_value_columns(&spread, PLAN_REGISTER), (uint64_t)i);
    LLVMValueRef own = emit_splat(type, (uint64_t)known_coordinate(e->kernel, axis, tile));
    e->value[value][i] = LLVMBuildAdd(e->builder, first, own, "");
  }
}
