/* Ranks that are processes, which share memory as programs do: by file descriptors, and by IPC
 * handles; on the host, on one emulated device and on several. */
#include "benchmarks/process_socket.h"
#include "tests/open_device.h"

#include "base/status.h"

#include <llrt/share.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, ROWS = 24, COLUMNS = 48, RUNS = 3, TIMEOUT_MS = 60000 };
enum { PART = ROWS * COLUMNS / RANKS * 4, SIGNALS = 4096, BLOCK = SIGNALS + 2 * PART };

/* What the ranks of one test have in common. */
typedef struct world {
  const char *device[RANKS];
  bool ipc;
  int socket[RANKS][RANKS]; /* rank r's end of the line to s */
} world;

/* One rank's own. */
typedef struct member {
  const world *of;
  int rank;
  llrt_device *device;
  void *stream;
  llrt_shared *own, *others[RANKS];
  void *block[RANKS]; /* signals, source, destination of each rank */
} member;

static llrt_status make_own(member *m, llrt_memory_handle *handle, int *fd) {
  if (m->of->ipc) {
    *fd = -1;
    LLRT_TRY(llrt_memory_allocate(m->device, 4096 + BLOCK, &m->block[m->rank]));
    m->block[m->rank] = (char *)m->block[m->rank] + 4096; /* not where the allocation begins */
    return llrt_memory_export(m->device, m->block[m->rank], BLOCK, handle);
  }
  LLRT_TRY(llrt_memory_create_shared(m->device, BLOCK, &m->own));
  LLRT_TRY(llrt_shared_get(m->own, &m->block[m->rank], NULL));
  return llrt_shared_export(m->own, handle, fd);
}

static llrt_status fill_own(const member *m) {
  static float source[PART / 4];
  char *block = m->block[m->rank];
  for (int i = 0; i < PART / 4; i++) source[i] = (float)(m->rank * PART / 4 + i);
  LLRT_TRY(llrt_memory_set(m->device, block, 0, BLOCK, m->stream));
  LLRT_TRY(
      llrt_memory_copy(m->device, block + SIGNALS, source, PART, LLRT_COPY_TO_DEVICE, m->stream));
  return llrt_stream_synchronize(m->device, m->stream);
}

/* Sends the own handle, which stands for memory that is filled, and maps the others'. */
static llrt_status exchange(member *m) {
  llrt_memory_handle handle;
  int fd;
  LLRT_TRY(make_own(m, &handle, &fd));
  LLRT_TRY(fill_own(m));
  for (int r = 0; r < RANKS; r++)
    if (r != m->rank && !process_send(m->of->socket[m->rank][r], &handle, sizeof handle, fd))
      return LLRT_INTERNAL;
  if (fd >= 0) close(fd);
  for (int r = 0; r < RANKS; r++) {
    if (r == m->rank) continue;
    if (!process_receive(m->of->socket[m->rank][r], &handle, sizeof handle, &fd))
      return LLRT_INTERNAL;
    LLRT_TRY(llrt_memory_import(m->device, &handle, fd, &m->others[r]));
    LLRT_TRY(llrt_shared_get(m->others[r], &m->block[r], NULL));
    if (fd >= 0) close(fd);
  }
  return LLRT_OK;
}

static llrt_status run(const member *m) {
  static const int64_t shape[2] = {ROWS, COLUMNS};
  void *signals[RANKS], *sources[RANKS], *destinations[RANKS];
  llrt_sharding source, destination;
  for (int r = 0; r < RANKS; r++) {
    signals[r] = m->block[r];
    sources[r] = (char *)m->block[r] + SIGNALS;
    destinations[r] = (char *)m->block[r] + SIGNALS + PART;
  }
  const llrt_comm_params params = {
      .rank = m->rank, .ranks = RANKS, .signals = signals, .timeout_ms = TIMEOUT_MS};
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = LLRT_F32};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  LLRT_TRY(llrt_sharding_parse("mesh(a=3): P(a)", NULL, 2, shape, &source));
  LLRT_TRY(llrt_sharding_parse("mesh(a=3): P(None, a) o col_major", NULL, 2, shape, &destination));
  LLRT_TRY(llrt_comm_create(m->device, &params, &comm));
  llrt_status status = llrt_reshard_prepare(comm, &desc, m->stream, &reshard);
  for (int i = 0; i < RUNS && !status; i++)
    status = llrt_reshard_run(reshard, sources, destinations, m->stream);
  if (!status) status = llrt_memory_set(m->device, destinations[m->rank], 0, PART, m->stream);
  if (!status) status = llrt_comm_barrier(comm, m->stream);
  if (!status) status = llrt_reshard_move(reshard, sources, destinations, m->stream);
  if (!status) status = llrt_comm_barrier(comm, m->stream);
  if (!status) status = llrt_comm_status(comm, m->stream);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return status;
}

static bool is_right(const member *m) {
  static float found[PART / 4];
  char *block = m->block[m->rank];
  if (llrt_memory_copy(m->device, found, block + SIGNALS + PART, PART, LLRT_COPY_FROM_DEVICE,
                       m->stream) != LLRT_OK ||
      llrt_stream_synchronize(m->device, m->stream) != LLRT_OK)
    return false;
  for (int i = 0; i < PART / 4; i++) {
    int row = i % ROWS, column = m->rank * (COLUMNS / RANKS) + i / ROWS;
    if (found[i] != (float)(row * COLUMNS + column)) return false;
  }
  return true;
}

/* Who exports outlives who imports: each waits until all have closed what they imported. */
static bool leave(member *m) {
  bool told = true;
  char word = 0;
  int none;
  for (int r = 0; r < RANKS; r++) llrt_shared_destroy(&m->others[r]);
  for (int r = 0; r < RANKS; r++)
    if (r != m->rank) told &= process_send(m->of->socket[m->rank][r], &word, 1, -1);
  for (int r = 0; r < RANKS; r++)
    if (r != m->rank) told &= process_receive(m->of->socket[m->rank][r], &word, 1, &none);
  if (m->of->ipc) llrt_memory_free(m->device, (char *)m->block[m->rank] - 4096);
  llrt_shared_destroy(&m->own);
  return told;
}

/* 0: right; 1: wrong; else 10 + a status. */
static int run_rank(const world *w, int rank) {
  opened_device opened = open_device(w->device[rank]);
  member m = {.of = w,
              .rank = rank,
              .device = opened.device,
              .stream = strcmp(w->device[rank], "host") ? (void *)2 : NULL};
  llrt_status status = exchange(&m);
  if (!status) status = run(&m);
  if (status) fprintf(stderr, "rank %d: %s\n", rank, llrt_last_error());
  bool right = !status && is_right(&m) && leave(&m);
  close_device(&opened);
  return status ? 10 + (int)status : right ? 0 : 1;
}

static void run_world(world *w) {
  pid_t child[RANKS];
  setenv("LLRT_EMU_DEVICES", "8", 1);
  setenv("LLRT_EMU_IPC", w->ipc ? "1" : "0", 1);
  for (int r = 0; r < RANKS; r++)
    for (int s = 0; s < r; s++) {
      int pair[2];
      cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
      w->socket[r][s] = pair[0];
      w->socket[s][r] = pair[1];
    }
  for (int r = 0; r < RANKS; r++) {
    child[r] = fork();
    cr_assert_geq(child[r], 0);
    if (child[r] == 0) _exit(run_rank(w, r));
  }
  for (int r = 0; r < RANKS; r++) {
    int how;
    cr_assert_eq(waitpid(child[r], &how, 0), child[r]);
    cr_expect(WIFEXITED(how) && WEXITSTATUS(how) == 0, "rank %d: %x", r, how);
  }
}

Test(reshard_shared, host) {
  world w = {.device = {"host", "host", "host"}};
  run_world(&w);
}

Test(reshard_shared, one_device) {
  world w = {.device = {"cuda-emu:sm_90a", "cuda-emu:sm_90a", "cuda-emu:sm_90a"}};
  run_world(&w);
}

Test(reshard_shared, one_device_by_ipc) {
  world w = {.device = {"cuda-emu:sm_80", "cuda-emu:sm_80", "cuda-emu:sm_80"}, .ipc = true};
  run_world(&w);
}

Test(reshard_shared, several_devices) {
  world w = {.device = {"cuda-emu:sm_90a", "cuda-emu:sm_90a#1", "cuda-emu:sm_80"}};
  run_world(&w);
  w.ipc = true;
  run_world(&w);
}

/* ---- what is refused ---- */

static void expect_import(llrt_device *device, const llrt_memory_handle *handle, int fd,
                          llrt_status status, const char *why) {
  llrt_shared *shared;
  cr_expect_eq(llrt_memory_import(device, handle, fd, &shared), status, "%s: %s", why,
               llrt_last_error());
  cr_expect_null(shared);
}

static void expect_refusals(const char *name) {
  opened_device opened = open_device(name);
  llrt_device *device = opened.device;
  llrt_memory_handle handle, other;
  llrt_shared *shared, *again;
  void *memory;
  size_t bytes;
  int fd, pipes[2], null = open("/dev/null", O_RDWR);
  cr_assert_eq(pipe(pipes), 0);
  cr_assert_eq(llrt_memory_create_shared(device, 100, &shared), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_shared_get(shared, &memory, &bytes), LLRT_OK);
  cr_expect_geq(bytes, 4096u);
  cr_assert_eq(llrt_shared_export(shared, &handle, &fd), LLRT_OK);
  cr_assert_eq(llrt_memory_import(device, &handle, fd, &again), LLRT_OK, "%s", llrt_last_error());
  llrt_shared_destroy(&again);
  expect_import(device, &handle, -1, LLRT_INVALID_ARGUMENT, "no descriptor");
  expect_import(device, &handle, 1000, LLRT_INVALID_ARGUMENT, "a closed one");
  expect_import(device, &handle, pipes[0], LLRT_INVALID_ARGUMENT, "a pipe");
  expect_import(device, &handle, null, LLRT_INVALID_ARGUMENT, "a file");
  other = handle;
  other.bytes *= 2;
  expect_import(device, &other, fd, LLRT_INVALID_ARGUMENT, "more bytes than there are");
  other = handle;
  other.kind = 7;
  expect_import(device, &other, fd, LLRT_INVALID_ARGUMENT, "an unknown kind");
  other = handle;
  other.backend++;
  expect_import(device, &other, fd, LLRT_INVALID_ARGUMENT, "another backend");
  other = handle;
  other.device[0] ^= 0x55;
  expect_import(device, &other, fd, LLRT_UNSUPPORTED, "a device that is not seen");
  other = handle;
  other.kind = LLRT_HANDLE_IPC;
  expect_import(device, &other, -1, LLRT_INVALID_ARGUMENT, "the own handle");
  expect_import(device, &other, fd, LLRT_INVALID_ARGUMENT, "a descriptor too many");
  close(fd);
  expect_import(device, &handle, fd, LLRT_INVALID_ARGUMENT, "a descriptor closed since");
  cr_expect_eq(llrt_memory_export(device, memory, 16, &other), LLRT_UNSUPPORTED);
  llrt_shared_destroy(&shared);
  cr_expect_null(shared);
  close(null), close(pipes[0]), close(pipes[1]);
  close_device(&opened);
}

Test(reshard_shared, refusals) {
  expect_refusals("host");
  expect_refusals("cuda-emu:sm_90a");
}

Test(reshard_shared, allocations_of_ipc) {
  setenv("LLRT_EMU_IPC", "1", 1);
  opened_device opened = open_device("cuda-emu:sm_90a");
  llrt_memory_handle handle;
  void *memory;
  cr_assert_eq(llrt_memory_allocate(opened.device, 4096, &memory), LLRT_OK);
  cr_assert_eq(llrt_memory_export(opened.device, (char *)memory + 512, 1024, &handle), LLRT_OK,
               "%s", llrt_last_error());
  cr_expect_eq(handle.offset, 512u);
  cr_expect_eq(handle.bytes, 1024u);
  expect_import(opened.device, &handle, -1, LLRT_INVALID_ARGUMENT, "by its exporter");
  cr_expect_eq(llrt_memory_export(opened.device, memory, 5000, &handle), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_memory_export(opened.device, &handle, 8, &handle), LLRT_INVALID_ARGUMENT);
  llrt_memory_free(opened.device, memory);
  close_device(&opened);
}
