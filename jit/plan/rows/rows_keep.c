/* Tensors that several walks of a row want: the first one keeps what it has loaded in shared
 * memory, a place for each turn, and the others have it from there. Each thread reads what it has
 * stored itself, so nobody waits, and rows that are not aligned are shifted once. Only where a
 * row's length is known, and all of the row has room. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/value.h"

/* Of a multiprocessor's shared memory what a block takes beside, and other buffers: of joins. */
#define BESIDE_BYTES 3072
#define MAX_SLOTS 255
/* Of a multiprocessor's shared memory what the device takes for each block (CUDA C++ Programming
 * Guide, "Compute Capabilities": 228 KB, of which a block may have 227). */
#define DEVICE_BYTES 1024

/* ---- who wants what ---- */

/* Whether making the node's value in a turn takes tensor node `tensor`. */
static bool wants(const rows *r, int number, int tensor) {
  const program_node *node = &r->program->node[number];
  if (number == tensor) return true;
  if ((node->reduced && !program_scans(node->op)) || !rows_walks(r, number)) return false;
  bool any = false;
  for (int i = 0; i < node->n_args; i++) any |= wants(r, node->arg[i], tensor);
  return any;
}

/* How many walks want the tensor's elements; a maximum and the sum of exponentials that goes with
 * it are one. */
static int count_walks(const rows *r, int tensor) {
  const expr_program *program = r->program;
  bool with[PROGRAM_MAX_NODES] = {false};
  int n = 0;
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    int sum = ROWS_NONE;
    if (!node->reduced || program_scans(node->op) || with[i]) continue;
    sum = rows_online_sum(r, i);
    if (sum != ROWS_NONE) with[sum] = true;
    n += wants(r, node->arg[0], tensor);
  }
  bool written = false;
  for (int t = 0; t < program->n_tensors; t++)
    written |= program->tensor[t].output && (program->tensor[t].axes & program->reduced) &&
               wants(r, program->tensor[t].node, tensor);
  return n + written;
}

/* ---- room ---- */

/* Turns of a row; 0: only a run knows. */
static int64_t turns_of(const rows *r) {
  const plan_kernel *kernel = r->d.kernel;
  int64_t turns = 1;
  for (int a = 0; a < r->program->rank; a++) {
    int digits = 0, bits = bits_count(r->of_axis[a]);
    if (!(r->program->reduced >> a & 1)) continue;
    for (int i = 0; i < kernel->n_digits; i++) digits += kernel->digit[i].axis == a;
    if (digits > 1 || r->d.shape[a].known < 0) return 0;
    turns *= (r->d.shape[a].known + (1ll << bits) - 1) >> bits;
  }
  return turns;
}

/* Elements as threads have them: those of an access, then those of the next lane, so that accesses
 * of a warp lie beside each other. */
static llrt_status ring_layout(const rows *r, const plan_value *value, llrt_layout *out) {
  static const plan_dim order[3] = {PLAN_LANE, PLAN_REGISTER, PLAN_WARP};
  const uint64_t *registers = plan_value_columns(value, PLAN_REGISTER);
  int bits = r->d.tile_bits, n = 0, vector = rows_kept_vector(r, value);
  *out = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(out, value->layout.out[0].name, bits));
  LLRT_TRY(llrt_layout_add_in(out, "offset", bits));
  LLRT_TRY(llrt_layout_add_in(out, "repetition", 0));
  LLRT_TRY(llrt_layout_add_in(out, "block", 0));
  for (int i = 0; i < vector; i++) out->column[n++] = registers[i];
  for (int d = 0; d < 3; d++) {
    const uint64_t *columns = plan_value_columns(value, order[d]);
    int from = order[d] == PLAN_REGISTER ? vector : 0;
    for (int i = from; i < plan_value_bits(value, order[d]); i++)
      if (columns[i]) out->column[n++] = columns[i];
  }
  return n == bits ? LLRT_OK : llrt_error(LLRT_INTERNAL, "a turn has elements that no thread has");
}

int rows_kept_vector(const rows *r, const plan_value *value) {
  int most = bits_log2(r->d.kernel->target.access_bytes * 8 / value->bits);
  return bits_min(most, plan_value_bits(value, PLAN_REGISTER));
}

static bool has_copies(const plan_value *value) {
  bool any = false;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++) any |= value->layout.column[i] == 0;
  return any;
}

/* Whether walks share the tensor of a node, and each thread reads of it what it has stored itself.
 * bytes: of a turn. */
static llrt_status may_keep(rows *r, int node, bool *may, int64_t *bytes) {
  plan_value value;
  const program_node *own = &r->program->node[node];
  *may = own->op == EXPR_TENSOR && rows_walks(r, node) && count_walks(r, node) > 1;
  if (!*may) return LLRT_OK;
  LLRT_TRY(rows_tensor_value(r, own->slot, &value));
  *may = !has_copies(&value) && value.bits >= 8 &&
         plan_tile_bits_in(r->d.kernel, &value) == bits_mask(r->d.tile_bits);
  *bytes = ((int64_t)value.bits << r->d.tile_bits) / 8;
  return LLRT_OK;
}

/* Gives the tensor a ring of so many turns, if there is room for it. */
static llrt_status add_ring(rows *r, int tensor, int64_t turns, int64_t room) {
  plan_kernel *kernel = r->d.kernel;
  int slot = r->program->node[tensor].slot;
  plan_value value;
  LLRT_TRY(rows_tensor_value(r, slot, &value));
  int64_t bytes = ((int64_t)value.bits << r->d.tile_bits) / 8, begin = plan_ring_bytes(kernel);
  if (begin + bytes * turns > room || kernel->n_buffers == PLAN_MAX_BUFFERS) return LLRT_OK;
  plan_buffer *ring = &kernel->buffer[kernel->n_buffers];
  *ring = (plan_buffer){.bytes = (int32_t)bytes,
                        .offset = (int32_t)begin,
                        .slots = (uint8_t)turns,
                        .bits = value.bits};
  LLRT_TRY(ring_layout(r, &value, &ring->layout));
  r->kept[tensor] = kernel->n_buffers++;
  return LLRT_OK;
}

int rows_shared_bits(const rows *r, int *tensors) {
  const expr_program *program = r->program;
  int bits = 0;
  *tensors = 0;
  for (int i = 0; i < program->n_nodes; i++) {
    if (program->node[i].op != EXPR_TENSOR || !rows_walks(r, i) || count_walks(r, i) < 2) continue;
    bits += r->d.kernel->tensor_bits[program->node[i].slot];
    ++*tensors;
  }
  return bits;
}

/* Of a multiprocessor's shared memory a part for each block, but for what the device takes of it.
 */
int64_t rows_room(const rows *r, int blocks) {
  const plan_kernel *kernel = r->d.kernel;
  int64_t room = (kernel->target.facts.shared_bytes + DEVICE_BYTES) / blocks - DEVICE_BYTES;
  if (room > kernel->target.tuning->rows_kept_bytes) room = kernel->target.tuning->rows_kept_bytes;
  return room - BESIDE_BYTES;
}

llrt_status rows_begin_keeping(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  int64_t turns = turns_of(r), room = rows_room(r, bits_max(r->walk_blocks, 1)), bytes, all = 0;
  bool keeps = r->may_keep && !kernel->target.simd_lanes && kernel->walk.split < 0, may;
  if (!keeps || turns < 1) return LLRT_OK;
  for (int i = 0; i < r->program->n_nodes; i++) {
    LLRT_TRY(may_keep(r, i, &may, &bytes));
    if (may) all += bytes;
  }
  if (r->walk_blocks > 0 && all > 0 && all * turns > room) turns = room / all;
  if (turns < 1 || turns > MAX_SLOTS) return LLRT_OK;
  for (int i = 0; i < r->program->n_nodes; i++) {
    LLRT_TRY(may_keep(r, i, &may, &bytes));
    if (may) LLRT_TRY(add_ring(r, i, turns, room));
  }
  r->d.keeps = plan_ring_bytes(kernel) > 0;
  return LLRT_OK;
}

/* ---- steps ---- */

bool rows_keeps_part(const rows *r, int node) {
  return r->d.kernel->buffer[r->kept[node]].slots < turns_of(r);
}

llrt_status rows_keep_loaded(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  for (int i = 0; i < r->program->n_nodes; i++) {
    int value = r->loaded[i];
    if (r->kept[i] == ROWS_NONE || r->is_kept[i] || value == ROWS_NONE) continue;
    r->is_kept[i] = true;
    if (rows_keeps_part(r, i))
      LLRT_TRY(draft_step(
          kernel,
          (plan_step){.kind = PLAN_IF_INTERIOR, .in_ring = (uint8_t)(r->kept[i] + 1), .body = 1}));
    LLRT_TRY(draft_step(
        kernel, (plan_step){.kind = PLAN_SHARED_STORE,
                            .in = (uint8_t)value,
                            .buffer = (uint8_t)r->kept[i],
                            .vector = (uint8_t)rows_kept_vector(r, &kernel->value[value])}));
  }
  return LLRT_OK;
}

llrt_status rows_load_kept(rows *r, int node, const plan_value *laid_out) {
  plan_kernel *kernel = r->d.kernel;
  int branch = kernel->n_steps;
  bool part = rows_keeps_part(r, node);
  LLRT_TRY(draft_value(kernel, laid_out, &r->loaded[node]));
  if (part)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .in_ring = (uint8_t)(r->kept[node] + 1),
                                            .joins = true,
                                            .body = 1,
                                            .out = (uint8_t)r->loaded[node]}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_LOAD,
                                          .out = (uint8_t)r->loaded[node],
                                          .buffer = (uint8_t)r->kept[node],
                                          .vector = (uint8_t)rows_kept_vector(r, laid_out)}));
  if (!part) return LLRT_OK;
  LLRT_TRY(rows_load_elements(r, node, laid_out));
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - branch - 2);
  return LLRT_OK;
}
