/* The catalogue: every named storage to and from row_major of its logical axes at each of its
 * widths, and the pairs of named storages that engines convert between. Names and widths come from
 * the library's own table, shapes from catalogue_rules.c. */
#ifndef LLRT_BENCHMARKS_CATALOGUE_H
#define LLRT_BENCHMARKS_CATALOGUE_H

#include "conversion.h"

/* Calls visit for each conversion, with tensors of about `bytes` bytes on the larger side, at
 * least one step of the growing axis. Ends the program where a rule is wrong. */
void catalogue_visit(int64_t bytes, bool odd, void *user,
                     void (*visit)(void *user, const conversion *c));

/* Calls visit for each named storage that has no rule, and so no shapes to be measured with. */
void catalogue_visit_missing(void *user, void (*visit)(void *user, const char *name));

/* Whether the conversion is one of those measured at 1 GiB. */
bool catalogue_is_large(const char *name);

#endif
