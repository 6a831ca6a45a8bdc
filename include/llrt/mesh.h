/* Tensors over several devices: meshes, and shardings by which a tensor lies over them.
 *
 * A mesh numbers devices by named axes, the last axis fastest: device = first + position. A
 * sharding says which axes of a tensor the mesh's axes split, and how each device stores its part:
 *
 *   mesh(dp=2, tp=4): P(dp, None, tp) o row_major
 *
 * Splits act one after the other, each on what those before it left: n positions split by an axis
 * of s devices are parts of ceil(n / s), the last ones smaller or empty, as torch.chunk has them.
 * So every device holds a box of coordinates. Along mesh axes that split nothing, devices hold
 * copies; along *partial* axes each holds a summand of every element.
 *
 * The general rules of layout.h hold here too: plain values, pure functions, nothing allocates. */
#ifndef LLRT_MESH_H
#define LLRT_MESH_H

#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_MESH_AXES 6
#define LLRT_MAX_MESH_DEVICES (1 << 20)

typedef struct llrt_mesh {
  int32_t n_axes; /* 1..LLRT_MAX_MESH_AXES, major first */
  int32_t first;  /* the device at position 0, >= 0; the others follow it */
  char name[LLRT_MAX_MESH_AXES][LLRT_NAME_BYTES]; /* distinct, zero-filled; none is `partial`, None
                                                     or m */
  int64_t size[LLRT_MAX_MESH_AXES];               /* devices along each axis, >= 1; at most
                                                     LLRT_MAX_MESH_DEVICES in all */
  int64_t reserved[2];                            /* 0 */
} llrt_mesh;

/* One split: axis `axis` of the tensor over axis `mesh_axis` of the mesh. */
typedef struct llrt_split {
  int32_t mesh_axis, axis;
} llrt_split;

typedef struct llrt_sharding {
  llrt_mesh mesh;
  int32_t rank;                         /* logical axes of the tensor, 0..LLRT_MAX_RANK */
  int32_t n_splits;                     /* 0..mesh.n_axes; a mesh axis splits one axis at most */
  llrt_split split[LLRT_MAX_MESH_AXES]; /* in the order in which they act: P((dp,tp)) is dp, tp */
  uint64_t partial;                     /* bit m: along mesh axis m devices hold summands */
  llrt_storage storage;                 /* of each part, bound to the part's own extents */
  int64_t reserved[4];                  /* 0 */
} llrt_sharding;

/* What one device holds. */
typedef struct llrt_part {
  int64_t begin[LLRT_MAX_RANK];  /* the part's first coordinate along each axis; of an empty part
                                    the end of what was split */
  int64_t extent[LLRT_MAX_RANK]; /* positions, >= 0: the local shape */
  int64_t copy;    /* which of the copies, counted over mesh axes that neither split nor are
                      partial, the last fastest */
  int64_t summand; /* which of the summands, counted over the partial axes likewise */
} llrt_part;

/* ---- meshes ---- */

/* Checks counts, names, sizes. */
LLRT_API llrt_status llrt_mesh_validate(const llrt_mesh *mesh);

/* The number of devices; 0 of NULL and of what llrt_mesh_validate refuses. */
LLRT_API int64_t llrt_mesh_devices(const llrt_mesh *mesh);

/* position[n_axes] of a device, and the device at a position. Errors: INVALID_ARGUMENT for a device
 * that is not of the mesh, a position outside. */
LLRT_API llrt_status llrt_mesh_position(const llrt_mesh *mesh, int64_t device, int64_t *position);
LLRT_API llrt_status llrt_mesh_device(const llrt_mesh *mesh, const int64_t *position,
                                      int64_t *device);

/* "mesh(dp=2, tp=4)", "mesh(tp=4) + 8": of devices 8 to 11. Errors and buffers as for layouts. */
LLRT_API llrt_status llrt_mesh_parse(const char *text, llrt_mesh *out);
LLRT_API llrt_status llrt_mesh_print(const llrt_mesh *mesh, char *buffer, size_t size,
                                     size_t *length);

/* ---- shardings ---- */

/* Checks the mesh, the splits and the storage; the storage's rank is the sharding's. */
LLRT_API llrt_status llrt_sharding_validate(const llrt_sharding *sharding);

/* What `device` holds of a tensor of shape[rank] (positions, >= 0). Its local tensor has the part's
 * extents and sharding->storage, in memory of its own. Errors: INVALID_ARGUMENT, also for a device
 * that is not of the mesh. */
LLRT_API llrt_status llrt_sharding_part(const llrt_sharding *sharding, const int64_t *shape,
                                        int64_t device, llrt_part *part);

/* How many devices hold each element, as copies or summands: 1 where all mesh axes split. 0 of NULL
 * and of what llrt_sharding_validate refuses. */
LLRT_API int64_t llrt_sharding_holders(const llrt_sharding *sharding);

/* *device = holder number `holder` (0 <= holder < llrt_sharding_holders, by rising device) of the
 * element at coords[rank], and local[rank] its coordinates in that device's part. Errors:
 * INVALID_ARGUMENT for coordinates outside shape, or a holder that is not there. */
LLRT_API llrt_status llrt_sharding_find(const llrt_sharding *sharding, const int64_t *shape,
                                        const int64_t *coords, int64_t holder, int64_t *device,
                                        int64_t *local);

/* The sharding as one storage of the whole tensor: the local one with its extents as numbers, then
 * a digit on a target named as the mesh axis for each split (`dim0: 2 @ 1 on dp`), and a replica
 * for each axis that splits nothing. It fixes the shape. Errors: UNSUPPORTED where parts differ in
 * size, have pads, or are summands, or the limits of a storage are passed: then no one storage says
 * it. */
LLRT_API llrt_status llrt_sharding_storage(const llrt_sharding *sharding, const int64_t *shape,
                                           llrt_storage *out);

/* The same mesh, the same splits of each axis in the same order, the same partial axes, and equal
 * storages. False for NULL and for what llrt_sharding_validate refuses. */
LLRT_API bool llrt_sharding_equal(const llrt_sharding *a, const llrt_sharding *b);

/* A 128-bit hash of what llrt_sharding_equal compares (XXH3); stable between processes and
 * machines. Zero where llrt_sharding_equal would be false. */
LLRT_API llrt_hash llrt_sharding_hash(const llrt_sharding *sharding);

/* Parses docs/mesh.md's notation. mesh is what a text without one is over, else NULL. rank and
 * shape are the whole tensor's, as in llrt_layout_parse: rank 0 is that of P(…), which else is
 * filled up with None; families in the storage are applied to the first device's part of shape. */
LLRT_API llrt_status llrt_sharding_parse(const char *text, const llrt_mesh *mesh, int rank,
                                         const int64_t *shape, llrt_sharding *out);

/* As llrt_layout_print, with the mesh; parses back to an equal sharding. */
LLRT_API llrt_status llrt_sharding_print(const llrt_sharding *sharding, char *buffer, size_t size,
                                         size_t *length);

/* ---- DTensor's placements ---- */

typedef enum llrt_placement_kind {
  LLRT_PLACE_REPLICATE = 0,    /* Replicate() */
  LLRT_PLACE_SHARD = 1,        /* Shard(axis) */
  LLRT_PLACE_PARTIAL = 2,      /* Partial("sum") */
  LLRT_PLACE_STRIDED_SHARD = 3 /* _StridedShard(axis, split_factor=): splits what mesh axes to the
                                  right have split before it */
} llrt_placement_kind;

typedef struct llrt_placement {
  int32_t kind;         /* llrt_placement_kind */
  int32_t axis;         /* of SHARD and STRIDED_SHARD: 0 <= axis < rank; else 0 */
  int64_t split_factor; /* of STRIDED_SHARD: the product of the sizes of the mesh axes to its right
                           that split the axis before it; else 0 */
} llrt_placement;

/* The sharding of placements[mesh->n_axes]. Parts are those of DTensor, uneven ones included, where
 * a _StridedShard stands for an order of splits, as fully_shard over tensor parallel makes them.
 * Errors: INVALID_ARGUMENT, also for a split factor that no order of splits has. */
LLRT_API llrt_status llrt_sharding_from_placements(const llrt_mesh *mesh,
                                                   const llrt_placement *placements,
                                                   const llrt_storage *storage, llrt_sharding *out);

/* The placements of a sharding, placements[mesh.n_axes]. Errors: UNSUPPORTED where DTensor has none
 * for the order of its splits. */
LLRT_API llrt_status llrt_sharding_to_placements(const llrt_sharding *sharding,
                                                 llrt_placement *placements);

#ifdef __cplusplus
}
#endif
#endif
