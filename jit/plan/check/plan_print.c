/* The text of `llrt explain`: what a plan does, for people. */
#include "jit/plan/check/plan_print.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/cost/cycles.h"

static void print_side(const plan_kernel *kernel, int i, int tensor, llrt_text *text) {
  const plan_digit *digit = &kernel->digit[i];
  const plan_digit_side *side = &digit->side[tensor];
  llrt_text_add(text, "  ");
  plan_print_tensor(tensor, text);
  llrt_text_add(text, " ");
  if (side->kind == PLAN_INDEXED) {
    llrt_text_add(text, "by index");
    return;
  }
  if (side->kind == PLAN_COLUMNS) {
    int shift = llrt_layout_out_shift(&kernel->space, i);
    llrt_text_add(text, "bits [");
    for (int b = 0; b < digit->bits; b++)
      llrt_text_add(text, "%s%llu", b ? "," : "",
                    (unsigned long long)kernel->column[tensor][shift + b]);
    llrt_text_add(text, "]");
    if (!digit->rest) return;
    llrt_text_add(text, " above ");
  }
  llrt_text_add(text, "stride ");
  plan_print_number(kernel, &side->stride, text);
}

static void print_index(const plan_kernel *kernel, int number, llrt_text *text) {
  static const char *const policies[] = {[LLRT_RANGE_SKIP] = "skip",
                                         [LLRT_RANGE_ZERO] = "zero",
                                         [LLRT_RANGE_CLAMP] = "clamp",
                                         [LLRT_RANGE_REPORT] = "report",
                                         [PLAN_RANGE_SKIP_ALONE] = "skip alone"};
  const plan_index *index = &kernel->index[number];
  llrt_text_add(text, "  i%d: ", number);
  if (index->tensor > PLAN_DESTINATION) llrt_text_add(text, "tensor %d", index->tensor);
  else llrt_text_add(text, "%s", index->tensor == 0 ? "source" : "destination");
  llrt_text_add(text, ", %d-bit %s", index->wide ? 64 : 32,
                index->kind == LLRT_INDEX_POINTER ? "addresses by axes ["
                                                  : "coordinates by axes [");
  for (int axis = 0, n = 0; axis < LLRT_MAX_RANK; axis++)
    if (index->axes >> axis & 1) llrt_text_add(text, "%s%d", n++ ? "," : "", axis);
  llrt_text_add(text, "], out of range: %s, one value a %s", policies[index->out_of_range],
                index->uniform ? "block" : "vector");
  if (index->tile_bits) llrt_text_add(text, "; %d bits in the tile", index->tile_bits);
  for (int i = 0; i < index->n_parts; i++) {
    if (i + 1 == index->n_parts) llrt_text_add(text, "; the rest, stride ");
    else llrt_text_add(text, "; %lld, stride ", (long long)index->part[i].extent);
    plan_print_number(kernel, &index->part[i].stride, text);
  }
  llrt_text_add(text, "\n");
}

static void print_digits(const plan_kernel *kernel, llrt_text *text) {
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    int shift = llrt_layout_out_shift(&kernel->space, i);
    if (kernel->split_128 && digit->axis < 0 && kernel->column[0][shift] == 1)
      llrt_text_add(text, "  d%d: halves of an element;", i);
    else if (digit->axis < 0) llrt_text_add(text, "  d%d: copies, %d bits;", i, digit->bits);
    else
      llrt_text_add(text, "  d%d: axis %d / %lld, %d bits", i, digit->axis, (long long)digit->step,
                    digit->bits);
    if (digit->rest) {
      llrt_text_add(text, " + rest ");
      plan_print_number(kernel, &digit->upper, text);
    }
    for (int t = 0; t < kernel->n_tensors; t++) print_side(kernel, i, t, text);
    llrt_text_add(text, "\n");
  }
}

/* Which accesses keep a bound: those of source and destination by what they do. */
static void print_bounded(uint16_t tensors, llrt_text *text) {
  if (tensors <= 3) {
    llrt_text_add(text, " to %s%s%s", tensors & 1 ? "load" : "", tensors == 3 ? " and " : "",
                  tensors & 2 ? "store" : "");
    return;
  }
  llrt_text_add(text, " for ");
  for (int t = 0, n = 0; t < LLRT_MAX_TENSORS; t++) {
    if (!(tensors >> t & 1)) continue;
    llrt_text_add(text, n++ ? ", " : "");
    plan_print_tensor(t, text);
  }
}

static void print_bounds(const plan_kernel *kernel, llrt_text *text) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (bound->axis >= 0) llrt_text_add(text, "  bound: axis %d < ", bound->axis);
    else llrt_text_add(text, "  bound: d%d < ", bound->top);
    plan_print_number(kernel, &bound->limit, text);
    if (bound->device)
      llrt_text_add(text, " or device extent, multiple of %lld", (long long)bound->round);
    print_bounded(bound->tensors, text);
    llrt_text_add(text, "\n");
  }
  for (int i = 0; i < kernel->n_terms; i++) {
    const plan_term *term = &kernel->term[i];
    llrt_text_add(text, "  ");
    plan_print_tensor(term->tensor, text);
    llrt_text_add(text, ": axis %d / %lld", term->axis, (long long)term->step);
    if (term->extent) llrt_text_add(text, " mod %lld", (long long)term->extent);
    llrt_text_add(text, term->bits ? " by columns\n" : " * ");
    if (term->bits) continue;
    plan_print_number(kernel, &term->stride, text);
    llrt_text_add(text, "\n");
  }
  for (int t = 0; t < kernel->n_tensors; t++)
    if (kernel->swizzle[t].swizzle_len)
      llrt_text_add(text, "  swizzle of t%d: [%d,%d,%d]\n", t, kernel->swizzle[t].per_element,
                    kernel->swizzle[t].swizzle_len, kernel->swizzle[t].atom_len);
}

static void print_steps(const plan_kernel *kernel, int first, int n, int depth, llrt_text *text) {
  for (int i = first; i < first + n; i++) {
    const plan_step *step = &kernel->step[i];
    plan_print_step(kernel, i, depth, text);
    print_steps(kernel, i + 1, step->body, depth + 1, text);
    if (step->otherwise) {
      llrt_text_add(text, "%*selse:\n", 2 + 2 * depth, "");
      print_steps(kernel, i + 1 + step->body, step->otherwise, depth + 1, text);
    }
    i += step->body + step->otherwise;
  }
}

static void print_cost(const plan_kernel *kernel, llrt_text *text) {
  const plan_cost *cost = &kernel->cost;
  llrt_text_add(text, "  cost: %g bytes an element; a tile of %d bytes", cost->bytes_per_element,
                cost->tile_bytes);
  if (kernel->flat) {
    llrt_text_add(text, ", one element an access\n");
    return;
  }
  llrt_text_add(text, ": %d sectors loaded, %d stored (at least %d)", cost->load_sectors,
                cost->store_sectors, cost->min_sectors);
  if (cost->index_sectors) llrt_text_add(text, "; %d of indices", cost->index_sectors);
  if (cost->shared_store_wavefronts)
    llrt_text_add(text, "; %d + %d shared wavefronts (at least %d + %d)",
                  cost->shared_store_wavefronts, cost->shared_load_wavefronts, cost->min_wavefronts,
                  cost->min_wavefronts);
  llrt_text_add(text, "; a warp: %d shuffles, %d selects, %d permutes", cost->shuffles,
                cost->selects, cost->permutes);
  if (cost->logic) llrt_text_add(text, ", %d shifts and merges", cost->logic);
  if (cost->combined) llrt_text_add(text, ", %d joins", cost->combined);
  if (cost->products) llrt_text_add(text, ", %d products", cost->products);
  if (cost->mapped) llrt_text_add(text, "; a lane: %d mapped words", cost->mapped);
  llrt_text_add(text, "; %d registers\n", cost->registers);
}

static void print_cycles(const plan_kernel *kernel, llrt_text *text) {
  plan_cycles cycles;
  plan_cycles_of(&kernel->target, &kernel->cost, 1 << kernel->warp_bits, &cycles);
  if (cycles.total == 0) return;
  llrt_text_add(
      text,
      "  exchange: about %.0f clocks of a multiprocessor a block: shuffles and shared memory %.0f, "
      "arithmetic %.0f, issue %.0f; barriers %.0f\n",
      cycles.total, cycles.memory, cycles.arithmetic, cycles.issue, cycles.barriers);
}

static void print_range(const plan_range *range, llrt_text *text) {
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (range->min_extent[a])
      llrt_text_add(text, ", n%d >= %lld%s", a, (long long)range->min_extent[a],
                    range->or_empty >> a & 1 ? " or 0" : "");
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (range->max_extent[a])
      llrt_text_add(text, ", n%d <= %lld", a, (long long)range->max_extent[a]);
  if (range->min_elements)
    llrt_text_add(text, ", elements >= %lld", (long long)range->min_elements);
  if (range->min_along)
    llrt_text_add(text, ", walked positions >= %lld", (long long)range->min_along);
  if (range->max_across) llrt_text_add(text, ", others <= %lld", (long long)range->max_across);
}

/* Which positions belong to experts, and where their ends are. */
static void print_experts(const plan_kernel *kernel, llrt_text *text) {
  const plan_experts *experts = &kernel->experts;
  if (!experts->used) return;
  llrt_text_add(text, "  experts: d%d, whose positions along axis %d %s t%d%s", experts->of,
                experts->axis, experts->sorted ? "are those of which" : "end where", experts->ends,
                experts->sorted ? ", sorted, has their numbers" : " says");
  if (experts->shared) llrt_text_add(text, "; d%d counts the tiles of all", experts->digit);
  llrt_text_add(text, "\n");
}

/* How the number of a block (flat: of an element) becomes a position, and in which order blocks
 * come. */
static void print_blocks(const plan_kernel *kernel, llrt_text *text) {
  llrt_text_add(text,
                kernel->flat ? "  element index, fastest first:" : "  block index, fastest first:");
  for (int i = 0; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    if (place->digit < 0) {
      llrt_text_add(text, " grid bits (%d)", place->bits);
    } else {
      llrt_text_add(text, " d%d (", place->digit);
      plan_print_number(kernel, &place->count, text);
      llrt_text_add(text, ")");
    }
  }
  if (kernel->launch.rounds > 0)
    llrt_text_add(text, ", by rounds of %d for each multiprocessor", kernel->launch.rounds);
  if (kernel->deal.used)
    llrt_text_add(text, ", the last turns dealt to all of %d blocks", kernel->launch.dealt);
  if (kernel->band > 0)
    llrt_text_add(text, ", in bands of %d of d%d%s", kernel->band, kernel->place[1].digit,
                  kernel->experts.shared && kernel->place[1].digit == kernel->experts.digit
                      ? ", of each expert's own"
                      : "");
  if (kernel->band_from > 0) {
    llrt_text_add(text, " where ");
    plan_print_number(kernel, &kernel->band_pitch, text);
    llrt_text_add(text, " is a multiple of %lld", (long long)kernel->band_from);
  }
  llrt_text_add(text, "\n");
}

static void print_heading(const plan_kernel *kernel, int number, llrt_text *text) {
  const plan_launch *launch = &kernel->launch;
  llrt_text_add(text, "variant %d", number);
  if (launch->stage + launch->later > 0)
    llrt_text_add(text, ", stage %d of %d", launch->stage + 1, launch->stage + launch->later + 1);
  llrt_text_add(text, ": %s, %s, %d-bit elements", kernel->target.name,
                kernel->flat ? "flat" : "tiled", kernel->tensor_bits[0] << kernel->split_128);
  if (launch->beside) llrt_text_add(text, ", beside those before it");
  if (kernel->stored_half)
    llrt_text_add(text, ", %s halves of bytes", kernel->stored_half == 1 ? "first" : "second");
  print_range(&launch->range, text);
  llrt_text_add(text, "\n  block: %d warps of %d lanes, %d bytes of shared memory\n",
                1 << (kernel->warp_bits - kernel->cluster_bits), 1 << kernel->lane_bits,
                launch->shared_bytes);
  if (kernel->cluster_bits > 0)
    llrt_text_add(text, "  cluster: %d blocks, the highest warps number them\n",
                  1 << kernel->cluster_bits);
}

void plan_print_kernel(const plan_kernel *kernel, int number, llrt_text *text) {
  print_heading(kernel, number, text);
  print_digits(kernel, text);
  print_bounds(kernel, text);
  for (int i = 0; i < kernel->n_indices; i++) print_index(kernel, i, text);
  print_experts(kernel, text);
  print_blocks(kernel, text);
  if (kernel->streams_from > 0)
    llrt_text_add(text, "  stores bypass the caches from %lld elements on\n",
                  (long long)kernel->streams_from);
  print_steps(kernel, 0, kernel->n_steps, 0, text);
  print_cost(kernel, text);
  print_cycles(kernel, text);
}

void plan_print(const plan *made, llrt_text *text) {
  for (int i = 0, variant = -1; i < made->n_variants; i++) {
    if (made->variant[i].launch.stage == 0) variant++;
    plan_print_kernel(&made->variant[i], variant, text);
  }
}
