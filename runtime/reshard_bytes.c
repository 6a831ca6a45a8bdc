/* The byte form of re-shards: every number is eight bytes, little-endian; texts and operations have
 * their length before them; a checksum over all of it is last. */
#include "runtime/reshard_bytes.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "runtime/reshard.h"
#include "runtime/reshard_parts.h"

#include <stdlib.h>

#define MAGIC "llrtmesh"
#define FORMAT_VERSION 1
#define CHECKSUM_BYTES 16
#define MAX_TEXT (1 << 16) /* of a sharding */

/* ---- writing ---- */

static void put_sharding(llrt_text *out, const llrt_sharding *sharding) {
  size_t length = 0;
  if (!sharding) {
    put(out, 0);
    return;
  }
  llrt_sharding_print(sharding, NULL, 0, &length);
  char *text = memory_new(length + 1);
  if (!text || llrt_sharding_print(sharding, text, length + 1, &length) != LLRT_OK) length = 0;
  put(out, (int64_t)length); /* 0: what reads it refuses it */
  if (text) put_bytes(out, text, length);
  free(text);
}

static void put_indices(llrt_text *out, const llrt_index *indices, int n) {
  put(out, n);
  for (int i = 0; i < n; i++) {
    put(out, indices[i].axis);
    put(out, indices[i].out_of_range);
    put(out, indices[i].dtype);
    put(out, indices[i].axes);
    put(out, indices[i].folded);
    put(out, indices[i].extent);
    for (int axis = 0; axis < LLRT_MAX_RANK; axis++) put(out, indices[i].strides[axis]);
  }
}

/* Of all ranks up to the last one of the mesh, where storages have RUN-TIME digits. */
static void put_strides(llrt_text *out, const llrt_sharding *sharding, const int64_t *strides) {
  int64_t n = (sharding->mesh.first + llrt_mesh_devices(&sharding->mesh)) * LLRT_MAX_RANK;
  for (int64_t i = 0; i < n && reshard_open_axes(&sharding->storage); i++) put(out, strides[i]);
}

void reshard_description_write(llrt_text *out, const llrt_reshard_desc *desc) {
  put(out, desc->source->rank);
  for (int axis = 0; axis < desc->source->rank; axis++) put(out, desc->shape[axis]);
  put(out, desc->source_dtype);
  put(out, desc->destination_dtype);
  put(out, desc->path);
  put(out, desc->parts);
  put(out, desc->access);
  put(out, desc->scale_dtype);
  put(out, desc->n_maps);
  for (int i = 0; i < desc->n_maps; i++) {
    put(out, desc->maps[i].kind);
    put(out, (int64_t)desc->maps[i].constant);
    put_bytes(out, desc->maps[i].perm, sizeof desc->maps[i].perm);
    for (int axis = 0; axis < LLRT_MAX_RANK; axis++) put(out, desc->maps[i].group[axis]);
  }
  put_sharding(out, desc->source);
  put_sharding(out, desc->destination);
  put_sharding(out, desc->scale);
  put_indices(out, desc->source_indices, desc->n_source_indices);
  put_indices(out, desc->destination_indices, desc->n_destination_indices);
  put_strides(out, desc->source, desc->source_strides);
  put_strides(out, desc->destination, desc->destination_strides);
}

static llrt_status put_operation(llrt_text *out, const llrt_op *op) {
  size_t size = 0;
  LLRT_TRY(llrt_op_save(op, NULL, &size));
  char *bytes = memory_new(size);
  if (!bytes) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %zu bytes", size);
  llrt_status status = llrt_op_save(op, bytes, &size);
  if (status == LLRT_OK) {
    put(out, (int64_t)size);
    put_bytes(out, bytes, size);
  }
  free(bytes);
  return status;
}

static llrt_status write_all(const llrt_reshard *reshard, llrt_text *out) {
  put_bytes(out, MAGIC, 8);
  put(out, FORMAT_VERSION);
  put(out, reshard->comm->ranks);
  put(out, reshard->comm->rank);
  put(out, reshard->exchange ? LLRT_RESHARD_NCCL : LLRT_RESHARD_PEERS);
  put_bytes(out, reshard->described.data, reshard->described.length);
  for (int i = 0; i < reshard->n; i++) {
    for (int k = 0; k < reshard->launch[i].refusals; k++) put(out, 0);
    LLRT_TRY(put_operation(out, reshard->launch[i].op));
  }
  llrt_hash sum = llrt_hash_bytes(out->data, out->length);
  put(out, (int64_t)sum.low);
  put(out, (int64_t)sum.high);
  return llrt_text_status(out);
}

llrt_status llrt_reshard_save(const llrt_reshard *reshard, void *buffer, size_t *size) {
  LLRT_ENTRY();
  LLRT_REQUIRE(size, "size is NULL");
  size_t capacity = buffer ? *size : 0;
  *size = 0;
  LLRT_REQUIRE(reshard, "reshard is NULL");
  llrt_text bytes;
  llrt_text_init(&bytes);
  llrt_status status = write_all(reshard, &bytes);
  if (status == LLRT_OK) *size = bytes.length;
  if (status == LLRT_OK && buffer) {
    if (capacity >= bytes.length) memcpy(buffer, bytes.data, bytes.length);
    else
      status = llrt_error(LLRT_INVALID_ARGUMENT, "the buffer has %zu bytes, the re-shard %zu",
                          capacity, bytes.length);
  }
  llrt_text_fini(&bytes);
  return status;
}

/* ---- reading ---- */

static llrt_status get_sharding(reader *in, int rank, llrt_sharding *sharding, bool *is_there) {
  int length = get_within(in, 0, MAX_TEXT);
  *is_there = length > 0;
  if (in->bad || length == 0) return LLRT_OK;
  char *text = memory_new((size_t)length + 1);
  if (!text) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d bytes", length);
  get_bytes(in, text, (size_t)length);
  text[length] = 0;
  in->bad |= strlen(text) != (size_t)length ||
             llrt_sharding_parse(text, NULL, rank, NULL, sharding) != LLRT_OK;
  free(text);
  return LLRT_OK;
}

static void get_map(reader *in, llrt_map *map) {
  *map = (llrt_map){.kind = (llrt_map_kind)get_within(in, LLRT_MAP_XOR, LLRT_MAP_SCALE)};
  map->constant = (uint64_t)get(in);
  get_bytes(in, map->perm, sizeof map->perm);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) map->group[axis] = get(in);
}

static llrt_dtype get_dtype(reader *in, llrt_dtype least) {
  return (llrt_dtype)get_within(in, (int)least, LLRT_DTYPE_COUNT - 1);
}

/* How many; what they say is checked as a caller's. */
static int get_indices(reader *in, llrt_index *indices) {
  int n = get_within(in, 0, LLRT_MAX_INDICES);
  for (int i = 0; i < n; i++) {
    indices[i] = (llrt_index){.axis = get_within(in, 0, LLRT_MAX_RANK - 1)};
    indices[i].out_of_range = get_within(in, LLRT_RANGE_SKIP, LLRT_RANGE_CLAMP);
    indices[i].dtype = get_dtype(in, LLRT_DTYPE_NONE);
    indices[i].axes = (uint32_t)get(in);
    indices[i].folded = (uint32_t)get(in);
    indices[i].extent = get(in);
    for (int axis = 0; axis < LLRT_MAX_RANK; axis++) indices[i].strides[axis] = get(in);
  }
  return n;
}

static llrt_status get_strides(reader *in, const llrt_sharding *sharding, int64_t **strides) {
  int64_t n = (sharding->mesh.first + llrt_mesh_devices(&sharding->mesh)) * LLRT_MAX_RANK;
  if (reshard_open_axes(&sharding->storage) == 0) return LLRT_OK;
  in->bad |= (uint64_t)n > in->left / 8;
  if (in->bad) return LLRT_OK;
  *strides = memory_new((size_t)n * sizeof **strides);
  if (!*strides) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for strides");
  for (int64_t i = 0; i < n; i++) (*strides)[i] = get(in);
  return LLRT_OK;
}

static llrt_status get_description(reader *in, reshard_description *d) {
  bool there[3];
  int rank = get_within(in, 0, LLRT_MAX_RANK);
  llrt_reshard_desc *desc = &d->desc;
  *desc = (llrt_reshard_desc){.size = sizeof *desc, .shape = d->shape, .maps = d->maps};
  for (int axis = 0; axis < rank; axis++) d->shape[axis] = get(in);
  desc->source_dtype = get_dtype(in, LLRT_F64);
  desc->destination_dtype = get_dtype(in, LLRT_F64);
  desc->path = get_within(in, 0, LLRT_RESHARD_NCCL);
  desc->parts = get_within(in, 0, LLRT_RESHARD_MAX_PARTS);
  desc->access = get_within(in, 0, LLRT_RESHARD_READ);
  desc->scale_dtype = get_dtype(in, LLRT_DTYPE_NONE);
  desc->n_maps = get_within(in, 0, LLRT_MAX_MAPS);
  for (int i = 0; i < desc->n_maps; i++) get_map(in, &d->maps[i]);
  LLRT_TRY(get_sharding(in, rank, &d->source, &there[0]));
  LLRT_TRY(get_sharding(in, rank, &d->destination, &there[1]));
  LLRT_TRY(get_sharding(in, rank, &d->scale, &there[2]));
  desc->source = &d->source;
  desc->destination = &d->destination;
  desc->scale = there[2] ? &d->scale : NULL;
  in->bad |= !there[0] || !there[1];
  if (in->bad) return LLRT_OK;
  desc->source_indices = d->index[0];
  desc->destination_indices = d->index[1];
  desc->n_source_indices = get_indices(in, d->index[0]);
  desc->n_destination_indices = get_indices(in, d->index[1]);
  LLRT_TRY(get_strides(in, &d->source, &d->strides[0]));
  LLRT_TRY(get_strides(in, &d->destination, &d->strides[1]));
  desc->source_strides = d->strides[0];
  desc->destination_strides = d->strides[1];
  return LLRT_OK;
}

void reshard_description_fini(reshard_description *description) {
  for (int side = 0; side < 2; side++) free(description->strides[side]);
}

llrt_status reshard_bytes_read(const void *buffer, size_t size, reshard_head *head,
                               reshard_description *description, reshard_saved *saved) {
  char magic[8];
  if (size < 16 + CHECKSUM_BYTES || memcmp(buffer, MAGIC, sizeof magic) != 0)
    return llrt_error(LLRT_CORRUPT, "the bytes are no saved re-shard");
  reader all = {.data = buffer, .left = size - CHECKSUM_BYTES};
  reader last = {.data = all.data + all.left, .left = CHECKSUM_BYTES};
  llrt_hash sum = llrt_hash_bytes(buffer, all.left);
  if ((uint64_t)get(&last) != sum.low || (uint64_t)get(&last) != sum.high)
    return llrt_error(LLRT_CORRUPT, "the saved re-shard is damaged: its checksum is wrong");
  get_bytes(&all, magic, sizeof magic);
  int64_t format = get(&all);
  if (format != FORMAT_VERSION)
    return llrt_error(LLRT_CORRUPT, "the saved re-shard has format %lld, this llrt reads %d",
                      (long long)format, FORMAT_VERSION);
  head->ranks = get_within(&all, 1, LLRT_MAX_RANKS);
  head->rank = get_within(&all, 0, head->ranks - 1);
  head->path = get_within(&all, LLRT_RESHARD_PEERS, LLRT_RESHARD_NCCL);
  LLRT_TRY(get_description(&all, description));
  if (all.bad) return llrt_error(LLRT_CORRUPT, "the saved re-shard contradicts itself");
  saved->in = all;
  return LLRT_OK;
}

llrt_status reshard_saved_next(reshard_saved *saved, llrt_device *device, llrt_op **op) {
  const reader before = saved->in;
  int64_t size = get(&saved->in);
  *op = NULL;
  if (saved->in.bad || size < 0 || (uint64_t)size > saved->in.left)
    return llrt_error(LLRT_CORRUPT, "the saved re-shard has too few operations");
  if (size == 0) return llrt_error(LLRT_UNSUPPORTED, "it was refused when it was prepared");
  llrt_status status = llrt_op_load(device, saved->in.data, (size_t)size, op);
  saved->in.data += size;
  saved->in.left -= (size_t)size;
  if (status == LLRT_UNSUPPORTED) saved->in = before;
  return status;
}
