/* Running a case: memory of every rank, filled and compared place by place. */
#include "tests/reshard/reshard_case.h"
#include "tests/reshard/reshard_graph.h"
#include "tests/storage_walk.h"

#include <math.h>
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
  size_t size;   /* with a guard behind */
  uint8_t *word; /* of each 32-bit word: 1 if a WORD_BITS map acts on it */
} part_memory;

typedef struct run {
  const reshard_case *c;
  const reshard_place *place;
  part_memory source[RESHARD_MAX_RANKS], destination[RESHARD_MAX_RANKS], scale[RESHARD_MAX_RANKS];
  void *sources[RESHARD_MAX_RANKS], *destinations[RESHARD_MAX_RANKS], *scales[RESHARD_MAX_RANKS];
  void *signals[RESHARD_MAX_RANKS];
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

/* Bits of a float type: exponent, fraction. */
static bool float_format(llrt_dtype dtype, int *exponent, int *fraction) {
  static const struct {
    llrt_dtype dtype;
    int exponent, fraction;
  } formats[] = {{LLRT_F64, 11, 52}, {LLRT_F32, 8, 23}, {LLRT_F16, 5, 10}, {LLRT_BF16, 8, 7},
                 {LLRT_E4M3, 4, 3},  {LLRT_E5M2, 5, 2}, {LLRT_E2M1, 2, 1}, {LLRT_E8M0, 8, 0}};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (formats[i].dtype == dtype) {
      *exponent = formats[i].exponent;
      *fraction = formats[i].fraction;
      return true;
    }
  return false;
}

/* The code of a number that the type has exactly, of an integer type rounded to the even one. */
static uint64_t code_of(llrt_dtype dtype, double value) {
  int exponent, fraction, power;
  if (!float_format(dtype, &exponent, &fraction)) return (uint64_t)(int64_t)nearbyint(value);
  if (value == 0) return 0;
  double part = frexp(value, &power); /* 0.5 <= part < 1 */
  int bias = (1 << (exponent - 1)) - 1, biased = power - 1 + bias;
  if (biased < 1) return (uint64_t)ldexp(part, power + bias - 1 + fraction); /* subnormal */
  return (uint64_t)biased << fraction | (uint64_t)ldexp(2 * part - 1, fraction);
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

/* What summand `summand` of the source has at coords, as a number: sums are of small integers; what
 * is scaled alone is exact in all types. */
static double value_of(const reshard_case *c, const int64_t *coords, int64_t summand) {
  bool few = c->scaled && count_summands(&c->source) == 1;
  return (double)(number_of(c, coords) >> 8 * summand & (few ? 3 : 15));
}

static uint64_t given(const reshard_case *c, const int64_t *coords, int64_t summand) {
  if (!has_values(c->from)) return number_of(c, coords);
  return code_of(c->from, value_of(c, coords, summand));
}

/* The scale at coords of the scales: 1/2, 1 or 2. */
static double scale_at(const reshard_case *c, const int64_t *coords) {
  return ldexp(1, (int)(number_of(c, coords) >> 40) % 3 - 1);
}

static double scale_of(const reshard_case *c, const int64_t *coords) {
  int64_t of[LLRT_MAX_RANK] = {0};
  for (int axis = 0; axis < c->source.rank; axis++) {
    int64_t group = c->group[axis] ? c->group[axis] : 1;
    of[axis] = group == LLRT_GROUP_ALL ? 0 : coords[axis] / group;
  }
  return c->scaled ? scale_at(c, of) : 1;
}

/* What summand `summand` of the destination is to have. */
static uint64_t wanted(const reshard_case *c, const int64_t *coords, int64_t summand) {
  double sum = 0;
  if (!has_values(c->from)) return number_of(c, coords) ^ c->flip;
  for (int64_t s = 0; s < count_summands(&c->source); s++) sum += value_of(c, coords, s);
  return code_of(c->to, summand ? 0 : sum * scale_of(c, coords));
}

/* ---- memory ---- */

/* One of a case's tensors. */
typedef enum role { SOURCE, DESTINATION, SCALE } role;

static const llrt_sharding *sharding_of(const reshard_case *c, role of) {
  return of == SOURCE ? &c->source : of == DESTINATION ? &c->destination : &c->scale;
}

static llrt_dtype dtype_of(const reshard_case *c, role of) {
  return of == SOURCE ? c->from : of == DESTINATION ? c->to : c->scale_dtype;
}

static void shape_of(const reshard_case *c, role of, int64_t *shape) {
  if (of == SCALE) reshard_case_scale_shape(c, shape);
  else memcpy(shape, c->shape, sizeof c->shape);
}

static uint64_t code_at(const reshard_case *c, role of, const int64_t *coords, int64_t summand) {
  if (of == SCALE) return code_of(c->scale_dtype, scale_at(c, coords));
  return of == SOURCE ? given(c, coords, summand) : wanted(c, coords, summand);
}

/* Words that hold elements: those are whole words where a re-shard is not refused. */
static void note_word(part_memory *memory, int64_t place, int bits) {
  for (int64_t bit = place * bits; bit < (place + 1) * bits; bit += bits < 32 ? bits : 32)
    memory->word[bit / 32] = 1;
}

static void permute_words(const reshard_case *c, part_memory *memory) {
  for (size_t i = 0; i < memory->size / 4; i++) {
    uint32_t word, permuted = 0;
    if (!memory->word[i]) continue;
    memcpy(&word, memory->bytes + 4 * i, sizeof word);
    for (int bit = 0; bit < 32; bit++) permuted |= (word >> c->perm[bit] & 1) << bit;
    memcpy(memory->bytes + 4 * i, &permuted, sizeof permuted);
  }
}

/* The rank's part as a run has it. */
static llrt_status bind_part(const reshard_case *c, role of, int rank, llrt_part *part,
                             llrt_storage_binding *binding) {
  const llrt_sharding *s = sharding_of(c, of);
  int64_t shape[LLRT_MAX_RANK], strides[LLRT_MAX_RANK] = {0};
  shape_of(c, of, shape);
  for (int axis = 0; axis < s->rank && of != SCALE; axis++)
    strides[axis] = c->brought[of] * c->strides[of][rank][axis];
  llrt_status status = llrt_sharding_part(s, shape, rank, part);
  return status ? status : llrt_storage_bind(&s->storage, s->rank, part->extent, strides, binding);
}

/* Fills bytes, which are poison, as the part that `rank` has. */
static void fill(const reshard_case *c, role of, int rank, part_memory *memory) {
  const llrt_sharding *s = sharding_of(c, of);
  llrt_part part;
  llrt_storage_binding binding;
  int bits = llrt_dtype_bits(dtype_of(c, of));
  storage_walk walk;
  bind_part(c, of, rank, &part, &binding);
  if (binding.span == 0) return;
  storage_walk_begin(&walk, &s->storage, &binding);
  do {
    int64_t coords[LLRT_MAX_RANK];
    bool element = storage_walk_is_element(&walk, part.extent);
    for (int axis = 0; axis < s->rank; axis++) coords[axis] = walk.coords[axis] + part.begin[axis];
    if (element) put(memory->bytes, walk.place, bits, code_at(c, of, coords, part.summand));
    else if (of == DESTINATION && s->storage.pad == LLRT_PAD_VALUE)
      put(memory->bytes, walk.place, bits, s->storage.pad_value);
    if (element && of == DESTINATION && c->permuted) note_word(memory, walk.place, bits);
  } while (storage_walk_next(&walk));
  if (of == DESTINATION && c->permuted) permute_words(c, memory);
}

static bool holds(const llrt_sharding *s, int rank) {
  return rank >= s->mesh.first && rank < s->mesh.first + llrt_mesh_devices(&s->mesh);
}

/* Allocates the rank's part, poisoned. */
static bool make_memory(run *r, role of, int rank, part_memory *memory) {
  const llrt_sharding *s = sharding_of(r->c, of);
  llrt_part part;
  llrt_storage_binding binding;
  int64_t bytes;
  *memory = (part_memory){.data = NULL};
  if (!holds(s, rank)) return true;
  if (bind_part(r->c, of, rank, &part, &binding) != LLRT_OK ||
      llrt_storage_bytes(&binding, llrt_dtype_bits(dtype_of(r->c, of)), &bytes) != LLRT_OK)
    return false;
  memory->size = (size_t)bytes + GUARD;
  memory->bytes = malloc(memory->size);
  memory->word = calloc(memory->size / 4 + 1, 1);
  memset(memory->bytes, POISON, memory->size);
  if (of != DESTINATION) fill(r->c, of, rank, memory);
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
  if (!make_memory(r, SOURCE, rank, &r->source[rank]) ||
      !make_memory(r, DESTINATION, rank, &r->destination[rank]) ||
      (c->scaled && !make_memory(r, SCALE, rank, &r->scale[rank])))
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
                                  .parts = c->parts};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = llrt_comm_create(device, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, r->place->stream, &reshard);
  if (!status && c->saved) status = make_again(r, rank, comm, &desc, &reshard);
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
  fill(r->c, DESTINATION, rank, memory);
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
