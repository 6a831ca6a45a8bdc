/* The algebra of layouts: every operation takes and gives plain values and allocates nothing.
 *
 * The general rules of layout.h hold. An operation without a result (a quotient that does not
 * exist, a system without a solution) is INVALID_ARGUMENT with the reason in the message. */
#ifndef LLRT_LAYOUT_ALGEBRA_H
#define LLRT_LAYOUT_ALGEBRA_H

#include <llrt/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- composing ---- */

/* b after a: out(x) = b(a(x)). a's out-dims and b's in-dims have the same names (in any order); an
 * out-dim of a may be smaller than b's in-dim. Out keeps a's in-dims and b's out-dims. */
LLRT_API llrt_status llrt_layout_compose(const llrt_layout *a, const llrt_layout *b,
                                         llrt_layout *out);

/* The direct sum a * b: for a dim of both, b's bits stand above a's. Dims stand in an order that
 * agrees with both factors' orders; where these contradict each other, and where neither
 * decides, a's come first. */
LLRT_API llrt_status llrt_layout_product(const llrt_layout *a, const llrt_layout *b,
                                         llrt_layout *out);

/* ---- solving ---- */

/* X with a(X(x)) = b(x), free variables zero, leftmost pivots. Both have the same out-dims by
 * name (in any order; sizes may differ). From b's in-dims to a's. */
LLRT_API llrt_status llrt_layout_solve(const llrt_layout *a, const llrt_layout *b,
                                       llrt_layout *out);

/* X with a(X(y)) = y, from a's out-dims to a's in-dims, free variables zero, leftmost pivots
 * (copies in later bits are not chosen). Errors: INVALID_ARGUMENT when a is not surjective. The
 * two names are of one operation. */
LLRT_API llrt_status llrt_layout_right_inverse(const llrt_layout *a, llrt_layout *out);
LLRT_API llrt_status llrt_layout_pseudoinvert(const llrt_layout *a, llrt_layout *out);

/* The inverse. Errors: INVALID_ARGUMENT unless a is injective and surjective. */
LLRT_API llrt_status llrt_layout_invert(const llrt_layout *a, llrt_layout *out);

/* X with outer(X(x)) = inner(x): where in `outer`'s in-dims lies what `inner` holds at x. Both
 * have the same out-dims by name (in any order; sizes may differ). An in-dim that both have with
 * the same bases, and whose output bits no other in-dim of either touches, maps to itself; inner
 * equal to outer gives the identity; otherwise free variables are zero and pivots leftmost.
 * Errors: INVALID_ARGUMENT when the image of inner is not inside that of outer. Source: Triton's
 * invertAndCompose with the rule of its PR 11645. */
LLRT_API llrt_status llrt_layout_invert_and_compose(const llrt_layout *inner,
                                                    const llrt_layout *outer, llrt_layout *out);

/* The same, and what outer holds in every block is read in the block that asks: for each bit of
 * in-dim `block` that both have and that is a zero column of outer, the result's block bit is
 * that of its input. */
LLRT_API llrt_status llrt_layout_invert_and_compose_block_local(const llrt_layout *inner,
                                                                const llrt_layout *outer,
                                                                llrt_layout *out);

/* ---- dividing ---- */

/* C with a = b * C (left) or a = C * b (right), verified over all dims. b's dims are among a's; C
 * keeps a's dims in a's order, those used up with size 1. */
LLRT_API llrt_status llrt_layout_divide_left(const llrt_layout *a, const llrt_layout *b,
                                             llrt_layout *out);
LLRT_API llrt_status llrt_layout_divide_right(const llrt_layout *a, const llrt_layout *b,
                                              llrt_layout *out);

/* a without the named dims, over which it must be trivial (llrt_layout_is_trivial_over). */
LLRT_API llrt_status llrt_layout_quotient(const llrt_layout *a, const char *const *names, int n,
                                          llrt_layout *out);

/* How `tile`, an instruction's layout, is repeated to make a: a with the tile's columns zero. As
 * zeros * divide_left(a, tile), but a's other columns may also use bits between those of the tile:
 * each in-dim of a begins with the tile's columns, and no other column has a bit of theirs. */
LLRT_API llrt_status llrt_layout_repetitions(const llrt_layout *a, const llrt_layout *tile,
                                             llrt_layout *out);

/* ---- choosing, ordering and naming dims ---- */

/* The restriction to the named dims; order and out sizes of the original are kept. */
LLRT_API llrt_status llrt_layout_sublayout(const llrt_layout *a, const char *const *ins, int n_ins,
                                           const char *const *outs, int n_outs, llrt_layout *out);

/* Reorders dims; names lists every dim once. */
LLRT_API llrt_status llrt_layout_transpose_ins(const llrt_layout *a, const char *const *names,
                                               int n, llrt_layout *out);
LLRT_API llrt_status llrt_layout_transpose_outs(const llrt_layout *a, const char *const *names,
                                                int n, llrt_layout *out);

/* Lays all in-dims (out-dims) end to end in one dim, minor to major. Without any there are none
 * afterwards. */
LLRT_API llrt_status llrt_layout_flatten_ins(const llrt_layout *a, const char *name,
                                             llrt_layout *out);
LLRT_API llrt_status llrt_layout_flatten_outs(const llrt_layout *a, const char *name,
                                              llrt_layout *out);

/* Lays all in-dims (out-dims) end to end and cuts them anew into dims[n], minor to major. Errors:
 * another total size. */
LLRT_API llrt_status llrt_layout_reshape_ins(const llrt_layout *a, const llrt_dim *dims, int n,
                                             llrt_layout *out);
LLRT_API llrt_status llrt_layout_reshape_outs(const llrt_layout *a, const llrt_dim *dims, int n,
                                              llrt_layout *out);

/* Renames from[i] to to[i], all at once, so that names can be exchanged. Order is kept. */
LLRT_API llrt_status llrt_layout_rename_ins(const llrt_layout *a, const char *const *from,
                                            const char *const *to, int n, llrt_layout *out);
LLRT_API llrt_status llrt_layout_rename_outs(const llrt_layout *a, const char *const *from,
                                             const char *const *to, int n, llrt_layout *out);

/* Drops a dim of size 1. */
LLRT_API llrt_status llrt_layout_squeeze_in(const llrt_layout *a, const char *name,
                                            llrt_layout *out);
LLRT_API llrt_status llrt_layout_squeeze_out(const llrt_layout *a, const char *name,
                                             llrt_layout *out);

/* a's in-dims, then b's; both have the same out-dims with the same sizes (in any order; a's is
 * kept). out(x, y) = a(x) xor b(y). */
LLRT_API llrt_status llrt_layout_concat_ins(const llrt_layout *a, const llrt_layout *b,
                                            llrt_layout *out);

/* a's out-dims, then b's; both have the same in-dims with the same sizes (in any order; a's is
 * kept). out(x) = (a(x), b(x)). */
LLRT_API llrt_status llrt_layout_concat_outs(const llrt_layout *a, const llrt_layout *b,
                                             llrt_layout *out);

/* ---- columns and sizes ---- */

/* In-dim `name` gets `size` positions: fewer drop the highest columns, more append zero columns. */
LLRT_API llrt_status llrt_layout_resize_in(const llrt_layout *a, const char *name, int64_t size,
                                           llrt_layout *out);

/* Out-dim `name` shrinks to `size` positions: a column whose coordinate no longer fits gets 0
 * there. Errors: size is larger than the dim. */
LLRT_API llrt_status llrt_layout_resize_out(const llrt_layout *a, const char *name, int64_t size,
                                            llrt_layout *out);

/* In-dim `name` without its zero columns. */
LLRT_API llrt_status llrt_layout_remove_zero_bases(const llrt_layout *a, const char *name,
                                                   llrt_layout *out);

/* Column k of in-dim `name` becomes the old column action[k], k < n; bits that action does not name
 * are dropped. */
LLRT_API llrt_status llrt_layout_select_bases(const llrt_layout *a, const char *name,
                                              const int *action, int n, llrt_layout *out);

/* Where, before select_bases, lay what stands at `position` after it: bit k of position is bit
 * action[k] of the result. Entries of action are 0..63. */
LLRT_API uint64_t llrt_layout_selected_position(const int *action, int n, uint64_t position);

/* size[0] x size[1] x ... positions of in-dim `in`, walking axis order[0] fastest, onto dim0..: the
 * identity. order and size have `rank` entries; out-dims stand in order. */
LLRT_API llrt_status llrt_layout_identity_nd(const char *in, int rank, const int64_t *size,
                                             const int *order, llrt_layout *out);

/* ---- predicates ---- */

/* The map between the named dims, which a has as in-dims and out-dims of equal sizes, is the
 * identity; true for n = 0. False for NULL, malformed or missing. */
LLRT_API bool llrt_layout_is_identity_over(const llrt_layout *a, const char *const *names, int n);

/* And no other in-dim feeds them, and they feed no other out-dim. */
LLRT_API bool llrt_layout_is_trivial_over(const llrt_layout *a, const char *const *names, int n);

/* Out-dim `name` is in-dim `name`: equal sizes, the identity, and no other in-dim feeds it. In-dim
 * `name` may feed other out-dims too. */
LLRT_API bool llrt_layout_is_identity_on_out(const llrt_layout *a, const char *name);

/* No named in-dim feeds a named out-dim. False for NULL, malformed or missing. */
LLRT_API bool llrt_layout_sublayout_is_zero(const llrt_layout *a, const char *const *ins, int n_ins,
                                            const char *const *outs, int n_outs);

/* *mask = the bits of in-dim `in` whose column has a coordinate other than 0 in one of outs[n]. */
LLRT_API llrt_status llrt_layout_input_mask(const llrt_layout *a, const char *in,
                                            const char *const *outs, int n, uint64_t *mask);

/* *mask = the bits of out-dim `out_name` that some column of ins[n] has. */
LLRT_API llrt_status llrt_layout_output_mask(const llrt_layout *a, const char *const *ins, int n,
                                             const char *out_name, uint64_t *mask);

#ifdef __cplusplus
}
#endif
#endif
