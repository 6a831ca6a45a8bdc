#include "tests/fuzz/points.h"

#include <string.h>

uint64_t point_at(const point *p, const char *name) {
  for (int i = 0; i < p->n; i++)
    if (strcmp(p->name[i], name) == 0) return p->at[i];
  return 0;
}

int dim_bits(const llrt_dim *dims, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(dims[i].name, name) == 0) return dims[i].bits;
  return 0;
}

static bool has_name(const llrt_dim *dims, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(dims[i].name, name) == 0) return true;
  return false;
}

bool same_names(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b) {
  for (int i = 0; i < n_a; i++)
    if (!has_name(b, n_b, a[i].name)) return false;
  return n_a == n_b;
}

bool point_flat(const point *p, const llrt_dim *dims, int n, uint64_t *flat) {
  *flat = 0;
  for (int i = 0; i < p->n; i++)
    if (!has_name(dims, n, p->name[i])) return false;
  for (int i = 0, shift = 0; i < n; shift += dims[i++].bits) {
    uint64_t at = point_at(p, dims[i].name);
    if (at >> dims[i].bits) return false;
    *flat |= at << shift;
  }
  return true;
}

point point_of(const llrt_dim *dims, int n, uint64_t flat) {
  point p = {.n = n};
  for (int i = 0; i < n; flat >>= dims[i++].bits) {
    p.name[i] = dims[i].name;
    p.at[i] = flat & ((UINT64_C(1) << dims[i].bits) - 1);
  }
  return p;
}

uint64_t value_flat(const llrt_layout *a, uint64_t x) {
  uint64_t y = 0;
  for (int i = 0; x >> i; i++)
    if (x >> i & 1) y ^= a->column[i];
  return y;
}

point value_at(const llrt_layout *a, uint64_t x) {
  return point_of(a->out, a->n_out, value_flat(a, x));
}

point value_of(const llrt_layout *a, const point *x) {
  uint64_t flat = 0;
  for (int i = 0, shift = 0; i < a->n_in; shift += a->in[i++].bits)
    flat |= (point_at(x, a->in[i].name) & ((UINT64_C(1) << a->in[i].bits) - 1)) << shift;
  return value_at(a, flat);
}

void image_of(const llrt_layout *a, uint64_t mask, image *out) {
  *out = (image){.n = 0};
  for (uint64_t x = 0; x < (uint64_t)in_points(a); x++) {
    if (x & ~mask) continue;
    uint64_t y = value_flat(a, x);
    out->n += !out->has[y];
    out->has[y] = true;
  }
}

bool is_inside(const llrt_layout *inner, const llrt_layout *outer) {
  image all;
  image_of(outer, ~UINT64_C(0), &all);
  for (int x = 0; x < in_points(inner); x++) {
    point y = value_at(inner, (uint64_t)x);
    uint64_t flat;
    if (!point_flat(&y, outer->out, outer->n_out, &flat) || !all.has[flat]) return false;
  }
  return true;
}
