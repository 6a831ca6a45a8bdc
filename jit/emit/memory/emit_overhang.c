/* Overhanging loads and stores: rows that start anywhere are moved by aligned vectors
 * (docs/one-pass.md, "Rows that are not aligned"). GPU only.
 *
 * A thread's *piece* is as many bytes as an aligned vector, 2^lanes neighbouring pieces are a
 * group, in lanes. A load takes the vector in which its piece begins, gets the next one from the
 * lane that has it, and shifts both by what the piece lies off the vector; the group's last piece
 * needs one vector more, which the first piece's lane loads. A store is the mirror image: each lane
 * stores the first vector that begins in its piece, made of its own end and the next piece's begin.
 * What remains of a group is shorter than a vector: its begin and its end, stored element by
 * element by the group's lanes together. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"

#include <assert.h>

/* value: as addresses see it. */
static void begin(emitter *e, const plan_step *step, int number, const plan_value *value,
                  overhang *o) {
  *o = (overhang){.e = e, .step = step, .value = value, .words = e->value[number]};
  emit_place_tensor(e, value, step->tensor, &o->place);
  bool grouped =
      step->loose || plan_group_of(e->kernel, step->tensor, value, step->vector, &o->group);
  bool found =
      plan_access_positions(value, &o->place.map, PLAN_REGISTER, step->vector, o->position);
  assert(grouped && found);
  (void)grouped;
  (void)found;
  o->element = bits_max(value->bits / 8, 1);
  o->bytes = plan_access_bytes(value->bits, step->vector);
  o->n = o->bytes / 4;
  o->aligned = bits_log2(o->bytes) - step->misaligned;
  o->pieces = 1 << o->group.lanes;
  o->reach = o->bytes << o->group.lanes;
  o->piece = LLVMBuildLShr(e->builder, e->lane, emit_i32(e, o->group.first_lane), "");
  o->piece = LLVMBuildAnd(e->builder, o->piece, emit_i32(e, o->pieces - 1), "");
}

void emit_overhang_step(emitter *e, const plan_step *step) {
  bool load = step->kind == PLAN_LOAD;
  uint64_t index[OVERHANG_PIECES], inner = 0;
  int n = 0;
  overhang o;
  plan_value spread;
  int number = load ? step->out : step->in;
  bool narrow = e->kernel->tensor_bits[step->tensor] < 8;
  if (narrow && load) {
    emit_straddle_step(e, step);
    return;
  }
  plan_value_spread(e->kernel, &e->kernel->value[number], &spread);
  begin(e, step, number, &spread, &o);
  for (int j = 0; j < step->vector; j++) inner |= 1ull << o.position[j];
  for (uint64_t i = 0; i < 1ull << plan_value_bits(o.value, PLAN_REGISTER); i++)
    if (!(i & inner)) index[n++] = i;
  if (!load) o.first = emit_is_first_copy(e, o.value);
  if (load && step->exact) overhang_load_exact(&o, index, n);
  else if (load) overhang_load(&o, index, n);
  else if (narrow) emit_straddle_store(&o, index, n);
  else if (!overhang_store_runs(&o, index, n)) overhang_store(&o, index, n);
}
