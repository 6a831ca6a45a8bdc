/* What the files of meshes and shardings share. */
#ifndef LLRT_LAYOUT_MESH_RULE_H
#define LLRT_LAYOUT_MESH_RULE_H

#include "layout/parser.h"
#include "layout/writer.h"

#include <llrt/mesh.h>

/* The mesh axes that split an axis of the tensor (bit m: mesh axis m). */
uint64_t sharding_split_axes(const llrt_sharding *sharding);

/* The part at a position of a valid sharding's mesh; shape has non-negative entries. */
void sharding_part_at(const llrt_sharding *sharding, const int64_t *shape, const int64_t *position,
                      llrt_part *part);

/* The index of the mesh axis of that name, or -1. */
int mesh_find_axis(const llrt_mesh *mesh, const char *name);

/* mesh := "mesh" '(' name '=' number { ',' … } ')' [ '+' number ]. */
llrt_status parse_mesh(parser *self, llrt_mesh *out);

/* The text of a valid mesh. */
void writer_add_mesh(writer *self, const llrt_mesh *mesh);

#endif
