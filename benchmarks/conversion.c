#include "conversion.h"

#include "element.h"

#include <llrt/layout_algebra.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where elements lie ----
 *
 * place(x) = Z(origin + sum over axes of sum_a(x_a) + XOR over axes of inside_a(x_a)), where both
 * parts of an axis repeat after its fixed digits and tile bits, but for the outermost digit's
 * stride. */

typedef struct axis_places {
  int64_t period;  /* positions below the outermost digit */
  int64_t beyond;  /* stride of the outermost digit; 0 where there is none */
  int64_t *sum;    /* [period] */
  int64_t *inside; /* [period] */
} axis_places;

typedef struct places {
  const llrt_storage *storage;
  llrt_storage_binding binding;
  axis_places axis[LLRT_MAX_RANK];
} places;

static int tile_bits(const llrt_storage *storage, int axis) {
  return storage->tile.n_out ? storage->tile.out[axis].bits : 0;
}

/* The index of the axis's outermost digit, and the positions below it. */
static int outermost(const places *p, int axis, int64_t *below) {
  int last = -1;
  *below = INT64_C(1) << tile_bits(p->storage, axis);
  for (int i = 0; i < p->storage->n_digits; i++) {
    if (p->storage->digit[i].axis != axis) continue;
    if (last >= 0) *below *= p->binding.extent[last];
    last = i;
  }
  return last;
}

/* The tile's places by coordinate, as columns of the inverse map: those of axis `axis` start at
 * *first. */
static llrt_status invert_tile(const llrt_storage *storage, int axis, llrt_layout *inverse,
                               int *first) {
  *first = 0;
  for (int a = 0; a < axis; a++) *first += tile_bits(storage, a);
  if (!storage->tile.n_out) return LLRT_OK;
  return llrt_layout_right_inverse(&storage->tile, inverse);
}

static llrt_status axis_places_init(places *p, int axis) {
  axis_places *out = &p->axis[axis];
  const llrt_storage *s = p->storage;
  llrt_layout inverse;
  int first, bits = tile_bits(s, axis), last = outermost(p, axis, &out->period);
  llrt_status status = invert_tile(s, axis, &inverse, &first);
  if (status) return status;
  out->beyond = last >= 0 ? p->binding.stride[last] : 0;
  out->sum = calloc((size_t)out->period, sizeof *out->sum);
  out->inside = calloc((size_t)out->period, sizeof *out->inside);
  if (!out->sum || !out->inside) return LLRT_OUT_OF_MEMORY;
  for (int64_t x = 0; x < out->period; x++) {
    int64_t left = x >> bits;
    for (int i = 0; i < bits; i++)
      if (x >> i & 1) out->inside[x] ^= (int64_t)inverse.column[first + i];
    for (int i = 0; i < last; i++) {
      if (s->digit[i].axis != axis) continue;
      out->sum[x] += left % p->binding.extent[i] * p->binding.stride[i];
      left /= p->binding.extent[i];
    }
  }
  return LLRT_OK;
}

static void places_fini(places *p) {
  for (int a = 0; a < p->storage->rank; a++) {
    free(p->axis[a].sum);
    free(p->axis[a].inside);
  }
}

static llrt_status places_init(places *p, const llrt_storage *storage, const conversion *c) {
  *p = (places){.storage = storage};
  llrt_status status = llrt_storage_bind(storage, c->rank, c->shape, NULL, &p->binding);
  for (int a = 0; a < storage->rank && !status; a++) status = axis_places_init(p, a);
  if (status) places_fini(p);
  return status;
}

/* A walk along the last axis: what the other axes give, and where on the last one it is. */
typedef struct cursor {
  const places *p;
  const axis_places *last;
  int64_t sum, inside; /* without the last axis's tables */
  int64_t at;          /* in the last axis's period */
} cursor;

static void add_axis(cursor *c, int axis, int64_t x) {
  const axis_places *a = &c->p->axis[axis];
  c->sum += a->sum[x % a->period] + x / a->period * a->beyond;
  c->inside ^= a->inside[x % a->period];
}

static void enter_last(cursor *c, int axis, int64_t x) {
  c->last = &c->p->axis[axis];
  c->at = x % c->last->period;
  c->sum += x / c->last->period * c->last->beyond;
}

static void advance(cursor *c) {
  if (++c->at < c->last->period) return;
  c->at = 0;
  c->sum += c->last->beyond;
}

static int64_t place(const cursor *c) {
  const llrt_swizzle *z = &c->p->storage->swizzle;
  int64_t inside = c->inside ^ c->last->inside[c->at];
  uint64_t offset = (uint64_t)(c->p->binding.origin[0] + c->sum + c->last->sum[c->at] + inside);
  uint64_t mask = (UINT64_C(1) << z->swizzle_len) - 1;
  return (int64_t)(offset ^ (offset >> z->atom_len & mask) << z->per_element);
}

/* ---- the comparison ---- */

typedef struct comparison {
  const conversion *c;
  const void *source, *destination;
  places from, to;
  int bits;
  element poison, pad;
  const int64_t *extent; /* what is walked: the destination's padded shape, or the shape */
  int64_t wrong, wrong_pads, first_wrong, poison_expected;
} comparison;

typedef struct counts {
  int64_t wrong, wrong_pads, first_wrong, poison;
} counts;

static void compare_one(const comparison *k, int64_t flat, bool real, const cursor *from,
                        const cursor *to, counts *n) {
  element found = element_load(k->destination, place(to), k->bits);
  element right = real ? element_load(k->source, place(from), k->bits) : k->pad;
  n->poison += element_same(right, k->poison);
  if (element_same(found, right)) return;
  *(real ? &n->wrong : &n->wrong_pads) += 1;
  if (flat < n->first_wrong) n->first_wrong = flat;
}

/* Compares positions [begin, end) of the walk, which share all coordinates but the last. */
static void compare_run(const comparison *k, int64_t begin, int64_t end, counts *n) {
  int last = k->c->rank - 1;
  int64_t rest = begin, first = begin % k->extent[last];
  bool real = true;
  cursor from = {.p = &k->from}, to = {.p = &k->to};
  rest /= k->extent[last];
  for (int a = last - 1; a >= 0; a--) {
    int64_t x = rest % k->extent[a];
    rest /= k->extent[a];
    real &= x < k->c->shape[a];
    add_axis(&from, a, x);
    add_axis(&to, a, x);
  }
  enter_last(&from, last, first);
  enter_last(&to, last, first);
  for (int64_t i = begin; i < end; i++, advance(&from), advance(&to))
    compare_one(k, i, real && first + i - begin < k->c->shape[last], &from, &to, n);
}

static void compare_chunk(const comparison *k, int64_t begin, int64_t end, counts *n) {
  int64_t row = k->extent[k->c->rank - 1];
  while (begin < end) {
    int64_t stop = begin - begin % row + row;
    if (stop > end) stop = end;
    compare_run(k, begin, stop, n);
    begin = stop;
  }
}

static int64_t walked(const comparison *k) {
  int64_t total = 1;
  for (int a = 0; a < k->c->rank; a++) total *= k->extent[a];
  return total;
}

static void compare_all(comparison *k) {
  enum { CHUNK = 1 << 15 };
  int64_t total = walked(k), wrong = 0, pads = 0, poison = 0, first = total;
#pragma omp parallel for schedule(dynamic) reduction(+ : wrong, pads, poison) reduction(min : first)
  for (int64_t chunk = 0; chunk < (total + CHUNK - 1) / CHUNK; chunk++) {
    int64_t begin = chunk * CHUNK, end = begin + CHUNK < total ? begin + CHUNK : total;
    counts n = {.first_wrong = total};
    compare_chunk(k, begin, end, &n);
    wrong += n.wrong, pads += n.wrong_pads, poison += n.poison;
    if (n.first_wrong < first) first = n.first_wrong;
  }
  k->wrong = wrong, k->wrong_pads = pads, k->first_wrong = first, k->poison_expected = poison;
}

/* How many places hold poison beyond those whose right value it is; 0 when nothing outside the
 * image was written and nothing of it left out. */
static int64_t poison_missing(const comparison *k) {
  int64_t span = k->to.binding.span, found = 0;
#pragma omp parallel for reduction(+ : found)
  for (int64_t i = 0; i < span; i++)
    found += element_same(element_load(k->destination, i, k->bits), k->poison);
  return k->poison_expected + span - walked(k) - found;
}

static bool explain(const comparison *k, char *why, size_t size) {
  int64_t outside = k->wrong || k->wrong_pads ? 0 : poison_missing(k), rest = k->first_wrong;
  int64_t coords[LLRT_MAX_RANK];
  why[0] = 0;
  if (outside) {
    snprintf(why, size, "%" PRId64 " places outside the tensor written", outside);
    return false;
  }
  if (!k->wrong && !k->wrong_pads) return true;
  for (int a = k->c->rank - 1; a >= 0; a--) {
    coords[a] = rest % k->extent[a];
    rest /= k->extent[a];
  }
  int used = snprintf(why, size, "%" PRId64 " elements and %" PRId64 " pads wrong, the first at",
                      k->wrong, k->wrong_pads);
  for (int a = 0; a < k->c->rank && used < (int)size; a++)
    used += snprintf(why + used, size - (size_t)used, " %" PRId64, coords[a]);
  return false;
}

bool conversion_check(const conversion *c, const void *source, const void *destination,
                      unsigned char poison, char *why, size_t size) {
  int bits = llrt_dtype_bits(c->dtype);
  comparison k = {.c = c, .source = source, .destination = destination, .bits = bits};
  k.poison = element_repeated(poison, bits);
  k.pad = (element){c->to.pad_value, 0};
  llrt_status status = places_init(&k.from, &c->from, c);
  if (status) {
    snprintf(why, size, "%s", llrt_last_error());
    return false;
  }
  status = places_init(&k.to, &c->to, c);
  if (status) {
    places_fini(&k.from);
    snprintf(why, size, "%s", llrt_last_error());
    return false;
  }
  k.extent = c->to.pad == LLRT_PAD_VALUE ? k.to.binding.padded : c->shape;
  compare_all(&k);
  bool right = explain(&k, why, size);
  places_fini(&k.from);
  places_fini(&k.to);
  return right;
}

/* ---- what is touched ---- */

static void touch_row(const places *p, const conversion *c, int64_t row, unsigned char *touched) {
  int last = c->rank - 1, bytes = llrt_dtype_bits(c->dtype) / 8;
  cursor at = {.p = p};
  for (int a = last - 1; a >= 0; a--) {
    add_axis(&at, a, row % c->shape[a]);
    row /= c->shape[a];
  }
  enter_last(&at, last, 0);
  for (int64_t i = 0; i < c->shape[last]; i++, advance(&at))
    memset(touched + place(&at) * bytes, 1, (size_t)bytes);
}

llrt_status conversion_touched(const conversion *c, int side, unsigned char *touched) {
  places p;
  int64_t rows = 1;
  llrt_status status = places_init(&p, side == 0 ? &c->from : &c->to, c);
  if (status) return status;
  memset(touched, 0, (size_t)(side == 0 ? c->from_bytes : c->to_bytes));
  for (int a = 0; a < c->rank - 1; a++) rows *= c->shape[a];
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; row++) touch_row(&p, c, row, touched);
  places_fini(&p);
  return LLRT_OK;
}

llrt_dtype conversion_dtype(int width) {
  static const llrt_dtype all[] = {LLRT_B4, LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64, LLRT_B128};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (llrt_dtype_bits(all[i]) == width) return all[i];
  return LLRT_DTYPE_NONE;
}

llrt_status conversion_measure(conversion *c) {
  llrt_storage_binding from, to;
  int bits = llrt_dtype_bits(c->dtype);
  int64_t read = 1, written = 1;
  llrt_status status = llrt_storage_bind(&c->from, c->rank, c->shape, NULL, &from);
  if (!status) status = llrt_storage_bind(&c->to, c->rank, c->shape, NULL, &to);
  if (!status) status = llrt_storage_bytes(&from, bits, &c->from_bytes);
  if (!status) status = llrt_storage_bytes(&to, bits, &c->to_bytes);
  if (status) return status;
  for (int a = 0; a < c->rank; a++) {
    read *= c->shape[a];
    written *= c->to.pad == LLRT_PAD_VALUE ? to.padded[a] : c->shape[a];
  }
  c->moved_bytes = (read + written) * bits / 8;
  return LLRT_OK;
}
