/* Operations of the algebra, each with its check. */
#ifndef LLRT_TESTS_FUZZ_OPERATIONS_H
#define LLRT_TESTS_FUZZ_OPERATIONS_H

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/points.h"

/* Some of the dims' names; how many. */
int bytes_names(bytes *from, const llrt_dim *dims, int n, const char **names);

/* Computes a result from a, b and further bytes, checks it, and returns the operation's status. a
 * and b have at most POINTS_MAX_BITS in bits and out bits. */
typedef llrt_status operation(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out);

extern operation *const operations[];
extern const int n_operations;

operation check_compose, check_solve, check_invert_and_compose, check_right_inverse, check_invert;
operation check_product, check_divide_left, check_divide_right, check_product_divided;
operation check_quotient, check_repetitions;
operation check_sublayout, check_transpose_ins, check_transpose_outs, check_flatten_ins;
operation check_flatten_outs, check_reshape_ins, check_reshape_outs, check_rename_ins;
operation check_rename_outs, check_concat_ins, check_concat_outs, check_resize_in, check_resize_out;
operation check_remove_zero_bases, check_select_bases;
operation check_same_bytes; /* of two storages that further bytes say */

/* Rank, free variables, contiguity, common vectors, against images. */
void check_questions(const llrt_layout *a, const llrt_layout *b);

/* Bank conflicts of registers a against memory b, and the conversion from a to b. */
void check_pairs(const llrt_layout *a, const llrt_layout *b);

#endif
