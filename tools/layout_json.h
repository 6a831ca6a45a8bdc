/* The JSON that `llrt layout` prints; a stable format (docs/cli.md). */
#ifndef LLRT_TOOLS_LAYOUT_JSON_H
#define LLRT_TOOLS_LAYOUT_JSON_H

#include <llrt/tirx.h>

#include <stdio.h>

/* One object: in-dims with their basis vectors, out-dims with their sizes, and what follows from
 * them. */
void layout_json_print(FILE *stream, const llrt_layout *layout);

/* {"at":[…],"coords":[{…},…]}: every place that holds the element at `coords` (n_out of them, by
 * logical axis, inside the layout's extents). */
void layout_json_print_at(FILE *stream, const llrt_layout *layout, const int64_t *coords);

/* The same for a storage bound to a shape: one object with the offset in elements. */
void storage_json_print_at(FILE *stream, const llrt_storage *storage,
                           const llrt_storage_binding *binding, const int64_t *coords);

/* The offsets of all logical elements of shape[rank], the last axis fastest, as one list. */
void storage_json_print_table(FILE *stream, const llrt_storage *storage,
                              const llrt_storage_binding *binding, const int64_t *shape);

/* {"at":[…],"coords":[{"laneid":0,…},…]}: every copy of the element, by the axes that the storage
 * names. Returns the library's status. */
llrt_status places_json_print_at(FILE *stream, const llrt_storage *storage, int rank,
                                 const int64_t *shape, const int64_t *coords);

#endif
