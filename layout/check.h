/* What every function on layouts does first and last: checking arguments, handing over a result. */
#ifndef LLRT_LAYOUT_CHECK_H
#define LLRT_LAYOUT_CHECK_H

#include <llrt/layout.h>

#include <string.h>

/* [A-Za-z_][A-Za-z0-9_]*, shorter than LLRT_NAME_BYTES. */
bool layout_name_is_valid(const char *name);

/* INVALID_ARGUMENT, with `argument` and what is wrong with it, unless the layout is well formed. */
llrt_status layout_check(const llrt_layout *layout, const char *argument);

/* Ends a function: *out = *result on success, else zero. `result` is a local, so `out` may be any
 * of the inputs. Returns status, or INVALID_ARGUMENT for a NULL out. */
llrt_status layout_finish(llrt_status status, const llrt_layout *result, llrt_layout *out);

/* Appends a dim without columns of its own; names are as checked by the callers. Errors:
 * UNSUPPORTED past a limit, INVALID_ARGUMENT for a name taken. Returns with the layout unchanged
 * then. */
llrt_status layout_append_in(llrt_layout *layout, const char *name, int bits);
llrt_status layout_append_out(llrt_layout *layout, const char *name, int bits);

/* Names are zero-filled, so they compare as bytes. */
static inline bool layout_same_name(const llrt_dim *a, const llrt_dim *b) {
  return memcmp(a->name, b->name, LLRT_NAME_BYTES) == 0;
}

/* The place of a dim of this name among n, or -1. */
static inline int layout_dim_index(const llrt_dim *dim, int n, const llrt_dim *wanted) {
  for (int i = 0; i < n; i++)
    if (layout_same_name(&dim[i], wanted)) return i;
  return -1;
}

/* index[i] = the place of names[i] among n_dims dims; taken = the set of places. Errors: a name
 * that is NULL, unknown, or there twice. kind is "in" or "out". */
llrt_status layout_find_dims(const llrt_dim *dim, int n_dims, const char *kind,
                             const char *const *names, int n, int *index, uint32_t *taken);

/* "dim0", "dim1", … into name[LLRT_NAME_BYTES]. */
void layout_axis_name(int axis, char *name);

#endif
