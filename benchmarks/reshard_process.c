#include "reshard_process.h"

#include "process_socket.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_ALIGNMENT 4096

static void init_world(process_world *world) {
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&world->together, &attributes, (unsigned)world->ranks);
  pthread_barrierattr_destroy(&attributes);
  for (int r = 0; r < world->ranks; r++)
    for (int s = 0; s < r; s++) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) exit(1);
      world->socket[r][s] = pair[0];
      world->socket[s][r] = pair[1];
    }
}

int process_world_run(process_world *given, int (*run)(process_world *world, int rank)) {
  pid_t child[PROCESS_MAX_RANKS];
  int sum = 0, how;
  process_world *world =
      mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (world == MAP_FAILED) exit(1);
  *world = *given;
  init_world(world);
  fflush(stdout);
  for (int r = 0; r < world->ranks; r++) {
    child[r] = fork();
    if (child[r] < 0) exit(1);
    if (child[r] == 0) exit(run(world, r));
  }
  for (int r = 0; r < world->ranks; r++) {
    waitpid(child[r], &how, 0);
    sum += WIFEXITED(how) ? WEXITSTATUS(how) : 1;
  }
  for (int r = 0; r < world->ranks; r++)
    for (int s = 0; s < world->ranks; s++)
      if (r != s) close(world->socket[r][s]);
  pthread_barrier_destroy(&world->together);
  munmap(world, sizeof *world);
  return sum;
}

/* ---- memory ---- */

static void place(process_rank *r, int rank, void *block) {
  r->signals[rank] = block;
  r->sources[rank] = (char *)block + PROCESS_SIGNAL_BYTES;
  r->destinations[rank] = (char *)r->sources[rank] + r->bytes;
}

static int export_own(process_rank *r, size_t bytes, llrt_memory_handle *handle) {
  void *block;
  int fd = -1;
  if (r->world->ipc) {
    harness_must(llrt_memory_allocate(r->device, bytes, &block), "memory");
    harness_must(llrt_memory_export(r->device, block, bytes, handle), "export");
  } else {
    harness_must(llrt_memory_create_shared(r->device, bytes, &r->own), "shared memory");
    harness_must(llrt_shared_get(r->own, &block, NULL), "shared memory");
    harness_must(llrt_shared_export(r->own, handle, &fd), "export");
  }
  place(r, r->rank, block);
  harness_must(llrt_memory_set(r->device, block, 0, PROCESS_SIGNAL_BYTES, NULL), "set");
  harness_must(llrt_stream_synchronize(r->device, NULL), "set");
  return fd;
}

static void must(bool done, const char *what) {
  if (done) return;
  perror(what);
  exit(1);
}

static void exchange(process_rank *r, size_t bytes) {
  const process_world *world = r->world;
  llrt_memory_handle handle;
  int fd = export_own(r, bytes, &handle);
  for (int s = 0; s < world->ranks; s++)
    if (s != r->rank)
      must(process_send(world->socket[r->rank][s], &handle, sizeof handle, fd), "a handle");
  if (fd >= 0) close(fd);
  for (int s = 0; s < world->ranks; s++) {
    void *block;
    if (s == r->rank) continue;
    must(process_receive(world->socket[r->rank][s], &handle, sizeof handle, &fd), "a handle");
    harness_must(llrt_memory_import(r->device, &handle, fd, &r->shared[s]), "import");
    harness_must(llrt_shared_get(r->shared[s], &block, NULL), "import");
    place(r, s, block);
    if (fd >= 0) close(fd);
  }
}

void process_rank_open(process_world *world, int rank, size_t bytes, process_rank *r) {
  *r = (process_rank){.world = world, .rank = rank};
  r->bytes = (bytes + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
  harness_must(llrt_context_create(NULL, &r->context), "context");
  harness_must(llrt_device_open(r->context, world->device[rank], NULL, &r->device),
               world->device[rank]);
  exchange(r, PROCESS_SIGNAL_BYTES + 2 * r->bytes);
  pthread_barrier_wait(&world->together);
}

/* Who exports outlives who imports. */
void process_rank_close(process_rank *r) {
  pthread_barrier_wait(&r->world->together);
  for (int s = 0; s < r->world->ranks; s++) llrt_shared_destroy(&r->shared[s]);
  pthread_barrier_wait(&r->world->together);
  if (r->world->ipc) llrt_memory_free(r->device, r->signals[r->rank]);
  llrt_shared_destroy(&r->own);
  llrt_device_close(&r->device);
  llrt_context_destroy(&r->context);
}

double process_largest(process_rank *r, double number) {
  double largest = number;
  r->world->number[r->rank] = number;
  pthread_barrier_wait(&r->world->together);
  for (int s = 0; s < r->world->ranks; s++)
    if (r->world->number[s] > largest) largest = r->world->number[s];
  pthread_barrier_wait(&r->world->together);
  return largest;
}
