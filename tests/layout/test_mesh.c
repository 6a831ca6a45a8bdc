/* Meshes and shardings: text, and which device holds which element, against a reference that cuts
 * lists of coordinates as torch.chunk does and knows nothing else. */
#include "tests/layout/layout_text.h"

#include <llrt/mesh.h>
#include <llrt/tirx.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static llrt_sharding sharding_of(const char *text, int rank, const int64_t *shape) {
  llrt_sharding sharding;
  cr_assert(llrt_sharding_parse(text, NULL, rank, shape, &sharding) == LLRT_OK, "%s: %s", text,
            llrt_last_error());
  return sharding;
}

Test(mesh, text) {
  static const struct {
    const char *text;
    int rank;
    const char *printed; /* NULL: as it is */
  } rows[] = {
      {"mesh(dp=2, tp=8): P(dp, None, tp) o row_major", 0, NULL},
      {"mesh(dp=2, tp=8): P((dp,tp), None) o col_major", 0, NULL},
      {"mesh(dp=2, tp=8): P((tp,dp)) o row_major", 1, NULL},
      {"mesh(dp=2, tp=8): P(dp) o row_major", 3, "mesh(dp=2, tp=8): P(dp, None, None) o row_major"},
      {"mesh(tp=4) + 8: P(None, tp) o strided([64,1])", 0, NULL},
      {"mesh(dp=2, tp=2): P(dp, None, partial(tp)) o row_major", 0, NULL},
      {"mesh(dp=2,tp=2):P(partial(dp,tp))", 2,
       "mesh(dp=2, tp=2): P(None, None, partial(dp,tp)) o row_major"},
      {"mesh(a=1): P() o row_major", 0, NULL},
      {"mesh(a=2): P(partial(a)) o row_major", 0, NULL},
      {"mesh(tp=2): P(None, tp) o kv_hnd", 4, NULL},
      {"mesh(tp=2): P(tp) o transposed(row_major)", 2, "mesh(tp=2): P(tp, None) o col_major"},
      {"mesh(a=2): P(a, None) o swizzle(per_element=3, swizzle_len=3, atom_len=3) o "
       "S[(8,64):(64@m,1@m)]",
       2, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static const int64_t shape[4] = {16, 64, 8, 4};
    char text[2048];
    size_t length;
    llrt_sharding sharding = sharding_of(rows[i].text, rows[i].rank, rows[i].rank ? shape : NULL);
    cr_assert_eq(llrt_sharding_print(&sharding, text, sizeof text, &length), LLRT_OK);
    cr_expect_eq(length, strlen(text));
    llrt_sharding back = sharding_of(text, 0, NULL);
    cr_expect(llrt_sharding_equal(&sharding, &back), "%s", text);
    llrt_hash x = llrt_sharding_hash(&sharding), y = llrt_sharding_hash(&back);
    cr_expect(x.low == y.low && x.high == y.high && x.low, "%s", text);
    if (strstr(rows[i].text, "kv_hnd") || strstr(rows[i].text, "swizzle")) continue;
    cr_expect_str_eq(text, rows[i].printed ? rows[i].printed : rows[i].text);
  }
}

Test(mesh, refused) {
  static const struct {
    const char *text;
    int rank;
    const char *message;
  } rows[] = {
      {"P(dp) o row_major", 0, "column 1: expected mesh"},
      {"mesh(dp=2)", 0, "column 11: expected ':'"},
      {"mesh(dp=2, dp=3): P(dp)", 0, "column 1: the mesh has two axes dp"},
      {"mesh(dp=0): P(dp)", 0, "column 1: axis dp of the mesh has 0 devices, not 1 or more"},
      {"mesh(dp=1024, tp=1025): P()", 0, "column 1: the mesh has more than 1048576 devices"},
      {"mesh(partial=2): P()", 0, "column 1: axis 0 of the mesh has no proper name"},
      {"mesh(a=2,b=2,c=2,d=2,e=2,f=2,g=2): P()", 0, "column 30: more than 6 axes"},
      {"mesh(dp=2) + 3000000000: P(dp)", 0, "column 14: the number is too large"},
      {"mesh(dp=2): Q(dp)", 0, "column 13: expected P"},
      {"mesh(dp=2): P(tp)", 0, "column 15: the mesh has no axis 'tp'"},
      {"mesh(dp=2): P(dp, dp)", 0, "column 19: axis 'dp' of the mesh is used twice"},
      {"mesh(dp=2): P(dp, partial(dp))", 0, "column 27: axis 'dp' of the mesh is used twice"},
      {"mesh(dp=2, tp=2): P(partial(dp), tp)", 0, "column 34: partial stands last"},
      {"mesh(dp=2): P(dp, None, None)", 2, "column 13: 3 entries for rank 2"},
      {"mesh(dp=2): P(dp) o strided([4,1])", 0, "column 29: 2 strides for rank 1"},
      {"mesh(dp=2): P(dp) o {offset: [[1,0],[0,1]]} -> [dim0:2, dim1:2]", 0,
       "column 21: the storage has rank 2, P 1"},
      {"mesh(dp=2): P(dp) o nonsense", 0, "column 21: unknown storage or layout 'nonsense'"},
      {"mesh(dp=2): P(dp) o row_major x", 0, "column 31: expected the end"},
  };
  static const int64_t shape[2] = {8, 8};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_sharding sharding = {.rank = 3};
    llrt_status status = llrt_sharding_parse(rows[i].text, NULL, rows[i].rank,
                                             rows[i].rank ? shape : NULL, &sharding);
    expect_error(status, LLRT_INVALID_ARGUMENT, rows[i].message, rows[i].text);
    cr_expect_eq(sharding.rank, 0);
  }
}

Test(mesh, families_see_the_part) {
  const int64_t shape[2] = {32, 32};
  llrt_mesh mesh;
  llrt_sharding sharding;
  llrt_part part;
  cr_assert_eq(llrt_mesh_parse("mesh(dp=2, tp=4) + 3", &mesh), LLRT_OK);
  cr_assert_eq(llrt_mesh_devices(&mesh), 8);
  cr_assert_eq(llrt_sharding_parse("P(tp, dp) o nvmma_shared(swizzle_bytes=32, element_bits=16)",
                                   &mesh, 2, shape, &sharding),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_sharding_part(&sharding, shape, 3 + 6, &part), LLRT_OK);
  cr_expect(part.begin[0] == 16 && part.begin[1] == 16 && part.extent[0] == 8 &&
            part.extent[1] == 16);
  cr_expect_eq(sharding.storage.tile.out[0].bits, 3);
  cr_expect_eq(sharding.storage.tile.out[1].bits, 4);
  cr_expect_eq(llrt_sharding_part(&sharding, shape, 2, &part), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_sharding_part(&sharding, shape, 11, &part), LLRT_INVALID_ARGUMENT);
}

/* ---- brute force ---- */

enum { MAX_EXTENT = 13 };

/* Coordinates along one axis that a device has, as torch.chunk leaves them. */
typedef struct positions {
  int n;
  int64_t at[MAX_EXTENT];
} positions;

/* torch.chunk(list, parts)[i], an empty list where there are fewer chunks. */
static positions chunk(const positions *list, int64_t parts, int64_t i) {
  positions out = {.n = 0};
  int64_t size = (list->n + parts - 1) / parts;
  for (int64_t j = i * size; j < (i + 1) * size && j < list->n; j++) out.at[out.n++] = list->at[j];
  return out;
}

/* A mesh of 1 to 8 devices, and splits of up to three axes in any order. */
static llrt_sharding random_sharding(random_source *source) {
  static const char names[3][4] = {"dp", "cp", "tp"};
  llrt_sharding s = {.rank = random_below(source, 4), .mesh.first = random_below(source, 3)};
  int order[3] = {0, 1, 2};
  int64_t devices = 1;
  s.mesh.n_axes = 1 + random_below(source, 3);
  for (int i = 0; i < s.mesh.n_axes; i++) {
    s.mesh.size[i] = 1 + random_below(source, (int)(8 / devices));
    devices *= s.mesh.size[i];
    strcpy(s.mesh.name[i], names[i]);
  }
  for (int i = s.mesh.n_axes - 1; i > 0; i--) {
    int j = random_below(source, i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int i = 0; i < s.mesh.n_axes; i++) {
    int what = random_below(source, 5);
    if (what == 0) s.partial |= 1ull << order[i];
    if (what > 1 && s.rank > 0)
      s.split[s.n_splits++] =
          (llrt_split){.mesh_axis = order[i], .axis = random_below(source, s.rank)};
  }
  cr_assert_eq(random_below(source, 2) ? llrt_storage_row_major(s.rank, &s.storage)
                                       : llrt_storage_col_major(s.rank, &s.storage),
               LLRT_OK);
  cr_assert_eq(llrt_sharding_validate(&s), LLRT_OK, "%s", llrt_last_error());
  return s;
}

/* The lists of a device. */
static void reference(const llrt_sharding *s, const int64_t *shape, const int64_t *position,
                      positions *list) {
  for (int axis = 0; axis < s->rank; axis++) {
    list[axis].n = (int)shape[axis];
    for (int i = 0; i < shape[axis]; i++) list[axis].at[i] = i;
  }
  for (int i = 0; i < s->n_splits; i++) {
    int m = s->split[i].mesh_axis, axis = s->split[i].axis;
    list[axis] = chunk(&list[axis], s->mesh.size[m], position[m]);
  }
}

static void check_part(const llrt_sharding *s, const llrt_part *part, const positions *list) {
  for (int axis = 0; axis < s->rank; axis++) {
    cr_assert_eq(part->extent[axis], list[axis].n);
    for (int i = 0; i < list[axis].n; i++) cr_assert_eq(part->begin[axis] + i, list[axis].at[i]);
  }
}

static bool has(const llrt_sharding *s, const positions *list, const int64_t *coords,
                int64_t *local) {
  for (int axis = 0; axis < s->rank; axis++) {
    int i = 0;
    while (i < list[axis].n && list[axis].at[i] != coords[axis]) i++;
    if (i == list[axis].n) return false;
    local[axis] = i;
  }
  return true;
}

/* Every holder of the element, by rising device, and nobody else. */
static void check_holders(const llrt_sharding *s, const int64_t *shape, const int64_t *coords,
                          positions list[][LLRT_MAX_RANK]) {
  int64_t holder = 0, device, local[LLRT_MAX_RANK], expected[LLRT_MAX_RANK];
  for (int d = 0; d < llrt_mesh_devices(&s->mesh); d++) {
    if (!has(s, list[d], coords, expected)) continue;
    cr_assert_eq(llrt_sharding_find(s, shape, coords, holder++, &device, local), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(device, s->mesh.first + d);
    cr_assert_eq(memcmp(local, expected, (size_t)s->rank * sizeof *local), 0);
  }
  cr_assert_eq(holder, llrt_sharding_holders(s));
  cr_assert_eq(llrt_sharding_find(s, shape, coords, holder, &device, local), LLRT_INVALID_ARGUMENT);
}

static int64_t along(const llrt_places *places, int i, const char *name) {
  for (int a = 0; a < places->n_axes; a++)
    if (strcmp(places->axis[a], name) == 0) return places->at[i][a];
  return 0;
}

/* The places of the sharding as one storage are its holders, each with the local offset. */
static void check_storage(const llrt_sharding *s, const llrt_storage *storage, const int64_t *shape,
                          const int64_t *coords) {
  static llrt_places places;
  cr_assert_eq(llrt_storage_places(storage, s->rank, shape, coords, 0, &places), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(places.copies, llrt_sharding_holders(s));
  bool seen[8] = {false};
  for (int i = 0; i < places.n; i++) {
    int64_t position[LLRT_MAX_MESH_AXES], device, local[LLRT_MAX_RANK], found, holder = 0;
    llrt_part part;
    llrt_storage_binding binding;
    for (int m = 0; m < s->mesh.n_axes; m++) position[m] = along(&places, i, s->mesh.name[m]);
    cr_assert_eq(llrt_mesh_device(&s->mesh, position, &device), LLRT_OK);
    do {
      cr_assert_eq(llrt_sharding_find(s, shape, coords, holder++, &found, local), LLRT_OK);
    } while (found != device);
    cr_assert_eq(llrt_sharding_part(s, shape, device, &part), LLRT_OK);
    cr_assert_eq(llrt_storage_bind(&s->storage, s->rank, part.extent, NULL, &binding), LLRT_OK);
    cr_assert_eq(along(&places, i, "m"), llrt_storage_offset(&s->storage, &binding, local));
    cr_assert(!seen[device - s->mesh.first]);
    seen[device - s->mesh.first] = true;
  }
}

static bool next(const llrt_sharding *s, const int64_t *shape, int64_t *coords) {
  for (int axis = s->rank - 1; axis >= 0; axis--) {
    if (++coords[axis] < shape[axis]) return true;
    coords[axis] = 0;
  }
  return false;
}

Test(mesh, brute_force) {
  random_source source = random_start("mesh");
  int as_storage = 0;
  for (int n = 0; n < 600; n++) {
    static positions list[8][LLRT_MAX_RANK];
    int64_t shape[LLRT_MAX_RANK], coords[LLRT_MAX_RANK] = {0}, position[LLRT_MAX_MESH_AXES];
    bool empty = false, even = true;
    llrt_sharding s = random_sharding(&source);
    for (int axis = 0; axis < s.rank; axis++) {
      shape[axis] = random_below(&source, 3) ? 8 : random_below(&source, MAX_EXTENT);
      empty |= shape[axis] == 0;
    }
    for (int d = 0; d < llrt_mesh_devices(&s.mesh); d++) {
      llrt_part part;
      cr_assert_eq(llrt_mesh_position(&s.mesh, s.mesh.first + d, position), LLRT_OK);
      reference(&s, shape, position, list[d]);
      cr_assert_eq(llrt_sharding_part(&s, shape, s.mesh.first + d, &part), LLRT_OK);
      check_part(&s, &part, list[d]);
      for (int axis = 0; axis < s.rank; axis++) even &= list[d][axis].n == list[0][axis].n;
    }
    llrt_storage storage;
    llrt_status status = llrt_sharding_storage(&s, shape, &storage);
    cr_assert_eq(status == LLRT_OK, even && !empty && !s.partial, "%s", llrt_last_error());
    as_storage += status == LLRT_OK;
    if (empty) continue;
    do {
      check_holders(&s, shape, coords, list);
      if (status == LLRT_OK) check_storage(&s, &storage, shape, coords);
    } while (next(&s, shape, coords));
  }
  cr_expect_gt(as_storage, 100);
}

/* ---- DTensor ---- */

Test(mesh, placements) {
  static const struct {
    const char *mesh;
    llrt_placement placement[3];
    const char *text; /* NULL: refused */
  } rows[] = {
      {"mesh(dp=2, tp=4)", {{LLRT_PLACE_SHARD, 0, 0}, {LLRT_PLACE_REPLICATE, 0, 0}}, "P(dp, None)"},
      {"mesh(dp=2, tp=4)", {{LLRT_PLACE_SHARD, 0, 0}, {LLRT_PLACE_SHARD, 1, 0}}, "P(dp, tp)"},
      {"mesh(dp=2, tp=4)",
       {{LLRT_PLACE_SHARD, 1, 0}, {LLRT_PLACE_SHARD, 1, 0}},
       "P(None, (dp,tp))"},
      {"mesh(dp=2, tp=4)",
       {{LLRT_PLACE_PARTIAL, 0, 0}, {LLRT_PLACE_SHARD, 0, 0}},
       "P(tp, None, partial(dp))"},
      /* FSDP over tensor parallel: tp first, then dp */
      {"mesh(dp=2, tp=4)",
       {{LLRT_PLACE_STRIDED_SHARD, 0, 4}, {LLRT_PLACE_SHARD, 0, 0}},
       "P((tp,dp), None)"},
      {"mesh(a=2, b=3, c=4)",
       {{LLRT_PLACE_SHARD, 0, 0}, {LLRT_PLACE_STRIDED_SHARD, 0, 4}, {LLRT_PLACE_SHARD, 0, 0}},
       "P((a,c,b), None)"},
      {"mesh(a=2, b=3, c=4)",
       {{LLRT_PLACE_STRIDED_SHARD, 0, 12},
        {LLRT_PLACE_STRIDED_SHARD, 0, 4},
        {LLRT_PLACE_SHARD, 0, 0}},
       "P((c,b,a), None)"},
      {"mesh(a=2, b=3, c=4)",
       {{LLRT_PLACE_STRIDED_SHARD, 0, 4},
        {LLRT_PLACE_STRIDED_SHARD, 0, 4},
        {LLRT_PLACE_SHARD, 0, 0}},
       "P((c,a,b), None)"},
      {"mesh(dp=2, tp=4)", {{LLRT_PLACE_STRIDED_SHARD, 0, 2}, {LLRT_PLACE_SHARD, 0, 0}}, NULL},
      {"mesh(dp=2, tp=4)", {{LLRT_PLACE_STRIDED_SHARD, 0, 4}, {LLRT_PLACE_SHARD, 1, 0}}, NULL},
      {"mesh(dp=2, tp=4)", {{LLRT_PLACE_SHARD, 2, 0}, {LLRT_PLACE_REPLICATE, 0, 0}}, NULL},
      {"mesh(dp=2, tp=4)", {{7, 0, 0}, {LLRT_PLACE_REPLICATE, 0, 0}}, NULL},
  };
  llrt_storage storage;
  cr_assert_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_mesh mesh;
    llrt_sharding made, expected;
    llrt_placement back[3] = {{0}};
    cr_assert_eq(llrt_mesh_parse(rows[i].mesh, &mesh), LLRT_OK);
    llrt_status status = llrt_sharding_from_placements(&mesh, rows[i].placement, &storage, &made);
    if (!rows[i].text) {
      cr_expect_eq(status, LLRT_INVALID_ARGUMENT, "row %zu", i);
      continue;
    }
    cr_assert_eq(status, LLRT_OK, "row %zu: %s", i, llrt_last_error());
    cr_assert_eq(llrt_sharding_parse(rows[i].text, &mesh, 2, NULL, &expected), LLRT_OK);
    cr_expect(llrt_sharding_equal(&made, &expected), "row %zu", i);
    cr_assert_eq(llrt_sharding_to_placements(&made, back), LLRT_OK);
    cr_expect_eq(memcmp(back, rows[i].placement, (size_t)mesh.n_axes * sizeof *back), 0, "row %zu",
                 i);
  }
}

/* What the two calls agree on, for any order of splits: there and back is the same. */
Test(mesh, placements_there_and_back) {
  random_source source = random_start("mesh");
  int none = 0;
  for (int n = 0; n < 500; n++) {
    llrt_sharding s = random_sharding(&source), back;
    llrt_placement placements[LLRT_MAX_MESH_AXES];
    int64_t shape[LLRT_MAX_RANK] = {12, 12, 12};
    llrt_status status = llrt_sharding_to_placements(&s, placements);
    none += status == LLRT_UNSUPPORTED;
    if (status == LLRT_UNSUPPORTED) continue;
    cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(llrt_sharding_from_placements(&s.mesh, placements, &s.storage, &back), LLRT_OK,
                 "%s", llrt_last_error());
    for (int d = 0; d < llrt_mesh_devices(&s.mesh); d++) {
      llrt_part a, b;
      cr_assert_eq(llrt_sharding_part(&s, shape, s.mesh.first + d, &a), LLRT_OK);
      cr_assert_eq(llrt_sharding_part(&back, shape, s.mesh.first + d, &b), LLRT_OK);
      cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
    }
  }
  cr_expect_lt(none, 50);
}
