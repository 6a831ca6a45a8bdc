/* Running a case: memory of every rank, filled and compared place by place. */
#include "tests/reshard/reshard_case.h"
#include "tests/reshard/reshard_graph.h"
#include "tests/reshard/reshard_reference.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, POISON = 0xa5 };

typedef struct run {
  const reshard_case *c;
  const reshard_place *place;
  part_memory source[RESHARD_MAX_RANKS], destination[RESHARD_MAX_RANKS], scale[RESHARD_MAX_RANKS];
  void *sources[RESHARD_MAX_RANKS], *destinations[RESHARD_MAX_RANKS], *scales[RESHARD_MAX_RANKS];
  void *signals[RESHARD_MAX_RANKS];
  void *table[2][RESHARD_MAX_RANKS]; /* of source and destination: values of their indices */
  size_t signal_bytes;
  llrt_nccl_id id;
  llrt_status status[RESHARD_MAX_RANKS];
  char said[RESHARD_MAX_RANKS][400];
} run;

/* ---- memory ---- */

static bool holds(const llrt_sharding *s, int rank) {
  return rank >= s->mesh.first && rank < s->mesh.first + llrt_mesh_devices(&s->mesh);
}

/* Allocates the rank's part, poisoned. */
static bool make_memory(run *r, reshard_role of, int rank, part_memory *memory) {
  const llrt_sharding *s = reshard_sharding_of(r->c, of);
  llrt_part part;
  llrt_storage_binding binding;
  int64_t bytes;
  *memory = (part_memory){.data = NULL};
  if (!holds(s, rank)) return true;
  if (reshard_bind_part(r->c, of, rank, &part, &binding) != LLRT_OK ||
      llrt_storage_bytes(&binding, llrt_dtype_bits(reshard_dtype_of(r->c, of)), &bytes) != LLRT_OK)
    return false;
  memory->size = (size_t)bytes + GUARD;
  memory->bytes = malloc(memory->size);
  memory->word = calloc(memory->size / 4 + 1, 1);
  memset(memory->bytes, POISON, memory->size);
  if (of != ROLE_DESTINATION) reshard_fill_part(r->c, of, rank, memory);
  return llrt_memory_allocate(r->place->device[rank], memory->size, &memory->data) == LLRT_OK;
}

/* The values of a side's index, rows of the axis across it. */
static bool make_table(run *r, int side, int rank) {
  const reshard_case *c = r->c;
  const llrt_sharding *s = side ? &c->destination : &c->source;
  llrt_device *device = r->place->device[rank];
  int axis = c->indexed[side], across = c->across[side];
  llrt_part part;
  if (axis < 0 || !holds(s, rank)) return true;
  if (llrt_sharding_part(s, c->shape, rank, &part) != LLRT_OK) return false;
  int64_t rows = across < 0 ? 1 : part.extent[across], local[LLRT_MAX_RANK] = {0};
  size_t bytes = (size_t)(c->shape[axis] * rows + 4) * sizeof(int32_t);
  int32_t *values = calloc(1, bytes);
  for (int64_t y = 0; y < rows; y++)
    for (int64_t x = 0; x < part.extent[axis]; x++) {
      local[axis] = x;
      if (across >= 0) local[across] = y;
      values[y * c->shape[axis] + x] = (int32_t)reshard_case_value(c, side, rank, &part, local);
    }
  bool made = llrt_memory_allocate(device, bytes, &r->table[side][rank]) == LLRT_OK &&
              llrt_memory_copy(device, r->table[side][rank], values, bytes, LLRT_COPY_TO_DEVICE,
                               r->place->stream) == LLRT_OK &&
              llrt_stream_synchronize(device, r->place->stream) == LLRT_OK;
  free(values);
  return made;
}

static llrt_index index_of(const reshard_case *c, int side) {
  int axis = c->indexed[side], across = c->across[side];
  if (axis < 0) return (llrt_index){.axis = 0};
  llrt_index index = {.axis = axis,
                      .out_of_range = side ? LLRT_RANGE_SKIP : LLRT_RANGE_ZERO,
                      .dtype = LLRT_I32,
                      .axes = 1u << axis,
                      .extent = c->pool[side]};
  index.strides[axis] = 1;
  if (across < 0) return index;
  index.axes |= 1u << across;
  index.strides[across] = c->shape[axis];
  return index;
}

static bool upload(run *r, int rank, const part_memory *memory) {
  llrt_device *device = r->place->device[rank];
  return !memory->data || (llrt_memory_copy(device, memory->data, memory->bytes, memory->size,
                                            LLRT_COPY_TO_DEVICE, r->place->stream) == LLRT_OK &&
                           llrt_stream_synchronize(device, r->place->stream) == LLRT_OK);
}

static bool make_rank(run *r, int rank) {
  const reshard_case *c = r->c;
  llrt_device *device = r->place->device[rank];
  if (!make_memory(r, ROLE_SOURCE, rank, &r->source[rank]) ||
      !make_memory(r, ROLE_DESTINATION, rank, &r->destination[rank]) ||
      (c->scaled && !make_memory(r, ROLE_SCALE, rank, &r->scale[rank])) ||
      !make_table(r, 0, rank) || !make_table(r, 1, rank))
    return false;
  r->scales[rank] = r->scale[rank].data;
  r->sources[rank] = r->source[rank].data;
  r->destinations[rank] = r->destination[rank].data;
  return upload(r, rank, &r->source[rank]) && upload(r, rank, &r->destination[rank]) &&
         upload(r, rank, &r->scale[rank]) &&
         llrt_memory_allocate(device, r->signal_bytes, &r->signals[rank]) == LLRT_OK &&
         llrt_memory_set(device, r->signals[rank], 0, r->signal_bytes, r->place->stream) ==
             LLRT_OK &&
         llrt_stream_synchronize(device, r->place->stream) == LLRT_OK;
}

static void free_all(run *r) {
  for (int rank = 0; rank < r->c->ranks; rank++) {
    llrt_device *device = r->place->device[rank];
    llrt_memory_free(device, r->source[rank].data);
    llrt_memory_free(device, r->destination[rank].data);
    llrt_memory_free(device, r->scale[rank].data);
    llrt_memory_free(device, r->signals[rank]);
    llrt_memory_free(device, r->table[0][rank]);
    llrt_memory_free(device, r->table[1][rank]);
    free(r->scale[rank].bytes);
    free(r->source[rank].bytes);
    free(r->destination[rank].bytes);
    free(r->source[rank].word);
    free(r->destination[rank].word);
    free(r->scale[rank].word);
  }
}

/* ---- ranks ---- */

typedef struct rank_thread {
  run *r;
  int rank;
} rank_thread;

/* With addresses of all ranks, or by NCCL of the own parts alone. */
static llrt_status run_once(run *r, int rank, const llrt_reshard *reshard) {
  void *sources[RESHARD_MAX_RANKS] = {NULL}, *destinations[RESHARD_MAX_RANKS] = {NULL};
  void *scales[RESHARD_MAX_RANKS] = {NULL};
  llrt_reshard_run_params params = {.size = sizeof params,
                                    .sources = r->sources,
                                    .destinations = r->destinations,
                                    .scales = r->c->scaled ? r->scales : NULL};
  int64_t strides[2][RESHARD_MAX_RANKS * LLRT_MAX_RANK];
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < RESHARD_MAX_RANKS * LLRT_MAX_RANK; i++)
      strides[side][i] = r->c->brought[side] * (&r->c->strides[side][0][0])[i];
  const void *tables[2][RESHARD_MAX_RANKS];
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < RESHARD_MAX_RANKS; i++)
      tables[side][i] = !r->place->nccl || i == rank ? r->table[side][i] : NULL;
  params.source_tables = r->c->indexed[0] < 0 ? NULL : tables[0];
  params.destination_tables = r->c->indexed[1] < 0 ? NULL : tables[1];
  if (r->c->brought[0] != 1) params.source_strides = strides[0];
  if (r->c->brought[1] != 1) params.destination_strides = strides[1];
  if (r->place->nccl) {
    sources[rank] = r->sources[rank];
    destinations[rank] = r->destinations[rank];
    scales[rank] = r->scales[rank];
    params.sources = sources;
    params.destinations = destinations;
    params.scales = r->c->scaled ? scales : NULL;
  }
  return llrt_reshard_run_with(reshard, &params, r->place->stream);
}

/* The second run: at once, or as a graph. */
static llrt_status run_again(run *r, int rank, const llrt_reshard *reshard) {
  const reshard_place *place = r->place;
  bool captured = place->captured;
  if (captured && !reshard_graph_begin(place->ordinal[rank], place->stream)) return LLRT_INTERNAL;
  llrt_status status = run_once(r, rank, reshard);
  if (captured && !reshard_graph_replay(place->stream, 2)) return LLRT_INTERNAL;
  return status;
}

static int make_maps(const reshard_case *c, llrt_map *maps) {
  int n = 0;
  if (c->flip) maps[n++] = (llrt_map){.kind = LLRT_MAP_XOR, .constant = c->flip};
  if (c->scaled) maps[n++] = (llrt_map){.kind = LLRT_MAP_SCALE};
  if (c->scaled) memcpy(maps[n - 1].group, c->group, sizeof c->group);
  if (c->permuted) maps[n++] = (llrt_map){.kind = LLRT_MAP_WORD_BITS};
  if (c->permuted) memcpy(maps[n - 1].perm, c->perm, sizeof c->perm);
  return n;
}

/* The rank's re-shard again: of its bytes, where the case says so, in the place of the one that was
 * prepared. Collective. */
static llrt_status make_again(const run *r, int rank, llrt_comm *comm,
                              const llrt_reshard_desc *desc, llrt_reshard **reshard) {
  size_t size = 0;
  llrt_status status = llrt_reshard_save(*reshard, NULL, &size);
  char *bytes = malloc(size + 1);
  if (!status) status = llrt_reshard_save(*reshard, bytes, &size);
  llrt_reshard_destroy(reshard);
  if (!status && r->c->saved >> rank & 1)
    status = llrt_reshard_load(comm, bytes, size, r->place->stream, reshard);
  else if (!status) status = llrt_reshard_prepare(comm, desc, r->place->stream, reshard);
  free(bytes);
  return status;
}

/* Where the communicator of cases of so many ranks is kept; NULL: nowhere. */
static llrt_comm **kept_comm(const reshard_place *place, int ranks, int rank) {
  return place->nccl && place->kept ? &place->kept[ranks][rank] : NULL;
}

static llrt_status open_comm(const run *r, const llrt_comm_params *params, llrt_comm **comm) {
  llrt_comm **kept = kept_comm(r->place, params->ranks, params->rank);
  if (!kept) return llrt_comm_create(r->place->device[params->rank], params, comm);
  llrt_status status =
      *kept ? LLRT_OK : llrt_comm_create(r->place->device[params->rank], params, kept);
  *comm = *kept;
  return status;
}

static void close_comm(const run *r, int rank, llrt_comm **comm) {
  if (!kept_comm(r->place, r->c->ranks, rank)) llrt_comm_destroy(comm);
}

static void *destroy_main(void *comm) {
  llrt_comm_destroy(comm);
  return NULL;
}

void reshard_close_kept(const reshard_place *place, int ranks) {
  pthread_t thread[RESHARD_MAX_RANKS];
  for (int rank = 0; rank < ranks; rank++)
    if (pthread_create(&thread[rank], NULL, destroy_main, kept_comm(place, ranks, rank)) != 0)
      abort();
  for (int rank = 0; rank < ranks; rank++) pthread_join(thread[rank], NULL);
}

static llrt_status run_rank(run *r, int rank) {
  const reshard_case *c = r->c;
  llrt_device *device = r->place->device[rank];
  const char *nccl = r->place->nccl;
  const llrt_comm_params params = {.size = sizeof params,
                                   .rank = rank,
                                   .ranks = c->ranks,
                                   .signals = nccl ? NULL : r->signals,
                                   .timeout_ms = r->place->timeout_ms,
                                   .nccl_id = nccl ? &r->id : NULL,
                                   .nccl_library = nccl};
  llrt_map maps[2];
  const llrt_index index[2] = {index_of(c, 0), index_of(c, 1)};
  const llrt_reshard_desc desc = {.size = sizeof desc,
                                  .source = &c->source,
                                  .destination = &c->destination,
                                  .shape = c->shape,
                                  .source_dtype = c->from,
                                  .destination_dtype = c->to,
                                  .maps = maps,
                                  .n_maps = make_maps(c, maps),
                                  .scale = c->scaled ? &c->scale : NULL,
                                  .scale_dtype = c->scale_dtype,
                                  .access = c->access,
                                  .source_strides = c->strides[0][0],
                                  .destination_strides = c->strides[1][0],
                                  .source_indices = &index[0],
                                  .destination_indices = &index[1],
                                  .n_source_indices = c->indexed[0] >= 0,
                                  .n_destination_indices = c->indexed[1] >= 0,
                                  .parts = c->parts};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = open_comm(r, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, r->place->stream, &reshard);
  if (!status && c->saved) status = make_again(r, rank, comm, &desc, &reshard);
  if (!status) status = run_once(r, rank, reshard);
  if (!status) status = run_again(r, rank, reshard);
  if (!status) status = llrt_comm_status(comm, r->place->stream);
  if (!status) status = llrt_stream_synchronize(device, r->place->stream);
  if (status) snprintf(r->said[rank], sizeof r->said[rank], "%s", llrt_last_error());
  llrt_reshard_destroy(&reshard);
  close_comm(r, rank, &comm);
  return status;
}

static void *thread_main(void *data) {
  rank_thread *thread = data;
  thread->r->status[thread->rank] = run_rank(thread->r, thread->rank);
  return NULL;
}

static void run_ranks(run *r) {
  pthread_t thread[RESHARD_MAX_RANKS];
  rank_thread data[RESHARD_MAX_RANKS];
  for (int rank = 0; rank < r->c->ranks; rank++) {
    data[rank] = (rank_thread){r, rank};
    if (pthread_create(&thread[rank], NULL, thread_main, &data[rank]) != 0) abort();
  }
  for (int rank = 0; rank < r->c->ranks; rank++) pthread_join(thread[rank], NULL);
}

/* Some rank cannot do it: then it says why, and the others that it refused. */
static reshard_result judge(const run *r, char *message, size_t size) {
  reshard_result result = RESHARD_RIGHT;
  for (int rank = 0; rank < r->c->ranks; rank++) {
    if (r->status[rank] == LLRT_OK) continue;
    if (result == RESHARD_RIGHT || r->status[rank] == LLRT_UNSUPPORTED)
      snprintf(message, size, "rank %d: %s", rank, r->said[rank]);
    if (r->status[rank] == LLRT_UNSUPPORTED) result = RESHARD_REFUSED;
    else if (result == RESHARD_RIGHT) result = RESHARD_WRONG;
  }
  for (int rank = 0; rank < r->c->ranks && result == RESHARD_REFUSED; rank++) {
    if (r->status[rank] == LLRT_UNSUPPORTED || r->status[rank] == LLRT_INVALID_ARGUMENT) continue;
    snprintf(message, size, "one rank refused, and rank %d says: %s", rank, r->said[rank]);
    return RESHARD_WRONG;
  }
  return result;
}

static reshard_result compare(run *r, int rank, char *message, size_t size) {
  part_memory *memory = &r->destination[rank];
  llrt_device *device = r->place->device[rank];
  if (!memory->data) return RESHARD_RIGHT;
  uint8_t *found = malloc(memory->size);
  reshard_fill_part(r->c, ROLE_DESTINATION, rank, memory);
  bool read = llrt_memory_copy(device, found, memory->data, memory->size, LLRT_COPY_FROM_DEVICE,
                               r->place->stream) == LLRT_OK &&
              llrt_stream_synchronize(device, r->place->stream) == LLRT_OK;
  size_t at = 0;
  while (read && at < memory->size && found[at] == memory->bytes[at]) at++;
  bool right = read && at == memory->size;
  if (!read) snprintf(message, size, "rank %d: %s", rank, llrt_last_error());
  else if (!right)
    snprintf(message, size, "rank %d: byte %zu of %zu is %02x, not %02x", rank, at,
             memory->size - GUARD, found[at], memory->bytes[at]);
  free(found);
  return right ? RESHARD_RIGHT : RESHARD_WRONG;
}

reshard_result reshard_case_run(const reshard_case *c, const reshard_place *place, char *message,
                                size_t size) {
  run r = {.c = c, .place = place};
  reshard_result result = RESHARD_REFUSED;
  bool made = true;
  llrt_comm_signal_bytes(c->ranks, &r.signal_bytes);
  for (int rank = 0; rank < c->ranks; rank++) made &= make_rank(&r, rank);
  llrt_comm **kept = kept_comm(place, c->ranks, 0);
  if (place->nccl && !(kept && *kept))
    made &= llrt_nccl_id_create(place->device[0], place->nccl, &r.id) == LLRT_OK;
  if (made) {
    run_ranks(&r);
    result = judge(&r, message, size);
    for (int rank = 0; rank < c->ranks && result == RESHARD_RIGHT; rank++)
      result = compare(&r, rank, message, size);
  } else {
    snprintf(message, size, "memory: %s", llrt_last_error());
  }
  if (result == RESHARD_WRONG && kept) reshard_close_kept(place, c->ranks);
  free_all(&r);
  return result;
}
