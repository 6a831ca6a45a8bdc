/* Reading and writing shardings: mesh(dp=2, tp=4): P(dp, None, tp) o row_major. */
#include "layout/mesh_rule.h"

#include "base/status.h"
#include "layout/storage_parser.h"

#include <string.h>

/* The mesh axis whose name is at hand, which nothing used before. */
static llrt_status parse_mesh_axis(parser *self, const llrt_sharding *out, int *axis) {
  size_t column = parser_column(self);
  char name[LLRT_NAME_BYTES];
  LLRT_TRY(parser_name(self, name));
  *axis = mesh_find_axis(&out->mesh, name);
  if (*axis < 0) return parser_fail_at(column, "the mesh has no axis '%s'", name);
  if ((sharding_split_axes(out) | out->partial) >> *axis & 1)
    return parser_fail_at(column, "axis '%s' of the mesh is used twice", name);
  return LLRT_OK;
}

static llrt_status parse_split(parser *self, llrt_sharding *out) {
  int axis;
  LLRT_TRY(parse_mesh_axis(self, out, &axis));
  out->split[out->n_splits++] = (llrt_split){.mesh_axis = axis, .axis = out->rank};
  return LLRT_OK;
}

/* "partial" '(' name { ',' name } ')' */
static llrt_status parse_partial(parser *self, llrt_sharding *out) {
  int axis;
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    LLRT_TRY(parse_mesh_axis(self, out, &axis));
    out->partial |= 1ull << axis;
  } while (parser_accept(self, ','));
  return parser_expect(self, ')');
}

/* None | name | '(' name { ',' name } ')': what splits the next axis of the tensor. */
static llrt_status parse_entry(parser *self, llrt_sharding *out) {
  if (out->rank == LLRT_MAX_RANK)
    return parser_fail_at(parser_column(self), "more than %d axes", LLRT_MAX_RANK);
  if (parser_at_name(self, "None")) {
    parser_next(self);
  } else if (parser_accept(self, '(')) {
    do {
      LLRT_TRY(parse_split(self, out));
    } while (parser_accept(self, ','));
    LLRT_TRY(parser_expect(self, ')'));
  } else {
    LLRT_TRY(parse_split(self, out));
  }
  out->rank++;
  return LLRT_OK;
}

/* 'P' '(' [ entry { ',' entry } ] [ ',' partial ] ')' */
static llrt_status parse_splits(parser *self, llrt_sharding *out) {
  if (!parser_at_name(self, "P")) return parser_fail(self, "expected P");
  size_t column = parser_column(self);
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  if (!parser_accept(self, ')')) {
    bool partial = false;
    do {
      if (partial) return parser_fail(self, "partial stands last");
      partial = parser_at_name(self, "partial");
      LLRT_TRY(partial ? parse_partial(self, out) : parse_entry(self, out));
    } while (parser_accept(self, ','));
    LLRT_TRY(parser_expect(self, ')'));
  }
  if (self->rank && out->rank > self->rank)
    return parser_fail_at(column, "%d entries for rank %d", out->rank, self->rank);
  if (self->rank) out->rank = self->rank;
  return LLRT_OK;
}

/* What stands behind 'o': a storage, applied to the first device's part; without one, row_major. */
static llrt_status parse_local(parser *self, llrt_sharding *out) {
  int64_t position[LLRT_MAX_MESH_AXES] = {0};
  llrt_part part;
  if (!parser_at_name(self, "o")) return llrt_storage_row_major(out->rank, &out->storage);
  parser_next(self);
  size_t column = parser_column(self);
  parser inside = *self;
  inside.rank = out->rank;
  inside.shape = NULL;
  if (self->shape) {
    sharding_part_at(out, self->shape, position, &part);
    inside.shape = part.extent;
  }
  LLRT_TRY(parse_storage(&inside, &out->storage));
  inside.rank = self->rank;
  inside.shape = self->shape;
  *self = inside;
  if (out->storage.rank != out->rank)
    return parser_fail_at(column, "the storage has rank %d, P %d", out->storage.rank, out->rank);
  return LLRT_OK;
}

static llrt_status parse(const char *text, const llrt_mesh *mesh, int rank, const int64_t *shape,
                         llrt_sharding *out) {
  parser self;
  LLRT_REQUIRE(text, "text: NULL");
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  for (int axis = 0; shape && axis < rank; axis++)
    LLRT_REQUIRE(shape[axis] >= 0, "shape[%d] is %lld, not 0 or more", axis,
                 (long long)shape[axis]);
  *out = (llrt_sharding){.rank = 0};
  parser_init(&self, text, rank, rank ? shape : NULL);
  if (parser_at_name(&self, "mesh")) {
    LLRT_TRY(parse_mesh(&self, &out->mesh));
    LLRT_TRY(parser_expect(&self, ':'));
  } else if (mesh) {
    LLRT_TRY(llrt_mesh_validate(mesh));
    out->mesh = *mesh;
  } else {
    return parser_fail(&self, "expected mesh");
  }
  LLRT_TRY(parse_splits(&self, out));
  LLRT_TRY(parse_local(&self, out));
  return parser_expect(&self, TOKEN_END);
}

llrt_status llrt_sharding_parse(const char *text, const llrt_mesh *mesh, int rank,
                                const int64_t *shape, llrt_sharding *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_sharding result;
  llrt_status status = parse(text, mesh, rank, shape, &result);
  *out = status ? (llrt_sharding){0} : result;
  return status;
}

/* None, dp, or (dp,tp). */
static void add_entry(writer *text, const llrt_sharding *sharding, int axis) {
  int n = 0, left = 0;
  for (int i = 0; i < sharding->n_splits; i++) left += sharding->split[i].axis == axis;
  if (left == 0) writer_add(text, "None");
  bool several = left > 1;
  for (int i = 0; i < sharding->n_splits; i++) {
    if (sharding->split[i].axis != axis) continue;
    writer_add(text, "%s%s",
               n++       ? ","
               : several ? "("
                         : "",
               sharding->mesh.name[sharding->split[i].mesh_axis]);
  }
  if (several) writer_add(text, ")");
}

static void add_sharding(writer *text, const llrt_sharding *sharding) {
  writer_add_mesh(text, &sharding->mesh);
  writer_add(text, ": P(");
  for (int axis = 0; axis < sharding->rank; axis++) {
    if (axis) writer_add(text, ", ");
    add_entry(text, sharding, axis);
  }
  const char *separator = sharding->rank ? ", partial(" : "partial(";
  for (int axis = 0; axis < sharding->mesh.n_axes; axis++) {
    if (!(sharding->partial >> axis & 1)) continue;
    writer_add(text, "%s%s", separator, sharding->mesh.name[axis]);
    separator = ",";
  }
  writer_add(text, sharding->partial ? ")) o " : ") o ");
}

llrt_status llrt_sharding_print(const llrt_sharding *sharding, char *buffer, size_t size,
                                size_t *length) {
  LLRT_ENTRY();
  writer text;
  LLRT_TRY(writer_start(buffer, size, length, &text));
  LLRT_TRY(llrt_sharding_validate(sharding));
  add_sharding(&text, sharding);
  writer_add_storage(&text, &sharding->storage);
  if (length) *length = text.length;
  return LLRT_OK;
}
