/* Meshes: devices numbered by named axes. */
#include "layout/mesh_rule.h"

#include "base/params.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/storage_rule.h"

#include <string.h>

/* Names that mean something else where a mesh axis may stand. */
static bool is_reserved(const char *name) {
  return strcmp(name, "partial") == 0 || strcmp(name, "None") == 0 ||
         strcmp(name, STORAGE_MEMORY) == 0;
}

static llrt_status check_name(const llrt_mesh *mesh, int axis) {
  const char *name = mesh->name[axis];
  LLRT_REQUIRE(memchr(name, 0, LLRT_NAME_BYTES) && layout_name_is_valid(name) && !is_reserved(name),
               "axis %d of the mesh has no proper name", axis);
  for (int other = 0; other < axis; other++)
    LLRT_REQUIRE(strcmp(mesh->name[other], name) != 0, "the mesh has two axes %s", name);
  return LLRT_OK;
}

llrt_status llrt_mesh_validate(const llrt_mesh *mesh) {
  LLRT_ENTRY();
  LLRT_REQUIRE(mesh, "mesh: NULL");
  LLRT_REQUIRE(mesh->n_axes >= 1 && mesh->n_axes <= LLRT_MAX_MESH_AXES,
               "a mesh of %d axes, not 1 to %d", mesh->n_axes, LLRT_MAX_MESH_AXES);
  LLRT_REQUIRE(mesh->first >= 0, "the mesh's first device is %d, not 0 or more", mesh->first);
  LLRT_REQUIRE(llrt_params_are_zero(mesh->reserved, sizeof mesh->reserved),
               "mesh: a reserved field is not 0");
  int64_t devices = 1;
  for (int axis = 0; axis < mesh->n_axes; axis++) {
    LLRT_TRY(check_name(mesh, axis));
    int64_t size = mesh->size[axis];
    LLRT_REQUIRE(size >= 1, "axis %s of the mesh has %lld devices, not 1 or more", mesh->name[axis],
                 (long long)size);
    LLRT_REQUIRE(size <= LLRT_MAX_MESH_DEVICES / devices, "the mesh has more than %d devices",
                 LLRT_MAX_MESH_DEVICES);
    devices *= size;
  }
  return LLRT_OK;
}

int64_t llrt_mesh_devices(const llrt_mesh *mesh) {
  int64_t devices = 1;
  if (llrt_mesh_validate(mesh) != LLRT_OK) return 0;
  for (int axis = 0; axis < mesh->n_axes; axis++) devices *= mesh->size[axis];
  return devices;
}

llrt_status llrt_mesh_position(const llrt_mesh *mesh, int64_t device, int64_t *position) {
  LLRT_ENTRY();
  LLRT_TRY(llrt_mesh_validate(mesh));
  LLRT_REQUIRE(position, "position: NULL");
  int64_t rest = device - mesh->first;
  LLRT_REQUIRE(device >= mesh->first && rest < llrt_mesh_devices(mesh),
               "device %lld is not of the mesh, which has devices %d to %lld", (long long)device,
               mesh->first, (long long)(mesh->first + llrt_mesh_devices(mesh) - 1));
  for (int axis = mesh->n_axes - 1; axis >= 0; axis--) {
    position[axis] = rest % mesh->size[axis];
    rest /= mesh->size[axis];
  }
  return LLRT_OK;
}

llrt_status llrt_mesh_device(const llrt_mesh *mesh, const int64_t *position, int64_t *device) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device: NULL");
  *device = 0;
  LLRT_TRY(llrt_mesh_validate(mesh));
  LLRT_REQUIRE(position, "position: NULL");
  int64_t flat = 0;
  for (int axis = 0; axis < mesh->n_axes; axis++) {
    LLRT_REQUIRE(position[axis] >= 0 && position[axis] < mesh->size[axis],
                 "position %lld is outside axis %s of %lld devices", (long long)position[axis],
                 mesh->name[axis], (long long)mesh->size[axis]);
    flat = flat * mesh->size[axis] + position[axis];
  }
  *device = mesh->first + flat;
  return LLRT_OK;
}

int mesh_find_axis(const llrt_mesh *mesh, const char *name) {
  for (int axis = 0; axis < mesh->n_axes; axis++)
    if (strcmp(mesh->name[axis], name) == 0) return axis;
  return -1;
}

/* ---- text ---- */

llrt_status parse_mesh(parser *self, llrt_mesh *out) {
  size_t column = parser_column(self);
  *out = (llrt_mesh){0};
  if (!parser_at_name(self, "mesh")) return parser_fail(self, "expected mesh");
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    if (out->n_axes == LLRT_MAX_MESH_AXES)
      return parser_fail_at(parser_column(self), "more than %d axes", LLRT_MAX_MESH_AXES);
    LLRT_TRY(parser_name(self, out->name[out->n_axes]));
    LLRT_TRY(parser_expect(self, '='));
    LLRT_TRY(parser_integer(self, &out->size[out->n_axes]));
    out->n_axes++;
  } while (parser_accept(self, ','));
  LLRT_TRY(parser_expect(self, ')'));
  if (parser_accept(self, '+')) {
    size_t at = parser_column(self);
    int64_t first;
    LLRT_TRY(parser_integer(self, &first));
    if (first > INT32_MAX) return parser_fail_at(at, "the number is too large");
    out->first = (int32_t)first;
  }
  llrt_status status = llrt_mesh_validate(out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}

static llrt_status parse(const char *text, llrt_mesh *out) {
  parser self;
  LLRT_REQUIRE(text, "text: NULL");
  parser_init(&self, text, 0, NULL);
  LLRT_TRY(parse_mesh(&self, out));
  return parser_expect(&self, TOKEN_END);
}

llrt_status llrt_mesh_parse(const char *text, llrt_mesh *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_mesh result;
  llrt_status status = parse(text, &result);
  *out = status ? (llrt_mesh){0} : result;
  return status;
}

void writer_add_mesh(writer *self, const llrt_mesh *mesh) {
  for (int axis = 0; axis < mesh->n_axes; axis++)
    writer_add(self, "%s%s=%lld", axis ? ", " : "mesh(", mesh->name[axis],
               (long long)mesh->size[axis]);
  writer_add(self, ")");
  if (mesh->first) writer_add(self, " + %d", mesh->first);
}

llrt_status llrt_mesh_print(const llrt_mesh *mesh, char *buffer, size_t size, size_t *length) {
  LLRT_ENTRY();
  writer text;
  LLRT_TRY(writer_start(buffer, size, length, &text));
  LLRT_TRY(llrt_mesh_validate(mesh));
  writer_add_mesh(&text, mesh);
  if (length) *length = text.length;
  return LLRT_OK;
}
