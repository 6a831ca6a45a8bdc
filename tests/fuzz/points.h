/* Layouts evaluated point by point, by the definition alone: what the algebra is checked with. */
#ifndef LLRT_TESTS_FUZZ_POINTS_H
#define LLRT_TESTS_FUZZ_POINTS_H

#include <llrt/layout.h>

#define POINTS_MAX_BITS 10 /* of a layout whose points are all visited */

/* One coordinate for each name. */
typedef struct point {
  int n;
  const char *name[LLRT_MAX_OUT_DIMS];
  uint64_t at[LLRT_MAX_OUT_DIMS];
} point;

/* The coordinate named so; 0 where there is none. */
uint64_t point_at(const point *p, const char *name);
/* Lays p's coordinates end to end as dims say, names without one being 0. False: p has a name that
 * is not among dims, or a coordinate that does not fit. */
bool point_flat(const point *p, const llrt_dim *dims, int n, uint64_t *flat);
point point_of(const llrt_dim *dims, int n, uint64_t flat);

/* The layout's value at a flat input, and at a point of its in-dims (others ignored). */
uint64_t value_flat(const llrt_layout *a, uint64_t x);
point value_at(const llrt_layout *a, uint64_t x);
point value_of(const llrt_layout *a, const point *x);

/* log2 of a dim's size, by name; 0 where there is none. */
int dim_bits(const llrt_dim *dims, int n, const char *name);
/* Whether the same names stand in both, in any order. */
bool same_names(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b);

static inline int in_points(const llrt_layout *a) { return 1 << llrt_layout_in_bits(a); }
static inline int out_points(const llrt_layout *a) { return 1 << llrt_layout_out_bits(a); }

/* The values of a at all points whose bits are in `mask`. */
typedef struct image {
  bool has[1 << POINTS_MAX_BITS];
  int n; /* distinct ones */
} image;
void image_of(const llrt_layout *a, uint64_t mask, image *out);

/* Whether all that `inner` holds is in the image of `outer`, dims matched by name. */
bool is_inside(const llrt_layout *inner, const llrt_layout *outer);

#endif
