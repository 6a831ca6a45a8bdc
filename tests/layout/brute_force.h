/* Layouts as plain functions on named coordinates: the oracle for everything done on matrices. */
#ifndef LLRT_TESTS_BRUTE_FORCE_H
#define LLRT_TESTS_BRUTE_FORCE_H

#include "tests/layout/layout_text.h"

#define RANDOM_PAIRS 10000 /* an operation */

/* Up to three in-dims of register, lane, warp, block and out-dims of dim0, dim1, dim2, 0 to 2 bits
 * each; columns units, zero, or any. */
llrt_layout random_named(random_source *source);
/* The same with the given out-dims (in-dims). */
llrt_layout random_onto(random_source *source, const llrt_dim *outs, int n_outs);
llrt_layout random_from(random_source *source, const llrt_dim *ins, int n_ins);
/* Reorders the out-dims at random. */
void shuffle_outs(random_source *source, llrt_layout *layout);

uint64_t count_points(const llrt_dim *dims, int n);

/* XOR of the columns of x's bits, one after the other. */
uint64_t value_at(const llrt_layout *layout, uint64_t x);

/* One coordinate of a word; 0 for a dim that is missing. */
uint64_t coordinate(const llrt_dim *dims, int n, uint64_t word, const char *name);
/* The word with that coordinate added; a missing dim takes only 0. */
uint64_t with_coordinate(const llrt_dim *dims, int n, uint64_t word, const char *name,
                         uint64_t value);
/* Coordinates by name from one list of dims to another; those that it lacks are dropped. */
uint64_t rename_word(const llrt_dim *from, int n_from, uint64_t word, const llrt_dim *to, int n_to);

/* Whether some point of `outer` has the coordinates of `word`, a word of dims[n]. */
bool is_reached(const llrt_layout *outer, const llrt_dim *dims, int n, uint64_t word);

#define IN(layout) (layout)->in, (layout)->n_in
#define OUT(layout) (layout)->out, (layout)->n_out

#endif
