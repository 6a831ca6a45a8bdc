/* Random expressions without what expressions refuse by design (docs/expressions.md, "Not there"):
 * of 100 that are drawn so about 98 run. What is left out is in tests by name. */
#ifndef LLRT_TESTS_EXPRESSION_FIT_H
#define LLRT_TESTS_EXPRESSION_FIT_H

#include "tests/expression/expression_text.h"

/* Rows that some device walks have at least so many elements. */
#define FIT_LONG 1024

/* Whether the body takes elements of the tensor elsewhere. */
bool fit_is_moved(const char *body, const char *name);

/* Whether the second output is a part of its own (expressions.md, "Parts") that takes the tensor.
 */
bool fit_is_of_others(const writer *w, const char *name);

/* Whether the body calls functions that there are of f32 alone. */
bool fit_has_functions(const char *body);

/* Whether the body's reductions and scans may be of rows that are walked. */
bool fit_may_be_long(const writer *w);

/* Whether tensor number i, of that shape and type, may have this storage. */
bool fit_storage(const writer *w, const llrt_expr *expr, int i, const llrt_tensor *shape,
                 const char *storage);

/* Whether a tensor of that shape and storage (empty: any) may have the index. */
bool fit_index(const char *storage, const llrt_tensor *shape, const trial_index *index);

/* Whether an index of the tensor may have values along axis `by` of it, too. */
bool fit_by(const writer *w, const expr_tensor *own, int by);

/* Whether the count of the first axis may be in device memory. */
bool fit_count(const writer *w, const llrt_expr *expr);

#endif
