/* One piece of memory: its guards, its load or store, what bounds part of it. See emit_access.c. */
#include "base/bits.h"
#include "jit/emit/memory/emit_access.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/plan/facts/access.h"
#include "layout/f2.h"

enum {
  NOTHING_BYTES = 64,  /* no host's access is wider */
  LOADS_TOGETHER = 128 /* in a stretch of code without branches */
};

/* ---- alignment ---- */

void access_set_alignment(const emitter *e, LLVMValueRef instruction, int bytes) {
  LLVMSetAlignment(instruction, emit_is_host(e) ? 1 : (unsigned)bits_max(bytes, 1));
}

int access_piece_bytes(const access *a) {
  return bits_max(plan_access_bytes(a->value->bits, a->vector), 1);
}

/* ---- guards ---- */

/* i1: whether the piece at `tile` is loaded or stored; NULL: it is. */
LLVMValueRef access_condition(emitter *e, access *a, uint64_t tile) {
  LLVMValueRef condition = a->step->masked ? emit_inside(e, &a->place, tile) : NULL;
  const emit_index_terms *terms = emit_place_terms(e, &a->place, tile);
  if (terms && !a->step->following) condition = emit_and(e, condition, terms->valid);
  terms = emit_place_terms(e, &a->read, tile);
  if (terms) condition = emit_and(e, condition, terms->kept);
  return condition;
}

/* `type`, an integer of whole elements or a vector of such, with every element the kernel's fill.
 */
static LLVMValueRef fill_of(const emitter *e, const access *a, LLVMTypeRef type) {
  bool many = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef unit = many ? LLVMGetElementType(type) : type;
  uint64_t pattern = 0;
  for (unsigned at = 0; at < LLVMGetIntTypeWidth(unit); at += a->value->bits)
    pattern |= e->kernel->fill << at;
  return emit_splat(type, pattern);
}

/* The buffer in the block of the cluster that has an element: each is found once. */
static LLVMValueRef cluster_buffer(emitter *e, access *a, uint64_t tile) {
  const uint64_t known = f2_apply(a->blocks.of_tile, tile);
  LLVMValueRef *start = &a->block[known];
  if (!*start)
    *start =
        e->ops->cluster_address(e, a->place.base, emit_block_of(e, a->value, &a->blocks, known));
  return *start;
}

static LLVMValueRef cluster_load(emitter *e, LLVMTypeRef type, access *a, uint64_t tile) {
  int64_t behind;
  LLVMValueRef start = cluster_buffer(e, a, tile),
               offset = emit_buffer_offset(e, &a->place, tile, &behind);
  return e->ops->cluster_load(e, type, LLVMBuildAdd(e->builder, start, offset, ""), (int)behind);
}

static void cluster_push(emitter *e, access *a, uint64_t tile, LLVMValueRef stored) {
  const plan_buffer *buffer = &e->kernel->buffer[a->step->buffer];
  int64_t behind;
  LLVMValueRef start = cluster_buffer(e, a, tile),
               offset = emit_buffer_offset(e, &a->place, tile, &behind);
  LLVMValueRef barrier =
      LLVMBuildAdd(e->builder, start, emit_i32(e, e->kernel->pushed - buffer->offset), "");
  e->ops->cluster_push(e, stored, LLVMBuildAdd(e->builder, start, offset, ""), (int)behind,
                       barrier);
}

static LLVMValueRef plain_load(emitter *e, LLVMTypeRef type, access *a, uint64_t tile) {
  if (a->cluster) return cluster_load(e, type, a, tile);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, emit_pointer(e, &a->place, tile), "");
  access_set_alignment(e, loaded, access_piece_bytes(a) >> a->step->misaligned);
  return loaded;
}

/* What a load gives that does not happen: the fill outside of bounds, whatever the index says;
 * inside of them, where an index keeps it from memory, zero. */
static LLVMValueRef not_loaded(emitter *e, access *a, LLVMTypeRef type, uint64_t tile) {
  const emit_index_terms *terms = emit_place_terms(e, &a->place, tile);
  LLVMValueRef fill = fill_of(e, a, type), zero = LLVMConstNull(type);
  if (!terms || !terms->valid) return fill;
  LLVMValueRef inside = a->step->masked ? emit_inside(e, &a->place, tile) : NULL;
  return inside ? LLVMBuildSelect(e->builder, inside, zero, fill, "") : zero;
}

/* Whether one instruction moves a vector under a mask, as a condition on all of its lanes is, too.
 */
static bool masks_all(const emitter *e, LLVMTypeRef type) {
  if (!emit_is_host(e) || LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
  return emit_masks_whole(e, (int)LLVMGetIntTypeWidth(LLVMGetElementType(type)));
}

/* Whether the kernel is an expression's. */
static bool applies_nodes(const plan_kernel *kernel) {
  bool applies = false;
  for (int i = 0; i < kernel->n_steps; i++) applies |= kernel->step[i].kind == PLAN_APPLY;
  return applies;
}

/* Whether the kernel is an expression's, or a grouped product's. In loops, and where numbers of a
 * warp are asked about together, ptxas (CUDA 13.0) was seen to make a branch of a load under a
 * condition and not to end it: both parts of the warp then went on with the same uniform registers.
 * Lanes that meet behind such loads it leaves together. */
static bool keeps_together(const plan_kernel *kernel) {
  return kernel->experts.used || applies_nodes(kernel);
}

/* Bytes that are there, for loads that are not to happen. */
static LLVMValueRef nothing(emitter *e) {
  static const char name[] = "nothing";
  LLVMValueRef known = LLVMGetNamedGlobal(e->module, name);
  if (known) return known;
  LLVMTypeRef type = LLVMArrayType2(e->i8, NOTHING_BYTES);
  known = LLVMAddGlobal(e->module, type, name);
  LLVMSetInitializer(known, LLVMConstNull(type));
  LLVMSetGlobalConstant(known, true);
  LLVMSetLinkage(known, LLVMPrivateLinkage);
  LLVMSetAlignment(known, NOTHING_BYTES);
  return known;
}

/* A load without a branch. Of thousands of branches, as an expression's tile may have, LLVM's code
 * generator makes code in a time that grows with their square, and of thousands of loads that are
 * in one stretch of code, too: every so many have a branch. */
static LLVMValueRef load_either(emitter *e, LLVMValueRef inside, LLVMTypeRef type, access *a,
                                uint64_t tile, LLVMValueRef otherwise) {
  LLVMValueRef own = emit_pointer(e, &a->place, tile);
  LLVMValueRef from = LLVMBuildSelect(e->builder, inside, own, nothing(e), "");
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, from, "");
  access_set_alignment(e, loaded, access_piece_bytes(a) >> a->step->misaligned);
  return LLVMBuildSelect(e->builder, inside, loaded, otherwise, "");
}

/* A load that may not happen. */
static LLVMValueRef guarded_load(emitter *e, LLVMValueRef inside, LLVMTypeRef type, access *a,
                                 uint64_t tile) {
  if (!inside) return plain_load(e, type, a, tile);
  LLVMValueRef otherwise = not_loaded(e, a, type, tile), loaded_if = NULL;
  if (a->place.staged &&
      e->kernel->panel.gathered) /* from memory that is there, whatever the value */
    return LLVMBuildSelect(e->builder, inside, plain_load(e, type, a, tile), otherwise, "");
  if (e->ops->load_if && !a->place.staged && (a->place.indexed || a->step->predicated))
    loaded_if = e->ops->load_if(e, type, emit_pointer(e, &a->place, tile), inside, otherwise);
  e->parted |= loaded_if && keeps_together(e->kernel);
  if (loaded_if) return loaded_if;
  if (masks_all(e, type))
    return emit_parted_load(e, type, emit_pointer(e, &a->place, tile),
                            emit_all_lanes(e, inside, LLVMGetVectorSize(type)), otherwise);
  if (emit_is_host(e) && !a->place.staged && applies_nodes(e->kernel) &&
      access_piece_bytes(a) <= NOTHING_BYTES && ++e->together % LOADS_TOGETHER)
    return load_either(e, inside, type, a, tile, otherwise);
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

/* ---- one piece of memory ---- */

/* Loads `type` from tile coordinate `tile`, where the step's mask and the tensor's indices allow
 * it. */
LLVMValueRef access_load_piece(emitter *e, access *a, uint64_t tile, LLVMTypeRef type) {
  return guarded_load(e, access_condition(e, a, tile), type, a, tile);
}

/* Where a piece is stored: of a tensor at its place among what is collected. */
LLVMValueRef access_store_pointer(emitter *e, access *a, uint64_t tile) {
  LLVMValueRef pointer = emit_pointer(e, &a->place, tile);
  return a->place.tensor >= 0 ? emit_collected(e, pointer) : pointer;
}

static void store_now(emitter *e, const access *a, LLVMValueRef stored, LLVMValueRef pointer) {
  LLVMValueRef store = LLVMBuildStore(e->builder, stored, pointer);
  access_set_alignment(e, store, access_piece_bytes(a) >> a->step->misaligned);
  if (a->step->streaming && emit_is_host(e))
    emit_set_nontemporal(e, store, 1 << a->step->streaming);
}

static void store_each(emitter *e, void *data) {
  const access *a = data;
  for (int i = 0; i < a->waiting; i++) store_now(e, a, a->stored[i], a->pointer[i]);
}

/* What waits is stored, past the caches or through them. */
void access_store_waiting(emitter *e, access *a) {
  if (a->waiting > 0) emit_either_way(e, store_each, a);
  a->waiting = 0;
}

void access_store_piece(emitter *e, access *a, uint64_t tile, LLVMValueRef stored) {
  if (a->cluster) {
    cluster_push(e, a, tile, stored);
    return;
  }
  LLVMValueRef condition = access_condition(e, a, tile);
  LLVMTypeRef type = LLVMTypeOf(stored);
  if (condition && !a->step->streaming && masks_all(e, type)) {
    emit_parted_store(e, stored, access_store_pointer(e, a, tile),
                      emit_all_lanes(e, condition, LLVMGetVectorSize(type)));
    return;
  }
  LLVMBasicBlockRef next = emit_open_guard(e, condition);
  LLVMValueRef pointer = access_store_pointer(e, a, tile);
  if (a->step->streaming && e->streams) {
    a->pointer[a->waiting] = pointer;
    a->stored[a->waiting++] = stored;
    if (condition || a->waiting == MAX_WAITING) access_store_waiting(e, a);
  } else {
    store_now(e, a, stored, pointer);
  }
  emit_close_guard(e, next);
}

/* ---- pieces that bounds part; host ---- */

LLVMValueRef access_load_parted(emitter *e, access *a, uint64_t tile, LLVMTypeRef type,
                                const emit_parted *parts) {
  LLVMValueRef otherwise = fill_of(e, a, type);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder),
                    next = emit_open_guard(e, parts->whole);
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

/* What is collected lies in memory that may be read: where no instruction stores under a mask,
 * elements that a bound leaves out are stored as they are there. */
void access_store_parted(emitter *e, access *a, uint64_t tile, LLVMValueRef stored,
                         const emit_parted *parts) {
  LLVMBasicBlockRef next = emit_open_guard(e, parts->whole);
  LLVMValueRef pointer = access_store_pointer(e, a, tile);
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

/* ---- what of a value is moved ---- */

/* Whether the step's part of a value has register `index`. */
bool access_takes_part(const emitter *e, const access *a, uint64_t index) {
  plan_repetitions repetitions;
  if (a->place.tensor >= 0) return true;
  plan_repetitions_of(e->kernel, a->step->buffer, a->value, &repetitions);
  return plan_repetition_has(&repetitions, a->step->repetition, index);
}

/* Lanes that hold no copies; the lanes below are consecutive bits from 0. */
int access_lane_bits(const plan_value *value) {
  int n = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    n += plan_value_columns(value, PLAN_LANE)[i] != 0;
  return n;
}

LLVMTypeRef access_lanes_type(const emitter *e, const access *a, int lane_bits) {
  LLVMTypeRef word = access_word_type(e, a);
  return lane_bits > 0 ? LLVMVectorType(word, 1u << lane_bits) : word;
}
