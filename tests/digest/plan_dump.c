#include "plan_dump.h"

#include <inttypes.h>
#include <stddef.h>

/* Who adds a field to one of these adds it to the dump, and mends its size. (A field that fits the
 * padding is not told here: what it does to a kernel is told by the digest of its IR.) Who only
 * renames one keeps its old name in the dump, by NAMED. */
#define HAS_SIZE(type, size) \
  _Static_assert(sizeof(type) == size, "a new field of " #type " goes into the dump")
HAS_SIZE(plan_step, 128);
HAS_SIZE(plan_map, 64);
HAS_SIZE(plan_index, 1224);
HAS_SIZE(plan_panel, 136);
HAS_SIZE(plan_turns, 944);
HAS_SIZE(plan_lookback, 80);
HAS_SIZE(plan_digit, 416);
HAS_SIZE(plan_bound, 64);
HAS_SIZE(plan_term, 296);
HAS_SIZE(plan_value, 944);
HAS_SIZE(plan_buffer, 944);
HAS_SIZE(plan_memory, 40);
HAS_SIZE(plan_range, 184);
HAS_SIZE(plan_walk, 296);
HAS_SIZE(plan_view, 68);
HAS_SIZE(plan_box, 104);
_Static_assert(offsetof(plan_kernel, digit) - offsetof(plan_kernel, n_tensors) == 392,
               "a new field of plan_kernel goes into the dump");
_Static_assert(sizeof(plan_launch) - offsetof(plan_launch, block_elements) - sizeof(plan_pace) ==
                   1344, /* costs are no part of a plan */
               "a new field of plan_launch goes into the dump");

static void put_number(llrt_text *out, const char *name, int64_t number) {
  if (number) llrt_text_add(out, " %s=%" PRId64, name, number);
}

static void put_bits(llrt_text *out, const char *name, uint64_t bits) {
  if (bits) llrt_text_add(out, " %s=%" PRIx64, name, bits);
}

static void put_plan_number(llrt_text *out, const char *name, const plan_number *number) {
  if (number->arg >= 0) llrt_text_add(out, " %s=arg%d", name, (int)number->arg);
  else put_number(out, name, number->value);
}

#define NAMED(name, field) put_number(out, name, (int64_t)x->field);
#define NUMBER(field) NAMED(#field, field)
#define ITEM(field, i) put_item(out, #field, i, (int64_t)x->field[i]);
#define BITS(field) put_bits(out, #field, x->field);
#define PLAN_NUMBER(field) put_plan_number(out, #field, &x->field);

static void put_item(llrt_text *out, const char *name, int i, int64_t number) {
  if (number) llrt_text_add(out, " %s%d=%" PRId64, name, i, number);
}

static void begin(llrt_text *out, const char *what, int i) {
  llrt_text_add(out, "\n%s %d", what, i);
}

static void put_dims(llrt_text *out, const llrt_dim *dims, int n) {
  for (int i = 0; i < n; i++)
    llrt_text_add(out, " %.*s:%d", LLRT_NAME_BYTES, dims[i].name, dims[i].bits);
}

static void put_layout(llrt_text *out, const char *name, const llrt_layout *x) {
  int bits = 0;
  llrt_text_add(out, " %s{", name);
  put_dims(out, x->in, x->n_in);
  llrt_text_add(out, " ->");
  put_dims(out, x->out, x->n_out);
  for (int i = 0; i < x->n_in; i++) bits += x->in[i].bits;
  for (int i = 0; i < bits; i++) llrt_text_add(out, " %" PRIx64, x->column[i]);
  llrt_text_add(out, " }");
}

/* ---- coordinates and addresses ---- */

/* Fields stand in rows. */
/* clang-format off */
static void put_digit(llrt_text *out, const plan_digit *x, int n_tensors) {
  NUMBER(axis) NUMBER(bits) NUMBER(rest) NUMBER(step)
  if (x->rest) PLAN_NUMBER(upper)
  for (int t = 0; t < n_tensors; t++) {
    const plan_digit_side *side = &x->side[t];
    const bool read = side->kind == PLAN_STRIDE || (side->kind == PLAN_COLUMNS && x->rest);
    put_item(out, "kind", t, side->kind);
    if (read) put_plan_number(out, "stride", &side->stride);
  }
}

static void put_bound(llrt_text *out, const plan_bound *x) {
  NUMBER(axis) NUMBER(top) NUMBER(tensors) NUMBER(device) NUMBER(round) NAMED("group", covered)
  PLAN_NUMBER(limit) PLAN_NUMBER(full)
}

static void put_term(llrt_text *out, const plan_term *x) {
  NUMBER(tensor) NUMBER(axis) NUMBER(bits) NUMBER(step) NUMBER(extent)
  PLAN_NUMBER(stride)
  for (int i = 0; i < x->bits; i++) ITEM(column, i)
}

static void put_place(llrt_text *out, const plan_place *x) {
  NUMBER(digit) NUMBER(bits)
  if (x->digit < 0) return;
  PLAN_NUMBER(count)
  if (x->count.arg < 0) return;
  PLAN_NUMBER(magic) PLAN_NUMBER(magic_shift)
}

static void put_sequence(llrt_text *out, const plan_sequence *x) {
  for (int k = 0; k < x->n; k++) {
    begin(out, "in sequence", k);
    put_number(out, "digit", x->digit[k]);
    put_plan_number(out, "count", &x->count[k]);
  }
}

static void put_index(llrt_text *out, const plan_index *x) {
  NUMBER(tensor) NUMBER(kind) NUMBER(out_of_range) NUMBER(wide) NUMBER(uniform) NUMBER(along)
  NAMED("group", vector)
  NUMBER(axes) NUMBER(tile_bits)
  PLAN_NUMBER(data) PLAN_NUMBER(extent) PLAN_NUMBER(report)
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    if (!(x->axes >> axis & 1)) continue;
    put_plan_number(out, "stride", &x->stride[axis]);
    put_plan_number(out, "limit", &x->limit[axis]);
  }
  for (int i = 0; i < x->tile_bits; i++) ITEM(column, i)
  for (int i = 0; i < x->n_parts; i++) {
    put_item(out, "part", i, x->part[i].extent);
    put_plan_number(out, "stride", &x->part[i].stride);
  }
}

static void put_space(llrt_text *out, const plan_kernel *x) {
  for (int i = 0; i < x->n_digits; i++) {
    begin(out, "digit", i);
    put_digit(out, &x->digit[i], x->n_tensors);
  }
  for (int i = 0; i < x->n_bounds; i++) {
    begin(out, "bound", i);
    put_bound(out, &x->bound[i]);
  }
  for (int i = 0; i < x->n_terms; i++) {
    begin(out, "term", i);
    put_term(out, &x->term[i]);
  }
  for (int i = 0; i < x->n_places; i++) {
    begin(out, "place", i);
    put_place(out, &x->place[i]);
  }
  for (int i = 0; i < x->n_indices; i++) {
    begin(out, "index", i);
    put_index(out, &x->index[i]);
  }
}

static void put_axes(llrt_text *out, const plan_kernel *x) {
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    const plan_device_extent *extent = &x->extent[axis];
    if (!extent->used) continue;
    begin(out, "extent", axis);
    put_plan_number(out, "address", &extent->address);
    put_plan_number(out, "limit", &extent->limit);
  }
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    if (!(x->position_axes >> axis & 1)) continue;
    begin(out, "position", axis);
    put_plan_number(out, "times", &x->position[axis]);
  }
}

static void put_tensors(llrt_text *out, const plan_kernel *x) {
  int out_bits = 0;
  for (int i = 0; i < x->space.n_out; i++) out_bits += x->space.out[i].bits;
  for (int t = 0; t < x->n_tensors; t++) {
    begin(out, "tensor", t);
    ITEM(tensor_bits, t) ITEM(high_first, t) ITEM(origin, t)
    NUMBER(swizzle[t].per_element) NUMBER(swizzle[t].swizzle_len) NUMBER(swizzle[t].atom_len)
    NUMBER(swizzle[t].upward)
    for (int i = 0; i < out_bits; i++) put_item(out, "column", i, (int64_t)x->column[t][i]);
  }
}

/* ---- what a block works on ---- */

static void put_walk(llrt_text *out, const plan_turns *x) {
  if (x->n_places == 0) return;
  begin(out, "walk", x->n_places);
  NUMBER(grid_bits) NUMBER(split) NUMBER(down)
  PLAN_NUMBER(turns) PLAN_NUMBER(share)
  for (int i = 0; i < x->n_places; i++) put_place(out, &x->place[i]);
}

static void put_lookback(llrt_text *out, const plan_lookback *x) {
  if (!x->used) return;
  begin(out, "lookback", x->place);
  NUMBER(lags) NUMBER(queued) NUMBER(bits) NUMBER(levels)
  PLAN_NUMBER(counter) PLAN_NUMBER(cells) PLAN_NUMBER(blocks) PLAN_NUMBER(lines)
}

static void put_deal(llrt_text *out, const plan_deal *x) {
  if (!x->used) return;
  begin(out, "deal", x->place);
  PLAN_NUMBER(flags) PLAN_NUMBER(cells)
}

static void put_panel(llrt_text *out, const plan_panel *x) {
  if (!x->positions && !x->elements && !x->gathered && !x->staged) return;
  begin(out, "panel", x->unit);
  NUMBER(positions) NUMBER(elements) NUMBER(total) NUMBER(gathered) NUMBER(width) NUMBER(most)
  NAMED("apart", staged) NUMBER(room)
  NUMBER(tensor) NUMBER(ended) NUMBER(pitch) NUMBER(places) NUMBER(vector)
  if (x->staged) PLAN_NUMBER(end)
  if (x->skew) NUMBER(skew)
  for (int i = 0; i < PLAN_PANEL_VECTOR; i++) put_item(out, "far", i, x->apart[i]);
}

static void put_memory(llrt_text *out, const plan_memory *x) {
  if (!x->used) return;
  begin(out, "memory", x->vector);
  NUMBER(guards)
  PLAN_NUMBER(begin) PLAN_NUMBER(end)
}

/* ---- values and steps ---- */

static void put_value(llrt_text *out, const plan_value *x) {
  NUMBER(word) NUMBER(bits) BITS(reduced)
  put_layout(out, "layout", &x->layout);
}

static void put_buffer(llrt_text *out, const plan_buffer *x) {
  NUMBER(bytes) NUMBER(offset) NUMBER(slots) NUMBER(iterations) NUMBER(bits) NUMBER(window)
  NUMBER(pushed)
  put_layout(out, "layout", &x->layout);
}

static void put_map(llrt_text *out, const plan_map *x) {
  NUMBER(kind) NUMBER(from) NUMBER(to) NUMBER(scale) NUMBER(subtracts) NUMBER(any_nan)
  NUMBER(words) NUMBER(low)
  NUMBER(high) NUMBER(shift) BITS(constant)
  if (x->arg) NUMBER(arg)
  for (int i = 0; i < 32; i++) ITEM(perm, i)
}

static void put_order(llrt_text *out, const plan_order *x) {
  NUMBER(n)
  for (int i = 0; i < x->n; i++) ITEM(bit, i)
}

static void put_step(llrt_text *out, const plan_step *x) {
  NUMBER(kind) NUMBER(in) NUMBER(out) NUMBER(tensor) NUMBER(buffer) NUMBER(map) NUMBER(index)
  NUMBER(vector)
  NUMBER(misaligned) NUMBER(overhang) NUMBER(by_words) NUMBER(exact) NUMBER(lines) NUMBER(by_groups)
  NUMBER(front) NUMBER(loose) NUMBER(matrix)
  NUMBER(masked) NUMBER(parted)
  NUMBER(staged) NUMBER(streaming) NUMBER(elements) NUMBER(rows) NUMBER(pitch) NUMBER(reach)
  NUMBER(iterations)
  NUMBER(repetition) NUMBER(turns) NUMBER(body) NUMBER(otherwise) NUMBER(in_ring) NUMBER(by_values)
  NUMBER(holds) NUMBER(fills)
  NUMBER(following) NUMBER(ahead)
  NAMED("apart", ignored_bounds)
  NUMBER(predicated)
  NUMBER(combiner) NUMBER(type) NUMBER(instruction) NUMBER(shared) ITEM(from, 0) ITEM(from, 1)
  NUMBER(parts)
  NAMED("beside", fresh_sums)
  NUMBER(second) NUMBER(total) NUMBER(order) NUMBER(level) NUMBER(element)
  NUMBER(exclusive)
  NUMBER(reverse) NUMBER(joins) NUMBER(nested) NUMBER(turned) NUMBER(looped) NUMBER(pairs)
  NUMBER(ordered)
  NUMBER(relative)
  NUMBER(bare) NUMBER(by_warps) NUMBER(own) NUMBER(pushed) NUMBER(by_value) NUMBER(lazy) NUMBER(box)
  NUMBER(axis) NUMBER(axis_bits)
  NUMBER(with)
  NUMBER(index_in) NUMBER(index_with) NUMBER(index_out) NUMBER(sizes)
  if (x->kind != PLAN_APPLY) return;
  NUMBER(op) NUMBER(operands) NUMBER(through) NUMBER(rounding) NUMBER(narrow)
  PLAN_NUMBER(number)
}

static void put_steps(llrt_text *out, const plan_kernel *x) {
  for (int i = 0; i < x->n_values; i++) {
    begin(out, "value", i);
    put_value(out, &x->value[i]);
  }
  for (int i = 0; i < x->n_buffers; i++) {
    begin(out, "buffer", i);
    put_buffer(out, &x->buffer[i]);
  }
  for (int i = 0; i < x->n_maps; i++) {
    begin(out, "map", i);
    put_map(out, &x->map[i]);
  }
  for (int i = 0; i < x->n_orders; i++) {
    begin(out, "order", i);
    put_order(out, &x->order[i]);
  }
  for (int i = 0; i < x->n_steps; i++) {
    begin(out, "step", i);
    put_step(out, &x->step[i]);
  }
}

/* ---- the launch ---- */

static void put_args(llrt_text *out, const plan_launch *launch) {
  for (int i = 0; i < launch->n_args; i++) {
    const plan_arg *x = &launch->arg[i];
    begin(out, "arg", i);
    NUMBER(kind) NUMBER(tensor) NUMBER(index) NUMBER(padded) NUMBER(factor)
  }
}

static void put_grid_places(llrt_text *out, const char *what, const plan_grid_place *place, int n) {
  for (int i = 0; i < n; i++) {
    const plan_grid_place *x = &place[i];
    begin(out, what, i);
    NUMBER(factor) NUMBER(axis) NUMBER(padded)
  }
}

static void put_boxes(llrt_text *out, const plan_launch *launch) {
  for (int i = 0; i < launch->n_boxes; i++) {
    const plan_box *x = &launch->box[i];
    begin(out, "box", i);
    NUMBER(bytes) NUMBER(runs) NUMBER(packed) NUMBER(swizzle) NUMBER(rest) NUMBER(parts)
    NUMBER(among)
    PLAN_NUMBER(address)
    for (int d = 0; d < plan_box_rank(x); d++) {
      ITEM(size, d)
      PLAN_NUMBER(extent[d])
      if (d > 0) PLAN_NUMBER(stride[d - 1])
    }
  }
}

static void put_range(llrt_text *out, const plan_range *x) {
  begin(out, "range", 0);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    ITEM(min_extent, axis) ITEM(max_extent, axis)
  }
  NUMBER(min_elements) NUMBER(max_elements) NUMBER(axes) NUMBER(or_empty) NUMBER(min_along)
  NUMBER(min_across) NUMBER(max_across)
  NUMBER(max_values)
}

static void put_shares(llrt_text *out, const plan_walk *x) {
  if (x->n == 0) return;
  put_grid_places(out, "shared", x->place, x->n);
  NUMBER(axes) NUMBER(blocks) NUMBER(enough) NUMBER(least) NUMBER(results)
}

static void put_view(llrt_text *out, const plan_view *x) {
  if (!x->used) return;
  begin(out, "view", x->n);
  for (int a = 0; a < x->rank; a++) ITEM(axis, a)
  for (int t = 0; t < x->n; t++) {
    ITEM(tensor, t) ITEM(ones, t) ITEM(pieces, t)
  }
}

static void put_workspace(llrt_text *out, const plan_workspace *workspace) {
  if (workspace->n == 0) return;
  llrt_text_add(out, "\nworkspace zero %d clear %d", workspace->zero, workspace->clear);
  for (int i = 0; i < workspace->n; i++) {
    const plan_region *x = &workspace->region[i];
    begin(out, "region", i);
    NUMBER(fixed) NUMBER(per_block) NUMBER(per_partial) NUMBER(per_position) NUMBER(axes)
    NUMBER(pieces)
  }
}

static void put_launch(llrt_text *out, const plan_launch *x) {
  begin(out, "launch", x->stage);
  NUMBER(later) NUMBER(beside) NUMBER(block_elements) NUMBER(threads) NUMBER(shared_bytes)
  NUMBER(value_bytes) NUMBER(cluster)
  NUMBER(most_blocks) NUMBER(rounds) NUMBER(dealt) NUMBER(block_bytes)
  put_args(out, x);
  put_grid_places(out, "grid", x->grid, x->n_grid);
  put_boxes(out, x);
  put_range(out, &x->range);
  put_shares(out, &x->walk);
  put_view(out, &x->view);
  put_workspace(out, &x->workspace);
}

/* ---- all of it ---- */

static void put_head(llrt_text *out, const plan_kernel *x) {
  llrt_text_add(out, "kernel %s", x->target.name);
  NUMBER(n_tensors) NAMED("halves", split_128)
  NUMBER(lane_bits) NUMBER(warp_bits) NUMBER(cluster_bits)
  NAMED("half", stored_half) NUMBER(producers)
  NUMBER(slots) NUMBER(barriers) NUMBER(pushed)
  NUMBER(band) NUMBER(band_from) NUMBER(resident) NUMBER(flat)
  NUMBER(streams_from)
  BITS(fill)
  if (x->band_from > 0) PLAN_NUMBER(band_pitch)
  if (x->launch.rounds > 0) PLAN_NUMBER(positions)
  if (x->flat) PLAN_NUMBER(flat_elements)
  if (x->streams_from > 0) PLAN_NUMBER(elements)
  for (int i = 0; i < x->launch.n_boxes; i++)
    for (int d = 0; d < plan_box_rank(&x->launch.box[i]); d++)
    put_item(out, "box_axis", d, x->box_axis[i][d]);
  put_layout(out, "space", &x->space);
}

void plan_dump(const plan_kernel *kernel, llrt_text *out) {
  put_head(out, kernel);
  put_tensors(out, kernel);
  put_space(out, kernel);
  put_axes(out, kernel);
  put_walk(out, &kernel->walk);
  put_lookback(out, &kernel->lookback);
  put_deal(out, &kernel->deal);
  put_panel(out, &kernel->panel);
  put_memory(out, &kernel->memory);
  put_sequence(out, &kernel->sequence);
  put_steps(out, kernel);
  put_launch(out, &kernel->launch);
  llrt_text_add(out, "\n");
}
/* clang-format on */
