/* Loads and stores of values: vectors of registers on a GPU, of lanes on the host.
 *
 * Both walk the value in *pieces*. A GPU piece is one access of one thread: 2^vector elements that lie in
 * 2^(vector - word) words, or in a part of one word. A host piece is a run of lanes of one register that
 * hold 2^vector elements, together with its neighbours a whole SIMD register. A single element of 4 bits,
 * which only element-wise steps load, is taken out of its byte. */
#include "jit/emit/builder.h"

#include "base/bits.h"

#include <assert.h>
#include <string.h>

#define MAX_WAITING 32

/* One access of a step, resolved. */
typedef struct access {
  const plan_step *step;
  const plan_value *value;
  LLVMValueRef *words; /* of the value */
  emit_place place;
  emit_place read; /* STORE: of the tensor that was read, where its indices leave elements out */
  int registers, word; /* log2 registers, log2 elements in a word */
  int vector;          /* log2 elements of a piece */
  int position[8];     /* register bit that moves the address by 2^j, GPU */
  uint64_t inner;      /* register bits inside a piece */
  plan_matrix matrix;  /* where the step moves matrices; `place` is that of their rows' addresses */
  plan_value addresses; /* of matrices' rows; of a tensor: over the kernel's whole tile */
  LLVMValueRef pointer[MAX_WAITING], stored[MAX_WAITING]; /* pieces whose addresses are made, to be stored together */
  int waiting;
  bool load;
  bool cluster;        /* a load from the memory of other blocks */
  plan_blocks blocks;  /* cluster: of the buffer */
  LLVMValueRef block[1 << PLAN_MAX_CLUSTER_BITS]; /* cluster: its address, by what registers add to the block */
} access;

/* ---- alignment ---- */

static void set_alignment(const emitter *e, LLVMValueRef instruction, int bytes) {
  LLVMSetAlignment(instruction, emit_is_host(e) ? 1 : (unsigned)bits_max(bytes, 1));
}

static int piece_bytes(const access *a) {
  return bits_max(plan_access_bytes(a->value->bits, a->vector), 1);
}

/* ---- guards ---- */

/* i1: whether the piece at `tile` is loaded or stored; NULL: it is. */
static LLVMValueRef piece_condition(emitter *e, access *a, uint64_t tile) {
  LLVMValueRef condition = a->step->masked ? emit_inside(e, &a->place, tile) : NULL;
  const emit_index_terms *terms = emit_place_terms(e, &a->place, tile);
  if (terms) condition = emit_and(e, condition, terms->valid);
  terms = emit_place_terms(e, &a->read, tile);
  if (terms) condition = emit_and(e, condition, terms->kept);
  return condition;
}

/* `type`, an integer of whole elements or a vector of such, with every element the kernel's fill. */
static LLVMValueRef fill_of(const emitter *e, const access *a, LLVMTypeRef type) {
  bool many = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef unit = many ? LLVMGetElementType(type) : type;
  uint64_t pattern = 0;
  for (unsigned at = 0; at < LLVMGetIntTypeWidth(unit); at += a->value->bits)
    pattern |= e->kernel->fill << at;
  return emit_splat(type, pattern);
}

/* From the block of the cluster that has it: of each block the buffer's address is made once. */
static LLVMValueRef cluster_load(emitter *e, LLVMTypeRef type, access *a, uint64_t tile) {
  uint64_t known = f2_apply(a->blocks.of_tile, tile);
  int64_t behind;
  LLVMValueRef *start = &a->block[known], offset = emit_buffer_offset(e, &a->place, tile, &behind);
  if (!*start)
    *start = e->ops->cluster_address(e, a->place.base, emit_block_of(e, a->value, &a->blocks, known));
  LLVMValueRef address = LLVMBuildAdd(e->builder, *start, offset, "");
  return e->ops->cluster_load(e, type, address, (int)behind);
}

static LLVMValueRef plain_load(emitter *e, LLVMTypeRef type, access *a, uint64_t tile) {
  if (a->cluster) return cluster_load(e, type, a, tile);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, emit_pointer(e, &a->place, tile), "");
  set_alignment(e, loaded, piece_bytes(a) >> a->step->misaligned);
  return loaded;
}

/* What a load gives that does not happen: the fill outside of bounds, zero where an index says so. */
static LLVMValueRef not_loaded(emitter *e, access *a, LLVMTypeRef type, uint64_t tile) {
  const emit_index_terms *terms = emit_place_terms(e, &a->place, tile);
  LLVMValueRef fill = fill_of(e, a, type);
  if (!terms || !terms->valid) return fill;
  return LLVMBuildSelect(e->builder, terms->valid, fill, LLVMConstNull(type), "");
}

/* Whether one instruction moves a vector under a mask, as a condition on all of its lanes is, too. */
static bool masks_all(const emitter *e, LLVMTypeRef type) {
  if (!emit_is_host(e) || LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
  return e->ops->has_masks(e, (int)LLVMGetIntTypeWidth(LLVMGetElementType(type)));
}

/* A load that may not happen. */
static LLVMValueRef guarded_load(emitter *e, LLVMValueRef inside, LLVMTypeRef type, access *a,
                                 uint64_t tile) {
  if (!inside) return plain_load(e, type, a, tile);
  LLVMValueRef otherwise = not_loaded(e, a, type, tile), loaded_if = NULL;
  if (a->place.staged && e->kernel->panel.gathered) /* from memory that is there, whatever the value */
    return LLVMBuildSelect(e->builder, inside, plain_load(e, type, a, tile), otherwise, "");
  if (e->ops->load_if && (a->place.indexed || a->step->predicated))
    loaded_if = e->ops->load_if(e, type, emit_pointer(e, &a->place, tile), inside, otherwise);
  if (loaded_if) return loaded_if;
  if (masks_all(e, type))
    return emit_parted_load(e, type, emit_pointer(e, &a->place, tile), emit_all_lanes(e, inside, LLVMGetVectorSize(type)), otherwise);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, inside);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef loaded = plain_load(e, type, a, tile);
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, type, "");
  LLVMAddIncoming(phi, &loaded, &body, 1);
  LLVMAddIncoming(phi, &otherwise, &before, 1);
  return phi;
}

/* The element of 4 bits at `tile`, in the low or high half of the byte that is loaded from there. */
static LLVMValueRef nibble_of(emitter *e, emit_place *place, uint64_t tile, LLVMValueRef byte) {
  LLVMValueRef upper = LLVMBuildAnd(e->builder, emit_offset(e, place, tile), emit_i64(e, 1), "");
  if (place->tensor >= 0 && e->kernel->high_first[place->tensor])
    upper = LLVMBuildXor(e->builder, upper, emit_i64(e, 1), "");
  LLVMValueRef shift = LLVMBuildShl(e->builder, upper, emit_i64(e, 2), "");
  byte = LLVMBuildLShr(e->builder, byte, LLVMBuildTrunc(e->builder, shift, e->i8, ""), "");
  return LLVMBuildAnd(e->builder, byte, LLVMConstInt(e->i8, 15, 0), "");
}

LLVMValueRef emit_load_element(emitter *e, emit_place *place, uint64_t tile, int bits, bool masked) {
  LLVMTypeRef type = emit_int_type(e, bits_max(bits, 8));
  place->nibbles = bits < 8;
  LLVMValueRef inside = masked ? emit_inside(e, place, tile) : NULL;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, inside);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, emit_pointer(e, place, tile), "");
  set_alignment(e, loaded, bits / 8);
  if (bits < 8) loaded = nibble_of(e, place, tile, loaded);
  if (!next) return loaded;
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, type, ""), zero = LLVMConstNull(type);
  LLVMAddIncoming(phi, &loaded, &body, 1);
  LLVMAddIncoming(phi, &zero, &before, 1);
  return phi;
}

/* ---- one piece of memory ---- */

/* Loads `type` from tile coordinate `tile`, where the step's mask and the tensor's indices allow it. */
static LLVMValueRef load_piece(emitter *e, access *a, uint64_t tile, LLVMTypeRef type) {
  return guarded_load(e, piece_condition(e, a, tile), type, a, tile);
}

/* Where a piece is stored: of a tensor at its place among what is collected. */
static LLVMValueRef store_pointer(emitter *e, access *a, uint64_t tile) {
  LLVMValueRef pointer = emit_pointer(e, &a->place, tile);
  return a->place.tensor >= 0 ? emit_collected(e, pointer) : pointer;
}

static void store_now(emitter *e, const access *a, LLVMValueRef stored, LLVMValueRef pointer) {
  LLVMValueRef store = LLVMBuildStore(e->builder, stored, pointer);
  set_alignment(e, store, piece_bytes(a) >> a->step->misaligned);
  if (a->step->streaming && emit_is_host(e)) emit_set_nontemporal(e, store, 1 << a->step->streaming);
}

static void store_each(emitter *e, void *data) {
  const access *a = data;
  for (int i = 0; i < a->waiting; i++) store_now(e, a, a->stored[i], a->pointer[i]);
}

/* What waits is stored, past the caches or through them. */
static void store_waiting(emitter *e, access *a) {
  if (a->waiting > 0) emit_either_way(e, store_each, a);
  a->waiting = 0;
}

static void store_piece(emitter *e, access *a, uint64_t tile, LLVMValueRef stored) {
  LLVMValueRef condition = piece_condition(e, a, tile);
  LLVMTypeRef type = LLVMTypeOf(stored);
  if (condition && !a->step->streaming && masks_all(e, type)) {
    emit_parted_store(e, stored, store_pointer(e, a, tile), emit_all_lanes(e, condition, LLVMGetVectorSize(type)));
    return;
  }
  LLVMBasicBlockRef next = emit_open_guard(e, condition);
  LLVMValueRef pointer = store_pointer(e, a, tile);
  if (a->step->streaming && e->streams) {
    a->pointer[a->waiting] = pointer;
    a->stored[a->waiting++] = stored;
    if (condition || a->waiting == MAX_WAITING) store_waiting(e, a);
  } else {
    store_now(e, a, stored, pointer);
  }
  emit_close_guard(e, next);
}

/* ---- pieces that bounds part; host ---- */

static LLVMValueRef load_parted(emitter *e, access *a, uint64_t tile, LLVMTypeRef type, const emit_parted *parts) {
  LLVMValueRef otherwise = fill_of(e, a, type);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), next = emit_open_guard(e, parts->whole);
  LLVMValueRef pointer = emit_pointer(e, &a->place, tile);
  LLVMValueRef loaded = emit_parted_load(e, type, pointer, parts->mask, otherwise);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  if (!next) return loaded;
  LLVMValueRef phi = LLVMBuildPhi(e->builder, type, "");
  LLVMAddIncoming(phi, &loaded, &body, 1);
  LLVMAddIncoming(phi, &otherwise, &before, 1);
  return phi;
}

/* What is collected lies in memory that may be read: where no instruction stores under a mask, elements that a bound
 * leaves out are stored as they are there. */
static void store_parted(emitter *e, access *a, uint64_t tile, LLVMValueRef stored, const emit_parted *parts) {
  LLVMBasicBlockRef next = emit_open_guard(e, parts->whole);
  LLVMValueRef pointer = store_pointer(e, a, tile);
  if (e->collected.buffer && !e->ops->has_masks(e, bits_max(a->value->bits, 8))) {
    LLVMValueRef before = LLVMBuildLoad2(e->builder, LLVMTypeOf(stored), pointer, "");
    LLVMSetAlignment(before, 1);
    stored = LLVMBuildSelect(e->builder, parts->mask, stored, before, "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, stored, pointer), 1);
  } else {
    emit_parted_store(e, stored, pointer, parts->mask);
  }
  emit_close_guard(e, next);
}

static uint64_t register_tile(const access *a, uint64_t index) {
  return f2_apply(plan_value_columns(a->value, PLAN_REGISTER), index);
}

/* ---- words ---- */

static LLVMTypeRef word_type(const emitter *e, const access *a) {
  if (emit_is_host(e)) return emit_int_type(e, bits_max(a->value->bits, 8));
  return a->value->bits == 64 ? e->i64 : e->i32;
}

/* Puts `part` (of the word's type) into the elements of *word from register `index` on. */
static void put_part(emitter *e, const access *a, uint64_t index, LLVMValueRef part) {
  LLVMValueRef *word = &a->words[index >> a->word];
  unsigned element = (unsigned)(index & bits_mask(a->word));
  LLVMValueRef shift = LLVMConstInt(word_type(e, a), element * a->value->bits, 0);
  part = LLVMBuildShl(e->builder, part, shift, "");
  *word = element == 0 ? part : LLVMBuildOr(e->builder, *word, part, "");
}

/* ---- GPU ---- */

/* Register index of element i of a piece: i's bits at the places that positions give; of word k. */
static uint64_t piece_element(const access *a, int i) {
  uint64_t index = 0;
  for (int j = 0; j < a->vector; j++)
    if (i >> j & 1) index |= 1ull << a->position[j];
  return index;
}

static uint64_t piece_register(const access *a, int k) { return piece_element(a, k << a->word); }

/* Stores of a piece that bounds part the elements which are inside. */
static void store_inside(emitter *e, access *a, uint64_t first) {
  LLVMTypeRef unit = emit_int_type(e, a->value->bits);
  for (int i = 0; i < 1 << a->vector; i++) {
    uint64_t index = first | piece_element(a, i), element = index & bits_mask(a->word);
    LLVMBasicBlockRef next = emit_open_guard(e, emit_inside(e, &a->place, register_tile(a, index)));
    LLVMValueRef word = a->words[index >> a->word];
    LLVMValueRef shift = LLVMConstInt(LLVMTypeOf(word), element * a->value->bits, 0);
    LLVMValueRef part = LLVMBuildTrunc(e->builder, LLVMBuildLShr(e->builder, word, shift, ""), unit, "");
    LLVMValueRef store = LLVMBuildStore(e->builder, part, store_pointer(e, a, register_tile(a, index)));
    set_alignment(e, store, a->value->bits / 8);
    emit_close_guard(e, next);
  }
}

/* The piece from register `first` on: one access where its last element is inside the bounds, and nothing where its
 * first is not (plan_is_ordered). */
static void store_parts(emitter *e, access *a, uint64_t first, LLVMValueRef piece) {
  uint64_t last = first | piece_element(a, (1 << a->vector) - 1);
  LLVMValueRef all = emit_inside(e, &a->place, register_tile(a, last));
  LLVMBasicBlockRef next = emit_open_guard(e, all);
  LLVMValueRef store = LLVMBuildStore(e->builder, piece, store_pointer(e, a, register_tile(a, first)));
  set_alignment(e, store, piece_bytes(a));
  emit_close_guard(e, next);
  if (!all) return;
  LLVMValueRef any = emit_inside(e, &a->place, register_tile(a, first));
  next = emit_open_guard(e, emit_and(e, any, LLVMBuildNot(e->builder, all, "")));
  store_inside(e, a, first);
  emit_close_guard(e, next);
}

/* A piece of whole words, as a scalar or vector of them. */
static void move_words(emitter *e, access *a, uint64_t first) {
  int n = 1 << (a->vector - a->word), bits = a->value->bits << a->word;
  LLVMTypeRef unit = emit_int_type(e, bits), type = n > 1 ? LLVMVectorType(unit, (unsigned)n) : unit;
  uint64_t tile = register_tile(a, first);
  LLVMValueRef piece = a->load ? load_piece(e, a, tile, type) : LLVMGetUndef(type);
  for (int k = 0; k < n; k++) {
    LLVMValueRef *word = &a->words[(first | piece_register(a, k)) >> a->word];
    LLVMValueRef at = emit_i32(e, k);
    if (a->load) {
      *word = n > 1 ? LLVMBuildExtractElement(e->builder, piece, at, "") : piece;
      *word = LLVMBuildZExt(e->builder, *word, word_type(e, a), "");
    } else {
      LLVMValueRef part = LLVMBuildTrunc(e->builder, *word, unit, "");
      piece = n > 1 ? LLVMBuildInsertElement(e->builder, piece, part, at, "") : part;
    }
  }
  if (a->load) return;
  if (a->step->parted) store_parts(e, a, first, piece);
  else store_piece(e, a, tile, piece);
}

/* A piece that is part of a word: 2^vector elements from element `first` of its word. */
static void move_part(emitter *e, access *a, uint64_t first) {
  LLVMTypeRef unit = emit_int_type(e, a->value->bits << a->vector);
  uint64_t tile = register_tile(a, first);
  if (a->load) {
    LLVMValueRef part = load_piece(e, a, tile, unit);
    put_part(e, a, first, LLVMBuildZExt(e->builder, part, word_type(e, a), ""));
    return;
  }
  int element = (int)(first & bits_mask(a->word));
  LLVMValueRef shift = LLVMConstInt(word_type(e, a), (unsigned)(element * a->value->bits), 0);
  LLVMValueRef part = LLVMBuildLShr(e->builder, a->words[first >> a->word], shift, "");
  part = LLVMBuildTrunc(e->builder, part, unit, "");
  if (a->step->parted) store_parts(e, a, first, part);
  else store_piece(e, a, tile, part);
}

/* Whether the step's part of a value has register `index`. */
static bool takes_part(const emitter *e, const access *a, uint64_t index) {
  plan_repetitions repetitions;
  if (a->place.tensor >= 0) return true;
  plan_repetitions_of(e->kernel, a->step->buffer, a->value, &repetitions);
  return plan_repetition_has(&repetitions, a->step->repetition, index);
}

/* One instruction: the words of its matrices from register `first` on. */
static void move_matrices(emitter *e, access *a, uint64_t first) {
  int n = 1 << a->matrix.count;
  bool transposed = a->step->matrix == PLAN_MATRIX_TRANSPOSED;
  LLVMValueRef moved[4], *word[4], row = emit_pointer(e, &a->place, register_tile(a, first));
  for (int m = 0; m < n; m++) {
    uint64_t index = first;
    for (int j = 0; j < a->matrix.count; j++)
      if (m >> j & 1) index |= 1ull << a->matrix.position[j];
    word[m] = &a->words[index >> a->word];
    moved[m] = *word[m];
  }
  if (!a->load) {
    e->ops->matrix_store(e, row, a->matrix.count, transposed, moved);
    return;
  }
  e->ops->matrix_load(e, row, a->matrix.count, transposed, moved);
  for (int m = 0; m < n; m++) *word[m] = moved[m];
}

static void move_all_matrices(emitter *e, access *a) {
  a->inner = bits_mask(a->word);
  for (int j = 0; j < a->matrix.count; j++) a->inner |= 1ull << a->matrix.position[j];
  for (uint64_t index = 0; index < 1ull << a->registers; index++)
    if (!(index & a->inner) && takes_part(e, a, index)) move_matrices(e, a, index);
}

/* Loads what indices say of every piece, before any piece: so all those loads are under way together. */
static void read_indices(emitter *e, access *a) {
  for (uint64_t index = 0; index < 1ull << a->registers; index++)
    if (!(index & a->inner)) emit_place_terms(e, &a->place, register_tile(a, index));
}

static void move_gpu(emitter *e, access *a) {
  if (a->step->matrix) {
    move_all_matrices(e, a);
    return;
  }
  if (e->kernel->flat) { /* whose vectors are the lowest registers */
    for (int j = 0; j < a->vector; j++) a->position[j] = j;
  } else {
    bool found = plan_access_positions(a->value, &a->place.map, PLAN_REGISTER, a->vector, a->position);
    assert(found || a->vector == 0);
    (void)found;
  }
  for (int j = 0; j < a->vector; j++) a->inner |= 1ull << a->position[j];
  if (a->place.indexed && 1 << a->registers >> a->vector <= EMIT_MAX_SPOTS) read_indices(e, a);
  for (uint64_t index = 0; index < 1ull << a->registers; index++) {
    if (index & a->inner || !takes_part(e, a, index)) continue;
    if (a->vector >= a->word) move_words(e, a, index);
    else move_part(e, a, index);
  }
}

/* ---- host ---- */

/* Lanes that hold no copies; the lanes below are consecutive bits from 0. */
static int lane_bits_of(const plan_value *value) {
  int n = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    n += plan_value_columns(value, PLAN_LANE)[i] != 0;
  return n;
}

static LLVMTypeRef lanes_type(const emitter *e, const access *a, int lane_bits) {
  LLVMTypeRef word = word_type(e, a);
  return lane_bits > 0 ? LLVMVectorType(word, 1u << lane_bits) : word;
}

/* log2 lanes, at most `most`, that lie in memory one after the other, word by word. */
static int contiguous_lanes(const access *a, int most) {
  const uint64_t *lanes = plan_value_columns(a->value, PLAN_LANE);
  int n = 0;
  while (n < most && f2_apply(a->place.map.column, lanes[n]) == 1ull << (a->word + n) &&
         !(lanes[n] & a->place.map.strided))
    n++;
  return n;
}

/* Lanes [first, first + n) of `wide`, or with `into` those lanes replaced by `narrow`. */
static LLVMValueRef take_lanes(emitter *e, LLVMValueRef wide, int first, int n) {
  LLVMValueRef mask[64];
  if (n == 1) return LLVMBuildExtractElement(e->builder, wide, emit_i32(e, first), "");
  for (int i = 0; i < n; i++) mask[i] = emit_i32(e, first + i);
  return LLVMBuildShuffleVector(e->builder, wide, LLVMGetUndef(LLVMTypeOf(wide)),
                                LLVMConstVector(mask, (unsigned)n), "");
}

static LLVMValueRef put_lanes(emitter *e, LLVMValueRef wide, LLVMValueRef narrow, int first, int n,
                              int lanes) {
  LLVMValueRef widen[64], mask[64];
  if (n == 1) return LLVMBuildInsertElement(e->builder, wide, narrow, emit_i32(e, first), "");
  for (int i = 0; i < lanes; i++) {
    widen[i] = i < n ? emit_i32(e, i) : LLVMGetUndef(e->i32);
    mask[i] = emit_i32(e, i >= first && i < first + n ? lanes + i - first : i);
  }
  narrow = LLVMBuildShuffleVector(e->builder, narrow, LLVMGetUndef(LLVMTypeOf(narrow)),
                                  LLVMConstVector(widen, (unsigned)lanes), "");
  return LLVMBuildShuffleVector(e->builder, wide, narrow, LLVMConstVector(mask, (unsigned)lanes),
                                "");
}

/* The register of words from element `index` on; a piece is a run of 2^run_bits lanes. */
static void move_host_register(emitter *e, access *a, uint64_t index, int lane_bits, int run_bits) {
  int lanes = 1 << lane_bits, run = 1 << run_bits;
  LLVMTypeRef piece_type = lanes_type(e, a, run_bits);
  LLVMValueRef *word = &a->words[index >> a->word];
  if (a->place.tensor >= 0) emit_ahead_some(e);
  if (a->load) *word = LLVMGetUndef(lanes_type(e, a, lane_bits));
  for (int first = 0; first < lanes; first += run) {
    const uint64_t *columns = plan_value_columns(a->value, PLAN_LANE);
    uint64_t tile = register_tile(a, index) ^ f2_apply(columns, (uint64_t)first);
    emit_parted parts = {NULL, NULL};
    if (a->step->parted) emit_part(e, &a->place, tile, columns, run_bits, &parts);
    if (a->load) {
      LLVMValueRef piece = parts.mask ? load_parted(e, a, tile, piece_type, &parts)
                                      : load_piece(e, a, tile, piece_type);
      *word = run == lanes ? piece : put_lanes(e, *word, piece, first, run, lanes);
    } else {
      LLVMValueRef piece = run == lanes ? *word : take_lanes(e, *word, first, run);
      if (parts.mask) store_parted(e, a, tile, piece, &parts);
      else store_piece(e, a, tile, piece);
    }
  }
}

static void move_host(emitter *e, access *a) {
  int lane_bits = lane_bits_of(a->value);
  int run_bits = contiguous_lanes(a, bits_min(a->vector - a->word, lane_bits));
  for (uint64_t index = 0; index < 1ull << a->registers; index += 1ull << a->word)
    if (takes_part(e, a, index)) move_host_register(e, a, index, lane_bits, run_bits);
  store_waiting(e, a);
}

/* ---- single elements of 4 bits ---- */

static bool is_high_first(const emitter *e, const access *a) {
  return a->place.tensor >= 0 && e->kernel->high_first[a->place.tensor];
}

/* The halves of every byte of the value's words, exchanged. */
static void swap_halves(emitter *e, const access *a, LLVMValueRef *from, LLVMValueRef *to) {
  for (uint64_t w = 0; w < 1ull << (a->registers - a->word); w++) {
    LLVMTypeRef type = LLVMTypeOf(from[w]);
    LLVMValueRef low = emit_splat(type, 0x0F0F0F0F), four = emit_splat(type, 4);
    LLVMValueRef up = LLVMBuildShl(e->builder, LLVMBuildAnd(e->builder, from[w], low, ""), four, "");
    LLVMValueRef down = LLVMBuildAnd(e->builder, LLVMBuildLShr(e->builder, from[w], four, ""), low, "");
    to[w] = LLVMBuildOr(e->builder, up, down, "");
  }
}

/* The element of 4 bits at `tile`, in its byte's low or high half, as a word. */
static LLVMValueRef load_nibble(emitter *e, access *a, uint64_t tile) {
  LLVMValueRef byte = nibble_of(e, &a->place, tile, load_piece(e, a, tile, e->i8));
  return LLVMBuildZExt(e->builder, byte, word_type(e, a), "");
}

/* The word from element `index` on, of a lane whose first element adds `lane` to tile coordinates. */
static LLVMValueRef load_word_of_nibbles(emitter *e, access *a, uint64_t index, uint64_t lane) {
  LLVMTypeRef type = word_type(e, a);
  LLVMValueRef word = LLVMConstInt(type, 0, 0);
  for (unsigned i = 0; i < 1u << a->word; i++) {
    LLVMValueRef part = load_nibble(e, a, register_tile(a, index | i) ^ lane);
    part = LLVMBuildShl(e->builder, part, LLVMConstInt(type, i * a->value->bits, 0), "");
    word = LLVMBuildOr(e->builder, word, part, "");
  }
  return word;
}

static bool is_single_nibble(const access *a) { return a->value->bits < 8 && a->vector == 0; }

static void load_nibbles(emitter *e, access *a) {
  int lane_bits = emit_is_host(e) ? lane_bits_of(a->value) : 0;
  for (uint64_t index = 0; index < 1ull << a->registers; index += 1ull << a->word) {
    LLVMValueRef *word = &a->words[index >> a->word];
    *word = load_word_of_nibbles(e, a, index, 0);
    if (lane_bits == 0) continue;
    LLVMValueRef lanes = LLVMGetUndef(lanes_type(e, a, lane_bits));
    for (uint64_t l = 0; l < 1ull << lane_bits; l++) {
      uint64_t tile = f2_apply(plan_value_columns(a->value, PLAN_LANE), l);
      LLVMValueRef one = l ? load_word_of_nibbles(e, a, index, tile) : *word;
      lanes = LLVMBuildInsertElement(e->builder, lanes, one, emit_i32(e, (int64_t)l), "");
    }
    *word = lanes;
  }
}

/* ---- steps ---- */

/* i1: whether this thread's warp takes part in the step's repetition; NULL: all do. */
static LLVMValueRef warp_takes_part(emitter *e, const access *a) {
  plan_repetitions repetitions;
  plan_repetitions_of(e->kernel, a->step->buffer, a->value, &repetitions);
  if (repetitions.warps == 0 || !e->warp) return NULL;
  LLVMValueRef of_warp = emit_linear(e, e->warp, repetitions.of_warp, e->kernel->warp_bits);
  return LLVMBuildICmp(e->builder, LLVMIntEQ, of_warp,
                       emit_i32(e, (int64_t)(a->step->repetition & repetitions.warps)), "");
}

/* A shared load that only some warps make: the others keep what they have. */
static void load_guarded(emitter *e, access *a, LLVMValueRef condition) {
  emit_words before;
  int n = 1 << (a->registers - a->word);
  memcpy(before, a->words, (size_t)n * sizeof *before);
  LLVMBasicBlockRef skipped = LLVMGetInsertBlock(e->builder), next = emit_open_guard_of_warps(e, condition);
  move_gpu(e, a);
  LLVMBasicBlockRef loaded = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  for (int i = 0; i < n; i++) {
    if (a->words[i] == before[i]) continue;
    LLVMValueRef now = a->words[i], old = before[i] ? before[i] : LLVMGetUndef(LLVMTypeOf(now));
    a->words[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(now), "");
    LLVMAddIncoming(a->words[i], &now, &loaded, 1);
    LLVMAddIncoming(a->words[i], &old, &skipped, 1);
  }
}

static void place_in_buffer(emitter *e, access *a) {
  const plan_value *value = a->value;
  if (a->step->matrix) {
    plan_matrix_of(e->kernel, a->step, value, &a->matrix);
    plan_matrix_addresses(value, &a->matrix, &a->addresses);
    value = &a->addresses;
  }
  emit_place_buffer(e, value, a->step->buffer, &a->place);
}

static void move_value(emitter *e, const plan_step *step, int number, bool load, bool tensor) {
  access a = {.step = step, .value = &e->kernel->value[number], .words = e->value[number],
              .vector = step->vector, .load = load};
  if (tensor) {
    plan_value_spread(e->kernel, a.value, &a.addresses);
    a.value = &a.addresses;
  }
  a.registers = plan_value_bits(a.value, PLAN_REGISTER);
  a.word = a.value->word;
  e->apart = tensor ? step->apart : 0;
  LLVMBasicBlockRef next = NULL;
  LLVMValueRef warps = tensor ? NULL : warp_takes_part(e, &a);
  LLVMValueRef first = load     ? NULL
                       : tensor ? emit_is_first_copy(e, a.value)
                                : emit_is_first_in_block(e, a.value);
  if (first) next = emit_open_guard(e, emit_and(e, first, warps));
  else if (!load) next = emit_open_guard_of_warps(e, warps);
  a.cluster = load && !tensor && !plan_is_local(e->kernel, step->buffer, a.value);
  if (a.cluster) plan_blocks_of_buffer(e->kernel, step->buffer, &a.blocks);
  if (tensor && e->both) a.place = *e->both;
  else if (tensor) emit_place_tensor(e, a.value, step->tensor, &a.place);
  else place_in_buffer(e, &a);
  if (tensor && !load && e->kernel->n_indices) emit_place_tensor(e, a.value, 0, &a.read);
  a.place.staged = step->staged;
  emit_words swapped;
  bool swap = is_high_first(e, &a) && !is_single_nibble(&a);
  if (swap && !load) {
    swap_halves(e, &a, a.words, swapped);
    a.words = swapped;
  }
  a.place.nibbles = is_single_nibble(&a);
  if (a.place.nibbles) load_nibbles(e, &a);
  else if (emit_is_host(e)) move_host(e, &a);
  else if (load && warps) load_guarded(e, &a, warps);
  else move_gpu(e, &a);
  if (swap && load) swap_halves(e, &a, a.words, a.words);
  e->apart = 0;
  emit_close_guard(e, next);
}

void emit_load_step(emitter *e, const plan_step *step) {
  if (step->overhang) emit_overhang_step(e, step);
  else move_value(e, step, step->out, true, true);
}

void emit_store_step(emitter *e, const plan_step *step) {
  if (step->overhang) emit_overhang_step(e, step);
  else move_value(e, step, step->in, false, true);
}

void emit_shared_store_step(emitter *e, const plan_step *step) {
  move_value(e, step, step->in, false, false);
}

void emit_shared_load_step(emitter *e, const plan_step *step) {
  e->lazy[step->out] = step->lazy ? step : NULL;
  if (step->lazy) memset(e->value[step->out], 0, sizeof e->value[step->out]);
  else move_value(e, step, step->out, true, false);
}

void emit_matrix_word(emitter *e, const plan_step *step, int w) {
  access a = {.step = step, .value = &e->kernel->value[step->out], .words = e->value[step->out], .vector = step->vector,
              .load = true};
  a.registers = plan_value_bits(a.value, PLAN_REGISTER);
  a.word = a.value->word;
  place_in_buffer(e, &a);
  uint64_t first = (uint64_t)w << a.word;
  for (int j = 0; j < a.matrix.count; j++) first &= ~(1ull << a.matrix.position[j]);
  move_matrices(e, &a, first);
}
