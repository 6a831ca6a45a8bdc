/* Running a case: memory of every rank, filled and compared place by place. */
#include "tests/reshard/reshard_case.h"
#include "tests/reshard/reshard_graph.h"
#include "tests/storage_walk.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, POISON = 0xa5 };

/* Memory of one part: on the device, and what it holds as bytes here. */
typedef struct part_memory {
  void *data; /* NULL: the rank has none */
  uint8_t *bytes;
  size_t size; /* with a guard behind */
} part_memory;

typedef struct run {
  const reshard_case *c;
  const reshard_place *place;
  part_memory source[RESHARD_MAX_RANKS], destination[RESHARD_MAX_RANKS];
  void *sources[RESHARD_MAX_RANKS], *destinations[RESHARD_MAX_RANKS], *signals[RESHARD_MAX_RANKS];
  size_t signal_bytes;
  llrt_nccl_id id;
  llrt_status status[RESHARD_MAX_RANKS];
  char said[RESHARD_MAX_RANKS][400];
} run;

/* ---- elements ---- */

static void put(uint8_t *bytes, int64_t place, int bits, uint64_t code) {
  if (bits == 4) {
    int shift = 4 * (int)(place & 1);
    bytes[place / 2] = (uint8_t)((bytes[place / 2] & ~(15 << shift)) | (int)(code & 15) << shift);
    return;
  }
  memcpy(bytes + place * (bits / 8), &code, (size_t)bits / 8); /* little-endian */
}

/* The code of a small integer. */
static uint64_t code_of(llrt_dtype dtype, int64_t value) {
  float narrow = (float)value;
  double wide = (double)value;
  uint32_t word;
  uint64_t code = (uint64_t)value;
  memcpy(&word, &narrow, sizeof word);
  if (dtype == LLRT_F32) return word;
  if (dtype == LLRT_BF16) return word >> 16;
  if (dtype == LLRT_F64) memcpy(&code, &wide, sizeof code);
  return code;
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

static uint64_t number_of(const reshard_case *c, const int64_t *coords) {
  uint64_t number = 1;
  for (int axis = 0; axis < c->source.rank; axis++) number = number * 1000 + (uint64_t)coords[axis];
  return mix(number);
}

static bool has_values(llrt_dtype dtype) {
  return dtype != LLRT_B4 && dtype != LLRT_B8 && dtype != LLRT_B16 && dtype != LLRT_B32 &&
         dtype != LLRT_B64;
}

static int64_t count_summands(const llrt_sharding *s) {
  int64_t n = 1;
  for (int axis = 0; axis < s->mesh.n_axes; axis++)
    if (s->partial >> axis & 1) n *= s->mesh.size[axis];
  return n;
}

/* What summand `summand` of the source has at coords; every sum is of small integers. */
static uint64_t given(const reshard_case *c, const int64_t *coords, int64_t summand) {
  uint64_t number = number_of(c, coords);
  if (!has_values(c->from)) return number;
  return code_of(c->from, (int64_t)(number >> 8 * summand & 15));
}

/* What summand `summand` of the destination is to have. */
static uint64_t wanted(const reshard_case *c, const int64_t *coords, int64_t summand) {
  uint64_t number = number_of(c, coords);
  int64_t sum = 0;
  if (!has_values(c->from)) return number ^ c->flip;
  for (int64_t s = 0; s < count_summands(&c->source); s++) sum += (int64_t)(number >> 8 * s & 15);
  return code_of(c->to, summand ? 0 : sum);
}

/* ---- memory ---- */

/* Fills bytes, which are poison, as the part of `s` that `rank` has. */
static void fill(const reshard_case *c, const llrt_sharding *s, int rank, bool target,
                 part_memory *memory) {
  llrt_part part;
  llrt_storage_binding binding;
  llrt_dtype dtype = target ? c->to : c->from;
  int bits = llrt_dtype_bits(dtype);
  storage_walk walk;
  llrt_sharding_part(s, c->shape, rank, &part);
  llrt_storage_bind(&s->storage, s->rank, part.extent, NULL, &binding);
  if (binding.span == 0) return;
  storage_walk_begin(&walk, &s->storage, &binding);
  do {
    int64_t coords[LLRT_MAX_RANK];
    bool element = storage_walk_is_element(&walk, part.extent);
    for (int axis = 0; axis < s->rank; axis++) coords[axis] = walk.coords[axis] + part.begin[axis];
    if (element)
      put(memory->bytes, walk.place, bits,
          target ? wanted(c, coords, part.summand) : given(c, coords, part.summand));
    else if (target && s->storage.pad == LLRT_PAD_VALUE)
      put(memory->bytes, walk.place, bits, s->storage.pad_value);
  } while (storage_walk_next(&walk));
}

static bool holds(const llrt_sharding *s, int rank) {
  return rank >= s->mesh.first && rank < s->mesh.first + llrt_mesh_devices(&s->mesh);
}

/* Allocates the rank's part, poisoned. */
static bool make_memory(run *r, const llrt_sharding *s, int rank, llrt_dtype dtype,
                        part_memory *memory) {
  llrt_part part;
  llrt_storage_binding binding;
  int64_t bytes;
  *memory = (part_memory){.data = NULL};
  if (!holds(s, rank)) return true;
  if (llrt_sharding_part(s, r->c->shape, rank, &part) != LLRT_OK ||
      llrt_storage_bind(&s->storage, s->rank, part.extent, NULL, &binding) != LLRT_OK ||
      llrt_storage_bytes(&binding, llrt_dtype_bits(dtype), &bytes) != LLRT_OK)
    return false;
  memory->size = (size_t)bytes + GUARD;
  memory->bytes = malloc(memory->size);
  memset(memory->bytes, POISON, memory->size);
  return llrt_memory_allocate(r->place->device[rank], memory->size, &memory->data) == LLRT_OK;
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
  if (!make_memory(r, &c->source, rank, c->from, &r->source[rank]) ||
      !make_memory(r, &c->destination, rank, c->to, &r->destination[rank]))
    return false;
  if (r->source[rank].data) fill(c, &c->source, rank, false, &r->source[rank]);
  r->sources[rank] = r->source[rank].data;
  r->destinations[rank] = r->destination[rank].data;
  return upload(r, rank, &r->source[rank]) && upload(r, rank, &r->destination[rank]) &&
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
    llrt_memory_free(device, r->signals[rank]);
    free(r->source[rank].bytes);
    free(r->destination[rank].bytes);
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
  if (!r->place->nccl)
    return llrt_reshard_run(reshard, r->sources, r->destinations, r->place->stream);
  sources[rank] = r->sources[rank];
  destinations[rank] = r->destinations[rank];
  return llrt_reshard_run(reshard, sources, destinations, r->place->stream);
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
  const llrt_map flip = {.kind = LLRT_MAP_XOR, .constant = c->flip};
  const llrt_reshard_desc desc = {.source = &c->source,
                                  .destination = &c->destination,
                                  .shape = c->shape,
                                  .source_dtype = c->from,
                                  .destination_dtype = c->to,
                                  .maps = &flip,
                                  .n_maps = c->flip != 0,
                                  .parts = c->parts};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = llrt_comm_create(device, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, r->place->stream, &reshard);
  if (!status) status = run_once(r, rank, reshard);
  if (!status) status = run_again(r, rank, reshard);
  if (!status) status = llrt_comm_status(comm, r->place->stream);
  if (!status) status = llrt_stream_synchronize(device, r->place->stream);
  if (status) snprintf(r->said[rank], sizeof r->said[rank], "%s", llrt_last_error());
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
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
  fill(r->c, &r->c->destination, rank, true, memory);
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
  if (place->nccl) made &= llrt_nccl_id_create(place->device[0], place->nccl, &r.id) == LLRT_OK;
  if (made) {
    run_ranks(&r);
    result = judge(&r, message, size);
    for (int rank = 0; rank < c->ranks && result == RESHARD_RIGHT; rank++)
      result = compare(&r, rank, message, size);
  } else {
    snprintf(message, size, "memory: %s", llrt_last_error());
  }
  free_all(&r);
  return result;
}
