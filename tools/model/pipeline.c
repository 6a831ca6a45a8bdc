#include "tools/model/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MOST_UNDER_WAY 64 /* items */
#define SETTLE_PAUSE_NS 100000000L

enum { READ, CONVERTED, WRITTEN, SETTLED, N_STAGES };

/* Blocks are taken from a ring and given back in the same order. */
typedef struct run {
  const pipeline *p;
  pthread_mutex_t lock;
  pthread_cond_t moved; /* any member below changed */
  size_t done[N_STAGES];
  bool failed, settle_failed;
  array_error error;
  char *ring;
  size_t size, head;            /* taken: from the oldest item's begin to head */
  size_t begin[MOST_UNDER_WAY]; /* of items, by number modulo */
} run;

static size_t round_up(size_t bytes) {
  return (bytes + PIPELINE_ALIGNMENT - 1) / PIPELINE_ALIGNMENT * PIPELINE_ALIGNMENT;
}

static void *memory_of(const run *r, size_t item) {
  return r->ring + r->begin[item % MOST_UNDER_WAY];
}

/* Where `bytes` bytes are free; false: nowhere now. Precondition: the lock is held, and no item is
 * being read. */
static bool find_room(run *r, size_t bytes, size_t *begin) {
  size_t under_way = r->done[READ] - r->done[WRITTEN];
  size_t tail = under_way ? r->begin[r->done[WRITTEN] % MOST_UNDER_WAY] : 0;
  if (under_way == 0) r->head = 0;
  if (under_way == MOST_UNDER_WAY) return false;
  *begin = r->head;
  if (under_way && r->head <= tail) return tail - r->head >= bytes;
  if (r->size - r->head >= bytes) return true;
  *begin = 0;
  return tail >= bytes;
}

/* Waits until an item has memory. False: the run has failed. */
static bool take_room(run *r, size_t item, size_t bytes) {
  size_t begin;
  pthread_mutex_lock(&r->lock);
  while (!r->failed && !find_room(r, bytes, &begin)) pthread_cond_wait(&r->moved, &r->lock);
  bool taken = !r->failed;
  if (taken) {
    r->begin[item % MOST_UNDER_WAY] = begin;
    r->head = begin + bytes;
  }
  pthread_mutex_unlock(&r->lock);
  return taken;
}

/* Waits until the stage before has done an item. */
static bool wait_for(run *r, int stage, size_t item) {
  pthread_mutex_lock(&r->lock);
  while (!r->failed && r->done[stage] <= item) pthread_cond_wait(&r->moved, &r->lock);
  bool there = !r->failed;
  pthread_mutex_unlock(&r->lock);
  return there;
}

static void tell(run *r, int stage, size_t done, bool well, const array_error *error) {
  pthread_mutex_lock(&r->lock);
  if (well) r->done[stage] = done;
  if (!well && stage == SETTLED) r->settle_failed = true;
  if (!well && !r->failed) {
    r->failed = true;
    r->error = *error;
  }
  pthread_cond_broadcast(&r->moved);
  pthread_mutex_unlock(&r->lock);
}

static void *read_all(void *user) {
  run *r = user;
  array_error error;
  bool well = true;
  for (size_t i = 0; i < r->p->n_items && well; i++) {
    size_t bytes = round_up(r->p->bytes(r->p->user, i) + 1);
    if (bytes > r->size) well = array_fail(&error, "an item of %zu bytes is too large", bytes);
    else if (!take_room(r, i, bytes)) break;
    else well = r->p->read(r->p->user, i, memory_of(r, i), &error);
    tell(r, READ, i + 1, well, &error);
  }
  return NULL;
}

/* Whether the next item may be converted without waiting for it. */
static bool is_read(run *r, size_t item) {
  pthread_mutex_lock(&r->lock);
  bool read = !r->failed && r->done[READ] > item;
  pthread_mutex_unlock(&r->lock);
  return read;
}

static bool finish_one(run *r, size_t item, array_error *error) {
  bool well = !r->p->finish || r->p->finish(r->p->user, item, error);
  tell(r, CONVERTED, item + 1, well, error);
  return well;
}

/* One item may be queued while the one before is under way. What is queued is finished, also where
 * the run has failed. */
static void convert_all(run *r) {
  array_error error;
  size_t n = r->p->n_items, finished = 0;
  bool well = true;
  for (size_t i = 0; i < n && well && wait_for(r, READ, i); i++) {
    well = r->p->convert(r->p->user, i, memory_of(r, i), &error);
    if (!well) tell(r, CONVERTED, i, false, &error);
    while (finished < i && finish_one(r, finished, &error)) finished++;
    well = well && finished == i;
    bool later = well && r->p->finish && i + 1 < n && is_read(r, i + 1);
    if (well && !later) {
      well = finish_one(r, i, &error);
      finished += well;
    }
    if (!well) return;
  }
}

static void *write_all(void *user) {
  run *r = user;
  array_error error;
  bool well = true;
  for (size_t i = 0; i < r->p->n_items && well && wait_for(r, CONVERTED, i); i++) {
    well = r->p->write(r->p->user, i, memory_of(r, i), &error);
    tell(r, WRITTEN, i + 1, well, &error);
  }
  return NULL;
}

/* Waits for items to settle, and a little for more of them. Returns the end of what is written;
 * equal to `first` when there will be no more. */
static size_t wait_to_settle(run *r, size_t first) {
  struct timespec until;
  pthread_mutex_lock(&r->lock);
  while (!r->failed && r->done[WRITTEN] == first && first < r->p->n_items)
    pthread_cond_wait(&r->moved, &r->lock);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += SETTLE_PAUSE_NS;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    until.tv_sec++;
  }
  while (!r->failed && r->done[WRITTEN] < r->p->n_items &&
         pthread_cond_timedwait(&r->moved, &r->lock, &until) != ETIMEDOUT) {
  }
  size_t end = r->done[WRITTEN];
  pthread_mutex_unlock(&r->lock);
  return end;
}

static void *settle_all(void *user) {
  run *r = user;
  array_error error;
  for (size_t first = 0, end; (end = wait_to_settle(r, first)) > first; first = end) {
    bool well = r->p->settle(r->p->user, first, end, &error);
    tell(r, SETTLED, end, well, &error);
    if (!well) break;
  }
  return NULL;
}

/* Starts the threads, converts on this one, and waits for all. */
static bool run_threads(run *r) {
  static void *(*const body[])(void *) = {read_all, write_all, settle_all};
  enum { THREADS = sizeof body / sizeof *body };
  pthread_t thread[THREADS];
  int started = 0;
  array_error error;
  while (started < THREADS && pthread_create(&thread[started], NULL, body[started], r) == 0)
    started++;
  if (started < THREADS) {
    array_fail(&error, "no thread could be started");
    tell(r, READ, 0, false, &error);
  } else {
    convert_all(r);
  }
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  if (r->failed && !r->settle_failed && r->done[WRITTEN] > r->done[SETTLED])
    (void)r->p->settle(r->p->user, r->done[SETTLED], r->done[WRITTEN], &error);
  return !r->failed;
}

bool pipeline_run(const pipeline *p, array_error *error) {
  run r = {.p = p, .size = round_up(p->memory + 1)};
  if (p->n_items == 0) return true;
  r.ring = mmap(NULL, r.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
  if (r.ring == MAP_FAILED) return array_fail(error, "no memory for %zu bytes", r.size);
  pthread_mutex_init(&r.lock, NULL);
  pthread_cond_init(&r.moved, NULL);
  if (p->prepare) p->prepare(p->user, r.ring, r.size);
  bool done = run_threads(&r);
  if (p->release) p->release(p->user, r.ring, r.size);
  if (!done) *error = r.error;
  pthread_cond_destroy(&r.moved);
  pthread_mutex_destroy(&r.lock);
  munmap(r.ring, r.size);
  return done;
}
