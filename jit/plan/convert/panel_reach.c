/* See panel_reach.h. */
#include "jit/plan/convert/panel_reach.h"

#include "base/bits.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/eval.h"
#include "layout/traffic.h"

/* ---- reach ---- */

/* Elements of tensor t from one position of digit i's axis to the next; -1: not one number, or one
 * that only a run knows. */
static int64_t axis_stride(const draft *d, int t, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[t];
  int64_t stride = side->stride.value;
  if (side->stride.arg >= 0 && (side->kind == PLAN_STRIDE || digit->rest)) return -1;
  if (side->kind == PLAN_COLUMNS && d->bits[i] > 0) {
    if (!draft_is_even(d, t, i)) return -1;
    stride = (int64_t)d->column[t][d->first[i]];
  }
  return digit->step > 0 && stride >= 0 && stride % digit->step == 0 ? stride / digit->step : -1;
}

/* The number of positions of an axis below which accesses to tensor t stay, the least of its
 * bounds; -1: no bound has a known limit. */
static int64_t known_limit(const plan_kernel *kernel, int t, int axis) {
  int64_t least = -1;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    bool known =
        bound->axis == axis && bound->tensors >> t & 1 && !bound->device && bound->limit.arg < 0;
    if (known && (least < 0 || bound->limit.value < least)) least = bound->limit.value;
  }
  return least;
}

/* Those digits of one axis that are among `inside`, as one. */
typedef struct inside_axis {
  int64_t last;      /* coordinate of their last position, from that of the first */
  int64_t reach;     /* elements of memory from the first position to the last; -1: not known */
  int64_t stride;    /* elements from coordinate to coordinate; -1: not one number; -2: no digits */
  int64_t positions; /* product of their counts */
  bool some, all;    /* whether some, and all, of the axis's digits are inside */
} inside_axis;

static inside_axis inside_of(const draft *d, int t, int axis, uint64_t inside) {
  inside_axis out = {.stride = -2, .positions = 1, .all = true};
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const plan_digit *digit = &d->kernel->digit[i];
    if (digit->axis != axis) continue;
    out.all &= inside >> i & 1;
    if (!(inside >> i & 1)) continue;
    int64_t stride = axis_stride(d, t, i), last = (d->count[i] - 1) * digit->step;
    out.some = true;
    out.last += last;
    out.positions *= d->count[i];
    out.reach = stride < 0 || d->count[i] < 0 || out.reach < 0 ? -1 : out.reach + last * stride;
    out.stride = out.stride == -2 || out.stride == stride ? stride : -1;
  }
  return out;
}

bool panel_reach(const draft *d, int t, uint64_t inside, plan_panel *panel) {
  panel->elements = panel->room = 1;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    inside_axis of = inside_of(d, t, axis, inside);
    int64_t limit = known_limit(d->kernel, t, axis);
    if (of.reach < 0) return false;
    panel->room += of.reach;
    if (of.some && of.stride >= 0 && limit > 0 && of.last >= limit)
      of.reach = (limit - 1) * of.stride;
    panel->elements += of.reach;
  }
  return true;
}

/* The number of the bound that stores keep along an axis; -1: there is none. */
static int store_bound(const plan_kernel *kernel, int axis) {
  int found = -1;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].axis == axis && kernel->bound[i].tensors >> PLAN_DESTINATION & 1)
      found = i;
  return found;
}

bool panel_is_whole(const draft *d, uint64_t inside, plan_panel *panel) {
  const plan_kernel *kernel = d->kernel;
  int64_t stored = 1, ended = 0;
  panel->ended = 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].axis < 0 && inside >> kernel->bound[i].top & 1) return false;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    inside_axis of = inside_of(d, PLAN_DESTINATION, axis, inside);
    int64_t limit = known_limit(kernel, PLAN_DESTINATION, axis);
    int bound = store_bound(kernel, axis);
    if (!of.some) continue;
    bool known = of.all && limit > 0;
    if (known && limit < of.positions) of.positions = limit;
    stored *= of.positions;
    if (known || bound < 0) continue;
    if (panel->ended || of.stride < 0 || kernel->bound[bound].device) return false;
    panel->ended = (uint8_t)(bound + 1);
    panel->pitch = of.stride;
    ended = of.positions;
  }
  return stored == panel->elements && (!panel->ended || stored == ended * panel->pitch);
}

/* ---- cost ---- */

/* Offset in the panel, in elements, of position `index` of all that it holds. */
static int64_t panel_offset(const plan_kernel *kernel, int64_t index) {
  int64_t position[PLAN_MAX_DIGITS] = {0};
  for (int i = 0; i < kernel->panel.places; i++) {
    int64_t count = kernel->place[i].count.value;
    position[kernel->place[i].digit] = index % count;
    index /= count;
  }
  return plan_offset(kernel, kernel->panel.tensor, position, NULL, NULL, 0);
}

#define SAMPLED_WARPS 8 /* the first warps of a panel's positions, whose accesses are counted */

/* Wavefronts in which a warp moves one element of each of its lanes, on average over the sampled
 * warps and over the elements of a vector. */
static double wavefronts_of_elements(const plan_kernel *kernel) {
  const plan_target *target = &kernel->target;
  int64_t address[TRAFFIC_MAX_LANES];
  int lanes = 1 << kernel->lane_bits, total = 0, width = kernel->tensor_bits[0] / 8,
      vector = 1 << kernel->panel.vector;
  for (int i = 0; i < SAMPLED_WARPS * vector; i++) {
    for (int lane = 0; lane < lanes; lane++) {
      int64_t index = ((int64_t)(i / vector * lanes + lane) << kernel->panel.vector) + i % vector;
      address[lane] =
          index < kernel->panel.positions ? panel_offset(kernel, index) * width : TRAFFIC_NONE;
    }
    total += traffic_wavefronts(address, lanes, width, target->banks, target->bank_bytes);
  }
  return (double)total / (SAMPLED_WARPS * vector);
}

double panel_wavefronts(const plan_kernel *kernel) {
  return wavefronts_of_elements(kernel) * 8 / kernel->tensor_bits[0];
}
