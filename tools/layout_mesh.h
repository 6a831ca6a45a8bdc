/* `llrt layout` of tensors over several devices: mesh(dp=2, tp=2): P(dp, tp) o row_major. */
#ifndef LLRT_TOOLS_LAYOUT_MESH_H
#define LLRT_TOOLS_LAYOUT_MESH_H

#include <llrt/mesh.h>

#include <stdio.h>

/* Parts along an axis, and in all, that a picture shows. */
#define MESH_DRAW_MAX_CUTS 64
#define MESH_DRAW_MAX_CELLS 4096

/* Whether a text is about a mesh. */
bool text_names_mesh(const char *text);

/* {"at":[…],"coords":[{"device":1,"dp":0,"tp":1,"local":[…],"offset":13},…]}: every device that
 * holds the element at coords, and where in its memory. All of these return the library's status.
 */
llrt_status sharding_json_print_at(FILE *stream, const llrt_sharding *sharding,
                                   const int64_t *shape, const int64_t *coords);

/* One object: the mesh, and of each device what it holds. */
llrt_status sharding_json_print(FILE *stream, const llrt_sharding *sharding, const int64_t *shape);

/* One cell for each part with the devices that hold it; axes as in layout_draw_grid. *drawn: false
 * where there are more parts than a picture shows. */
llrt_status sharding_draw_grid(FILE *stream, const llrt_sharding *sharding, const int64_t *shape,
                               bool *drawn);

#endif
