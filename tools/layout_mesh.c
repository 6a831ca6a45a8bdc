#include "tools/layout_mesh.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_HOLDERS 8 /* named in a cell; more are told by their number */

bool text_names_mesh(const char *text) {
  while (*text == ' ' || *text == '\t' || *text == '\n') text++;
  return strncmp(text, "mesh", 4) == 0 && strchr(" (", text[4]) != NULL;
}

static void print_list(FILE *stream, const char *name, int n, const int64_t *values) {
  fprintf(stream, "\"%s\":[", name);
  for (int i = 0; i < n; i++) fprintf(stream, "%s%" PRId64, i ? "," : "", values[i]);
  fputc(']', stream);
}

/* "device":5,"dp":1,"tp":1 */
static llrt_status print_device(FILE *stream, const llrt_mesh *mesh, int64_t device) {
  int64_t position[LLRT_MAX_MESH_AXES];
  llrt_status status = llrt_mesh_position(mesh, device, position);
  if (status != LLRT_OK) return status;
  fprintf(stream, "{\"device\":%" PRId64, device);
  for (int axis = 0; axis < mesh->n_axes; axis++)
    fprintf(stream, ",\"%s\":%" PRId64, mesh->name[axis], position[axis]);
  fputc(',', stream);
  return LLRT_OK;
}

/* One holder of an element, and where it has it. */
static llrt_status print_holder(FILE *stream, const llrt_sharding *sharding, const int64_t *shape,
                                const int64_t *coords, int64_t holder) {
  int64_t device, local[LLRT_MAX_RANK];
  llrt_part part;
  llrt_storage_binding binding;
  llrt_status status = llrt_sharding_find(sharding, shape, coords, holder, &device, local);
  if (!status) status = llrt_sharding_part(sharding, shape, device, &part);
  if (!status)
    status = llrt_storage_bind(&sharding->storage, sharding->rank, part.extent, NULL, &binding);
  if (status) return status;
  if (holder) fputc(',', stream);
  status = print_device(stream, &sharding->mesh, device);
  print_list(stream, "local", sharding->rank, local);
  fprintf(stream, ",\"offset\":%" PRId64 "}",
          llrt_storage_offset(&sharding->storage, &binding, local));
  return status;
}

llrt_status sharding_json_print_at(FILE *stream, const llrt_sharding *sharding,
                                   const int64_t *shape, const int64_t *coords) {
  llrt_status status = LLRT_OK;
  int64_t holders = llrt_sharding_holders(sharding);
  fputc('{', stream);
  print_list(stream, "at", sharding->rank, coords);
  fputs(",\"coords\":[", stream);
  for (int64_t holder = 0; holder < holders && !status; holder++)
    status = print_holder(stream, sharding, shape, coords, holder);
  fputs("]}\n", stream);
  return status;
}

static llrt_status print_part(FILE *stream, const llrt_sharding *sharding, const int64_t *shape,
                              int64_t device) {
  llrt_part part;
  llrt_storage_binding binding;
  llrt_status status = llrt_sharding_part(sharding, shape, device, &part);
  if (!status)
    status = llrt_storage_bind(&sharding->storage, sharding->rank, part.extent, NULL, &binding);
  if (!status) status = print_device(stream, &sharding->mesh, device);
  if (status) return status;
  print_list(stream, "begin", sharding->rank, part.begin);
  fputc(',', stream);
  print_list(stream, "extent", sharding->rank, part.extent);
  fprintf(stream, ",\"copy\":%" PRId64 ",\"summand\":%" PRId64 ",\"span\":%" PRId64 "}", part.copy,
          part.summand, binding.span);
  return LLRT_OK;
}

llrt_status sharding_json_print(FILE *stream, const llrt_sharding *sharding, const int64_t *shape) {
  const llrt_mesh *mesh = &sharding->mesh;
  llrt_status status = LLRT_OK;
  fputs("{\"mesh\":[", stream);
  for (int axis = 0; axis < mesh->n_axes; axis++)
    fprintf(stream, "%s{\"name\":\"%s\",\"size\":%" PRId64 "}", axis ? "," : "", mesh->name[axis],
            mesh->size[axis]);
  fputs("],", stream);
  print_list(stream, "shape", sharding->rank, shape);
  fputs(",\"devices\":[", stream);
  for (int64_t i = 0; i < llrt_mesh_devices(mesh) && !status; i++) {
    if (i) fputc(',', stream);
    status = print_part(stream, sharding, shape, mesh->first + i);
  }
  fputs("]}\n", stream);
  return status;
}

/* ---- the picture ---- */

/* Where parts begin along an axis, and behind the last where the axis ends. */
typedef struct cuts {
  int n;
  int64_t at[MESH_DRAW_MAX_CUTS + 1];
} cuts;

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool add_cut(cuts *c, int64_t at, int64_t extent) {
  for (int i = 0; i < c->n; i++)
    if (c->at[i] == at) return true;
  if (at >= extent && extent > 0) return true;
  if (c->n == MESH_DRAW_MAX_CUTS) return false;
  c->at[c->n++] = at;
  return true;
}

static llrt_status find_cuts(const llrt_sharding *sharding, const int64_t *shape, cuts *c,
                             bool *fits) {
  const llrt_mesh *mesh = &sharding->mesh;
  int64_t cells = 1;
  memset(c, 0, LLRT_MAX_RANK * sizeof *c);
  *fits = true;
  for (int64_t i = 0; i < llrt_mesh_devices(mesh) && *fits; i++) {
    llrt_part part;
    llrt_status status = llrt_sharding_part(sharding, shape, mesh->first + i, &part);
    if (status) return status;
    for (int axis = 0; axis < sharding->rank; axis++)
      *fits &= add_cut(&c[axis], part.begin[axis], shape[axis]);
  }
  for (int axis = 0; axis < sharding->rank; axis++) {
    qsort(c[axis].at, (size_t)c[axis].n, sizeof c[axis].at[0], compare);
    c[axis].at[c[axis].n] = shape[axis];
    if (__builtin_mul_overflow(cells, c[axis].n, &cells)) cells = INT64_MAX;
  }
  *fits &= cells <= MESH_DRAW_MAX_CELLS;
  return LLRT_OK;
}

/* "0..3", "4" */
static void name_range(const cuts *c, int i, char *text, size_t size) {
  int64_t begin = c->at[i], last = c->at[i + 1] - 1;
  if (last <= begin) snprintf(text, size, "%" PRId64, begin);
  else snprintf(text, size, "%" PRId64 "..%" PRId64, begin, last);
}

/* "0,2" of copies, "0+2" of summands, "0,2,… (64)". */
static llrt_status name_holders(const llrt_sharding *sharding, const int64_t *shape,
                                const int64_t *coords, char *text, size_t size) {
  int64_t holders = llrt_sharding_holders(sharding), device, local[LLRT_MAX_RANK];
  int64_t shown = holders > LABEL_HOLDERS ? LABEL_HOLDERS / 2 : holders;
  size_t used = 0;
  const char *joint = sharding->partial ? "+" : ",";
  for (int64_t i = 0; i < shown; i++) {
    llrt_status status = llrt_sharding_find(sharding, shape, coords, i, &device, local);
    if (status) return status;
    used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? joint : "", device);
  }
  if (shown < holders) snprintf(text + used, size - used, "%s… (%" PRId64 ")", joint, holders);
  return LLRT_OK;
}

static void pad(FILE *stream, const char *text, int width) {
  int shown = 0; /* characters, of UTF-8 */
  for (const char *c = text; *c; c++) shown += (*c & 0xc0) != 0x80;
  fprintf(stream, "%*s%s", shown < width ? width - shown : 0, "", text);
}

/* The last two axes, the others at the parts that at[] says. */
static llrt_status draw_page(FILE *stream, const llrt_sharding *sharding, const int64_t *shape,
                             const cuts *c, int *at) {
  static const cuts one = {.n = 1, .at = {0, 1}};
  int rank = sharding->rank, width = 9;
  const cuts *row = rank > 1 ? &c[rank - 2] : &one, *column = rank > 0 ? &c[rank - 1] : &one;
  char text[32 * LABEL_HOLDERS];
  int64_t coords[LLRT_MAX_RANK] = {0};
  fprintf(stream, "%12s", "");
  for (int j = 0; j < column->n; j++) {
    name_range(column, j, text, sizeof text);
    fputs(" | ", stream);
    pad(stream, text, width);
  }
  fputc('\n', stream);
  for (int i = 0; i < row->n; i++) {
    name_range(row, i, text, sizeof text);
    pad(stream, text, 12);
    for (int j = 0; j < column->n; j++) {
      if (rank > 1) at[rank - 2] = i;
      if (rank > 0) at[rank - 1] = j;
      for (int axis = 0; axis < rank; axis++) coords[axis] = c[axis].at[at[axis]];
      llrt_status status = name_holders(sharding, shape, coords, text, sizeof text);
      if (status) return status;
      fputs(" | ", stream);
      pad(stream, text, width);
    }
    fputc('\n', stream);
  }
  return LLRT_OK;
}

static void print_title(FILE *stream, int rank, const cuts *c, const int *at) {
  char text[48];
  for (int axis = 0; axis < rank - 2; axis++) {
    name_range(&c[axis], at[axis], text, sizeof text);
    fprintf(stream, "%sdim%d %s", axis ? ", " : "", axis, text);
  }
  if (rank > 2) fputs(":\n", stream);
}

llrt_status sharding_draw_grid(FILE *stream, const llrt_sharding *sharding, const int64_t *shape,
                               bool *drawn) {
  cuts c[LLRT_MAX_RANK];
  int at[LLRT_MAX_RANK] = {0}, rank = sharding->rank, axis;
  llrt_status status = find_cuts(sharding, shape, c, drawn);
  for (int a = 0; a < rank; a++) *drawn &= shape[a] > 0;
  if (status || !*drawn) return status;
  fputs(sharding->partial ? "each cell: the devices whose parts add up to it\n"
                          : "each cell: the device that holds it, or those that hold copies\n",
        stream);
  do {
    print_title(stream, rank, c, at);
    status = draw_page(stream, sharding, shape, c, at);
    for (axis = rank - 3; axis >= 0 && ++at[axis] == c[axis].n; axis--) at[axis] = 0;
  } while (!status && axis >= 0);
  return status;
}
