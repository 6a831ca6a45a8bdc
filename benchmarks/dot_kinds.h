/* The products that llrt-bench dot measures: what is multiplied, in which orders, described without
 * memory. */
#ifndef LLRT_BENCHMARKS_DOT_KINDS_H
#define LLRT_BENCHMARKS_DOT_KINDS_H

#include "runtime/described.h"

#include <llrt/dot.h>
#include <llrt/dot_pack.h>

/* How B and its scales lie: K fastest, as llrt_dot_pack says, as other engines' kernels take them.
 */
typedef enum dot_kind_order {
  DOT_KIND_COLUMNS,
  DOT_KIND_PACKED,
  DOT_KIND_MARLIN,
  DOT_KIND_MACHETE
} dot_kind_order;

enum { DOT_KIND_CHANNEL = -1 }; /* a group: all of K */

/* Scales' powers of two are 2^-7 to 1. */
enum { DOT_KIND_LOW = 120, DOT_KIND_HIGH = 127 };

typedef struct dot_kind {
  const char *name;
  llrt_dtype a, b, scale, zero, d;
  int group;            /* positions along K that share a scale; 0: there are none */
  bool global;          /* of all weights one more, f32 */
  bool square;          /* M = N = K alone */
  dot_kind_order order; /* of B */
  bool promised;        /* a range of e8m0 scales is promised */
  bool fast;            /* sums of 8-bit floats may keep few bits */
} dot_kind;

extern const dot_kind dot_kinds[];
extern const int dot_kinds_count;
extern const int64_t dot_kind_rows[]; /* of A, where a kind is not square */
extern const int dot_kind_rows_count;

enum {
  DOT_KIND_A,
  DOT_KIND_B,
  DOT_KIND_SCALE,
  DOT_KIND_ZERO,
  DOT_KIND_GLOBAL,
  DOT_KIND_D,
  DOT_KIND_TENSORS
};

/* D [m,n] = A [m,k] B [k,n]. */
typedef struct dot_extents {
  int64_t m, n, k;
} dot_extents;

/* One of the tensors of a product, without memory; dtype NONE: there is none. columns: col_major of
 * rank 2. */
llrt_tensor dot_kind_tensor(const dot_kind *kind, int which, const dot_extents *shape,
                            const llrt_storage *columns);

/* The storages of B, its scales and its zero points; m does not matter. UNSUPPORTED: there is no
 * such order of these types on the target, or of so few elements. */
llrt_status dot_kind_packing(const dot_kind *kind, const char *target, const dot_extents *shape,
                             llrt_dot_packing *packing);

/* The call with these tensors, packed where the kind is, without promises. word_bits: the
 * packing's; NULL: none. */
llrt_status dot_kind_describe(const dot_kind *kind,
                              const llrt_tensor *const tensors[DOT_KIND_TENSORS],
                              const llrt_dot_packing *packing, described_dot *call);

#endif
