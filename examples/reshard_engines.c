/* What engines move between devices, each as one re-shard: a thread stands for each rank, and every
 * element of every part is compared with what its coordinates say.
 *
 *   - keys of a cache, from four ranks that prefill (heads split by four, blocks of 16 tokens in
 *     HND order, bf16) to two that decode (heads split by two, blocks of 32 in NHD order, e4m3)
 *   - the same keys staged for a transport that moves bytes alone (RDMA): each prefilling rank has
 *     its heads in one piece, in the blocks and the type of those that decode, and nothing crosses
 *   - a trainer's weights, rows split over four ranks (FSDP), to an engine's two, columns split
 *     (tensor parallel), in the order in which its kernels read them
 *   - Ulysses: attention's input, split along the sequence, to heads, and back
 *
 *     reshard_engines [--device NAME[,NAME...]]
 *
 * On the host all ranks are on one device; of GPUs (cuda:0,cuda:1,…) there is one for each of six
 * ranks, which reach each other. */
#include <llrt/llrt.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, SIGNAL_BYTES = 4096, TIMEOUT_MS = 60000 };

typedef struct job {
  const char *name, *source, *destination;
  int rank;
  int64_t shape[4];
  llrt_dtype from, to;
} job;

#define PREFILL "storage(rank=3, digits=[dim2:rest, dim0:16, dim1:rest, dim0:rest])"
#define DECODE "storage(rank=3, digits=[dim2:rest, dim1:rest, dim0:32, dim0:rest])"

static const job jobs[] = {
    {"keys from tensor parallel 4 to 2",
     "mesh(tp=4): P(None, tp) o " PREFILL,
     "mesh(tp=2) + 4: P(None, tp) o " DECODE,
     3,
     {192, 8, 64},
     LLRT_BF16,
     LLRT_E4M3},
    {"keys staged where they are, in one piece for a rank that decodes",
     "mesh(tp=4): P(None, tp) o " PREFILL,
     "mesh(tp=4): P(None, tp) o " DECODE,
     3,
     {192, 8, 64},
     LLRT_BF16,
     LLRT_E4M3},
    {"weights from FSDP to tensor parallel, in the engine's order",
     "mesh(fsdp=4): P(fsdp) o row_major",
     "mesh(tp=2) + 4: P(None, tp) o aiter_16x16(element_bits=16)",
     2,
     {128, 256},
     LLRT_BF16,
     LLRT_BF16},
    {"Ulysses, sequence to heads",
     "mesh(cp=6): P(None, cp)",
     "mesh(cp=6): P(None, None, cp)",
     4,
     {2, 48, 12, 32},
     LLRT_BF16,
     LLRT_BF16},
    {"Ulysses, heads to sequence",
     "mesh(cp=6): P(None, None, cp)",
     "mesh(cp=6): P(None, cp)",
     4,
     {2, 48, 12, 32},
     LLRT_BF16,
     LLRT_BF16},
};

/* One job, shared by its ranks. */
typedef struct world {
  const job *job;
  llrt_sharding source, destination;
  llrt_device *device[RANKS];
  void *stream;
  void *signals[RANKS], *sources[RANKS], *destinations[RANKS];
  size_t source_bytes[RANKS], destination_bytes[RANKS];
} world;

typedef struct member {
  world *of;
  int rank;
} member;

/* An example may end at the first error; a library would pass it on. */
static void must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "reshard_engines: %s: %s\n", what, llrt_last_error());
  exit(1);
}

/* ---- elements: small integers, which every type holds ---- */

static unsigned code_at(const job *j, llrt_dtype dtype, const int64_t *coords) {
  static const uint16_t bf16[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
  static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e};
  uint64_t number = 0;
  for (int axis = 0; axis < j->rank; axis++)
    number = number * (uint64_t)j->shape[axis] + (uint64_t)coords[axis];
  int value = (int)(number * 0x9e3779b97f4a7c15ull >> 61);
  return dtype == LLRT_BF16 ? bf16[value] : e4m3[value];
}

static bool holds(const llrt_sharding *s, int rank) {
  return rank >= s->mesh.first && rank < s->mesh.first + llrt_mesh_devices(&s->mesh);
}

static size_t bytes_of(const job *j, const llrt_sharding *s, llrt_dtype dtype, int rank,
                       llrt_part *part, llrt_storage_binding *binding) {
  int64_t bytes;
  must(llrt_sharding_part(s, j->shape, rank, part), "part");
  must(llrt_storage_bind(&s->storage, s->rank, part->extent, NULL, binding), "storage");
  must(llrt_storage_bytes(binding, llrt_dtype_bits(dtype), &bytes), "storage");
  return (size_t)bytes;
}

/* Writes the elements of a rank's part, or counts those that are wrong. */
static int64_t visit(const job *j, const llrt_sharding *s, llrt_dtype dtype, int rank,
                     uint8_t *bytes, bool compare) {
  llrt_part part;
  llrt_storage_binding binding;
  int64_t elements = 1, wrong = 0;
  int width = llrt_dtype_bits(dtype) / 8;
  bytes_of(j, s, dtype, rank, &part, &binding);
  for (int axis = 0; axis < s->rank; axis++) elements *= part.extent[axis];
  for (int64_t i = 0; i < elements; i++) {
    int64_t local[LLRT_MAX_RANK], coords[LLRT_MAX_RANK], rest = i;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
      local[axis] = rest % part.extent[axis];
      coords[axis] = part.begin[axis] + local[axis];
      rest /= part.extent[axis];
    }
    unsigned code = code_at(j, dtype, coords);
    uint8_t *at = bytes + llrt_storage_offset(&s->storage, &binding, local) * width;
    if (compare) wrong += memcmp(at, &code, (size_t)width) != 0; /* little-endian */
    else memcpy(at, &code, (size_t)width);
  }
  return wrong;
}

/* ---- ranks ---- */

static void *run_member(void *data) {
  const member *m = data;
  world *w = m->of;
  llrt_comm *comm;
  llrt_reshard *reshard;
  const llrt_comm_params params = {.size = sizeof params,
                                   .rank = m->rank,
                                   .ranks = RANKS,
                                   .signals = w->signals,
                                   .timeout_ms = TIMEOUT_MS};
  const llrt_reshard_desc desc = {.size = sizeof desc,
                                  .source = &w->source,
                                  .destination = &w->destination,
                                  .shape = w->job->shape,
                                  .source_dtype = w->job->from,
                                  .destination_dtype = w->job->to};
  must(llrt_comm_create(w->device[m->rank], &params, &comm), "communicator");
  must(llrt_reshard_prepare(comm, &desc, w->stream, &reshard), w->job->name);
  must(llrt_reshard_run(reshard, w->sources, w->destinations, w->stream), w->job->name);
  must(llrt_comm_status(comm, w->stream), w->job->name);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return NULL;
}

static void *allocate(world *w, int rank, size_t bytes) {
  void *memory;
  must(llrt_memory_allocate(w->device[rank], bytes, &memory), "memory");
  must(llrt_memory_set(w->device[rank], memory, 0, bytes, w->stream), "memory");
  must(llrt_stream_synchronize(w->device[rank], w->stream), "memory");
  return memory;
}

static void make_rank(world *w, int rank) {
  const job *j = w->job;
  llrt_part part;
  llrt_storage_binding binding;
  w->signals[rank] = allocate(w, rank, SIGNAL_BYTES);
  if (holds(&w->destination, rank)) {
    w->destination_bytes[rank] = bytes_of(j, &w->destination, j->to, rank, &part, &binding);
    w->destinations[rank] = allocate(w, rank, w->destination_bytes[rank]);
  }
  if (!holds(&w->source, rank)) return;
  w->source_bytes[rank] = bytes_of(j, &w->source, j->from, rank, &part, &binding);
  w->sources[rank] = allocate(w, rank, w->source_bytes[rank]);
  uint8_t *bytes = calloc(1, w->source_bytes[rank]);
  if (!bytes) exit(1);
  visit(j, &w->source, j->from, rank, bytes, false);
  must(llrt_memory_copy(w->device[rank], w->sources[rank], bytes, w->source_bytes[rank],
                        LLRT_COPY_TO_DEVICE, w->stream),
       "copy");
  must(llrt_stream_synchronize(w->device[rank], w->stream), "copy");
  free(bytes);
}

static int64_t check_rank(world *w, int rank) {
  if (!w->destinations[rank]) return 0;
  uint8_t *bytes = malloc(w->destination_bytes[rank]);
  if (!bytes) exit(1);
  must(llrt_memory_copy(w->device[rank], bytes, w->destinations[rank], w->destination_bytes[rank],
                        LLRT_COPY_FROM_DEVICE, w->stream),
       "copy");
  must(llrt_stream_synchronize(w->device[rank], w->stream), "copy");
  int64_t wrong = visit(w->job, &w->destination, w->job->to, rank, bytes, true);
  free(bytes);
  return wrong;
}

static bool run_job(const job *j, llrt_device *const *devices, void *stream) {
  world w = {.job = j, .stream = stream};
  pthread_t thread[RANKS];
  member members[RANKS];
  int64_t wrong = 0;
  memcpy(w.device, devices, sizeof w.device);
  must(llrt_sharding_parse(j->source, NULL, j->rank, j->shape, &w.source), j->source);
  must(llrt_sharding_parse(j->destination, NULL, j->rank, j->shape, &w.destination),
       j->destination);
  for (int r = 0; r < RANKS; r++) make_rank(&w, r);
  for (int r = 0; r < RANKS; r++) {
    members[r] = (member){&w, r};
    if (pthread_create(&thread[r], NULL, run_member, &members[r]) != 0) exit(1);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
  for (int r = 0; r < RANKS; r++) {
    wrong += check_rank(&w, r);
    llrt_memory_free(w.device[r], w.signals[r]);
    llrt_memory_free(w.device[r], w.sources[r]);
    llrt_memory_free(w.device[r], w.destinations[r]);
  }
  printf("%-60s %s\n", j->name, wrong ? "WRONG" : "right");
  return wrong == 0;
}

int main(int argc, char **argv) {
  char names[256];
  llrt_device *device[RANKS];
  llrt_context *context[RANKS];
  bool right = true, host;
  int n = 0;
  if (argc != 1 && !(argc == 3 && strcmp(argv[1], "--device") == 0)) {
    fprintf(stderr, "reshard_engines [--device NAME[,NAME...]]\n");
    return 2;
  }
  snprintf(names, sizeof names, "%s", argc == 3 ? argv[2] : "host");
  host = strncmp(names, "host", 4) == 0;
  /* ranks of one process have a context each: unloading a kernel waits for the device */
  for (char *name = strtok(names, ","); name && n < RANKS; name = strtok(NULL, ",")) {
    must(llrt_context_create(NULL, &context[n]), "context");
    must(llrt_device_open(context[n], name, NULL, &device[n]), name);
    n++;
  }
  if (n < RANKS && !host) {
    fprintf(stderr, "reshard_engines: %d devices, and there are %d ranks\n", n, RANKS);
    return 2;
  }
  int opened = n;
  for (; n < RANKS; n++) device[n] = device[0];
  for (int i = 0; i < RANKS; i++)
    for (int k = 0; k < RANKS; k++) must(llrt_device_reach_peer(device[i], device[k]), "peers");
  for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
    right &= run_job(&jobs[i], device, host ? NULL : (void *)2 /* CU_STREAM_PER_THREAD */);
  for (int i = 0; i < opened; i++) {
    llrt_device_close(&device[i]);
    llrt_context_destroy(&context[i]);
  }
  return right ? 0 : 1;
}
