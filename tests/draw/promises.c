#include "promises.h"

#include "weights.h"
#include "sides.h"

#include "runtime/described.h"

#include <stdio.h>
#include <string.h>

static int64_t draw_multiple(uint64_t *seed, int64_t of) {
  if (of == 0) return draw_one_in(seed, 2) ? 0 : 1ll << draw_below(seed, 5);
  if (draw_one_in(seed, 3)) return of & -of;
  for (int i = 0; i < 6; i++) {
    int64_t d = 1 + draw_below(seed, of < 64 ? of : 64);
    if (of % d == 0) return d;
  }
  return of;
}

static llrt_promise draw_extent_promise(uint64_t *seed, int64_t extent) {
  llrt_promise made = {0};
  switch (draw_pick(seed, LIST_PROMISE)) {
  case PROMISE_EXACT: made = (llrt_promise){0, extent, extent}; break;
  case PROMISE_MOST: made.max = extent; break;
  case PROMISE_LEAST: made.min = extent; break;
  case PROMISE_RANGE:
    made.min = extent - draw_below(seed, extent + 1);
    made.max = extent + draw_below(seed, 2 * extent + 2);
    break;
  case PROMISE_FITS: made.max = INT32_MAX; break;
  default: break;
  }
  if (draw_one_in(seed, 3)) made.multiple = draw_multiple(seed, extent);
  return made;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* What divides every stride of the axis's digits that the rule does not fix. */
static int64_t stride_divisor(const places *of, int axis) {
  int64_t divisor = 0;
  for (int i = 0; i < of->rule.n_digits; i++)
    if (of->rule.digit[i].axis == axis && of->open[i])
      divisor = common_divisor(divisor, of->stride[i]);
  return divisor;
}

/* Of a pointer list the promise is for the addresses in it. */
static int64_t draw_address_multiple(uint64_t *seed, const llrt_tensor *tensor) {
  int64_t address = (int64_t)(intptr_t)tensor->data, power = address & -address;
  for (int i = 0; i < tensor->n_indices; i++)
    if (tensor->indices[i].kind == LLRT_INDEX_POINTER)
      power = tensor->indices[i].alignment ? tensor->indices[i].alignment : 1;
  int bits = draw_log2(power);
  if (bits > 8) bits = 8;
  return draw_one_in(seed, 2)   ? 1ll << bits
         : draw_one_in(seed, 3) ? 0
                                : 1ll << draw_below(seed, bits + 1);
}

static llrt_index_promise draw_index_promise(uint64_t *seed, int rank, const llrt_index *index) {
  int64_t bytes = index->dtype == LLRT_I32 ? 4 : 8, divisor = (int64_t)(intptr_t)index->data;
  llrt_index_promise made = {0};
  for (int a = 0; a < rank; a++)
    if (index->axes >> a & 1 && index->strides[a] == 1 && !made.along) made.along = a + 1;
  if (draw_one_in(seed, 3)) made.along = 0;
  for (int a = 0; a < rank; a++)
    if (index->axes >> a & 1 && a + 1 != made.along) divisor |= index->strides[a] * bytes;
  divisor &= -divisor;
  if (divisor > 16 || divisor == 0) divisor = 16;
  made.multiple = draw_one_in(seed, 2) ? (int32_t)divisor : 0;
  return made;
}

void promises_draw(uint64_t seed, uint32_t kept, const places *const at[], op_description *desc) {
  for (int t = 0; t < desc->n_tensors; t++, kept >>= 4) {
    const llrt_tensor *tensor = &desc->tensors[t];
    llrt_tensor_promise drawn = {0}, *promise = &desc->promises[t];
    drawn.address.multiple = draw_address_multiple(&seed, tensor);
    for (int a = 0; a < tensor->rank; a++) {
      drawn.shape[a] = draw_extent_promise(&seed, tensor->shape[a]);
      if (at[t] && draw_one_in(&seed, 2))
        drawn.stride[a].multiple = draw_multiple(&seed, stride_divisor(at[t], a));
    }
    for (int i = 0; i < tensor->n_indices; i++)
      drawn.index[i] = draw_index_promise(&seed, tensor->rank, &tensor->indices[i]);
    if (kept & 1) promise->address = drawn.address;
    if (kept & 2) memcpy(promise->shape, drawn.shape, sizeof drawn.shape);
    if (kept & 4) memcpy(promise->stride, drawn.stride, sizeof drawn.stride);
    if (kept & 8) memcpy(promise->index, drawn.index, sizeof drawn.index);
  }
}

static bool number_holds(const llrt_promise *promise, int64_t number) {
  if (promise->multiple > 1 && number % promise->multiple != 0) return false;
  return number >= promise->min && (promise->max == 0 || number <= promise->max);
}

bool promises_hold(const op_description *desc, const llrt_tensor *tensors,
                   const places *const at[]) {
  for (int t = 0; t < desc->n_tensors; t++) {
    const llrt_tensor_promise *promise = &desc->promises[t];
    int64_t address = (int64_t)(intptr_t)tensors[t].data;
    if (promise->address.multiple > 1 && address % promise->address.multiple != 0) return false;
    for (int a = 0; a < tensors[t].rank; a++) {
      int64_t multiple = promise->stride[a].multiple;
      if (!number_holds(&promise->shape[a], tensors[t].shape[a])) return false;
      if (multiple > 1 && stride_divisor(at[t], a) % multiple != 0) return false;
    }
  }
  return true;
}

int64_t promise_other_extent(uint64_t *seed, const llrt_promise *promise, int64_t extent) {
  int64_t least = promise->min, most = promise->max,
          multiple = promise->multiple > 1 ? promise->multiple : 1;
  if (most == 0 || most > 2 * extent + 9) most = 2 * extent + 9;
  if (draw_one_in(seed, 3) || most <= least) return extent;
  int64_t number = draw_one_in(seed, 4)   ? most
                   : draw_one_in(seed, 4) ? least
                                          : least + draw_below(seed, most - least + 1);
  return number / multiple * multiple < least ? extent : number / multiple * multiple;
}

void promises_say(bench *at, const op_description *desc) {
  size_t n = strlen(at->why);
#define SAY(...) \
  if (n < sizeof at->why) n += (size_t)snprintf(at->why + n, sizeof at->why - n, __VA_ARGS__)
  for (int t = 0; t < desc->n_tensors; t++) {
    const llrt_tensor_promise *p = &desc->promises[t];
    SAY("\n      promised of tensor %d: address %lld;", t, (long long)p->address.multiple);
    for (int a = 0; a < desc->tensors[t].rank; a++) {
      const llrt_promise *e = &p->shape[a];
      if (e->multiple || e->min || e->max)
        SAY(" axis %d %lld to %lld by %lld;", a, (long long)e->min, (long long)e->max,
            (long long)e->multiple);
      if (p->stride[a].multiple)
        SAY(" stride of axis %d by %lld;", a, (long long)p->stride[a].multiple);
    }
    for (int i = 0; i < desc->tensors[t].n_indices; i++)
      SAY(" index %d along %d by %d;", i, p->index[i].along, p->index[i].multiple);
  }
#undef SAY
}
