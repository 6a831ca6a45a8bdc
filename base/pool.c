/* Who is idle is a set of bits, so that a call takes threads, and gives back those that did not
 * come, without a lock. A call puts its job where each of its threads looks for one. A thread that
 * has nothing to do looks for some microseconds, for the next call often comes soon, and then
 * sleeps; threads that sleep are woken as a binary tree, each by one that was woken before. A
 * thread that has not begun by the end of the job is not waited for: the job is taken back. */
#include "base/pool.h"

#include "base/futex.h"
#include "base/memory.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum {
  WORKERS = LLRT_POOL_MOST - 1,
  WORD_BITS = 64,
  WORDS = (WORKERS + WORD_BITS - 1) / WORD_BITS,
  STACK_BYTES = 4 << 20,   /* kernels keep tiles there */
  MASK_LONGS = 16384 / 64, /* cores that the system may have */
  SPINS = 1000,            /* of a caller at the end, some 40 cycles each */
  STILL_WAITS = 1 << 30,   /* beside a job's number of helpers: its caller sleeps until that is 0 */
  /* Nanoseconds that a thread looks for work: a few times what waking costs; or, where the last
   * call came so soon after it had begun to look that looking on would have paid, longer. Between
   * looks others get the core. */
  SHORT_LOOK = 20000,
  LONG_LOOK = 250000,
};

struct llrt_pool_call {
  llrt_pool_work *work;
  void *data;
  int wanted;          /* parts that there may be */
  int parts;           /* parts that have a worker which was idle at the start, and part 0 */
  int posted;          /* and those that llrt_pool_wake added: part 0's alone */
  atomic_uint helpers; /* workers that have the job, and STILL_WAITS */
  unsigned char worker[WORKERS]; /* of part i + 1 */
};

typedef struct pool_worker {
  _Alignas(64) _Atomic(llrt_pool_call *) job; /* to do; NULL: none */
  atomic_uint sleeps;                         /* 1 until somebody wakes it */
  int part;                                   /* of that job */
  pthread_t thread;
} pool_worker;

static struct pool {
  pthread_mutex_t life; /* held while threads start and end */
  atomic_int users, threads, cores;
  atomic_uint_fast64_t idle[WORDS]; /* who sets a worker's bit to 0 owns the worker */
  pool_worker worker[WORKERS];
} pool = {.life = PTHREAD_MUTEX_INITIALIZER};

static llrt_pool_call end_of_thread; /* the job of a worker that is to end */

/* ---- cores ---- */

typedef union core_mask {
  cpu_set_t set;
  unsigned long word[MASK_LONGS];
} core_mask;

/* Those that the main thread may use, and so all that are not pinned; false where the system does
 * not say. */
static bool read_mask(core_mask *mask) {
  memset(mask, 0, sizeof *mask);
  return sched_getaffinity(getpid(), sizeof *mask, &mask->set) == 0;
}

int llrt_pool_cores(void) {
  int cores = atomic_load_explicit(&pool.cores, memory_order_relaxed);
  if (cores > 0) return cores;
  core_mask mask;
  if (read_mask(&mask)) cores = CPU_COUNT_S(sizeof mask, &mask.set);
  if (cores < 1) cores = 1;
  if (cores > LLRT_POOL_MOST) cores = LLRT_POOL_MOST;
  atomic_store_explicit(&pool.cores, cores, memory_order_relaxed);
  return cores;
}

/* ---- jobs ---- */

static void set_idle(int worker) {
  atomic_fetch_or(&pool.idle[worker / WORD_BITS], (uint_fast64_t)1 << worker % WORD_BITS);
}

static bool take_idle(int worker) {
  uint_fast64_t bit = (uint_fast64_t)1 << worker % WORD_BITS;
  return atomic_fetch_and(&pool.idle[worker / WORD_BITS], ~bit) & bit;
}

/* Takes up to `most` idle workers; returns how many. */
static int take_any_idle(int most, unsigned char taken[WORKERS]) {
  int n = 0;
  for (int w = 0; w < WORDS && n < most; w++) {
    uint_fast64_t bits = atomic_load_explicit(&pool.idle[w], memory_order_relaxed);
    for (; bits && n < most; bits &= bits - 1) {
      int worker = w * WORD_BITS + __builtin_ctzll(bits);
      if (take_idle(worker)) taken[n++] = (unsigned char)worker;
    }
  }
  return n;
}

static void wake(pool_worker *worker) {
  if (atomic_load(&worker->sleeps) && atomic_exchange(&worker->sleeps, 0))
    llrt_futex_wake(&worker->sleeps);
}

/* Those two that this part's worker wakes. */
static void wake_next(llrt_pool_call *job, int part) {
  for (int next = 2 * part + 1; next <= 2 * part + 2 && next < job->parts; next++)
    wake(&pool.worker[job->worker[next - 1]]);
}

/* The worker's last look at the job; its caller may be gone before it is woken. */
static void leave(llrt_pool_call *job) {
  if (atomic_fetch_sub(&job->helpers, 1) == STILL_WAITS + 1) llrt_futex_wake(&job->helpers);
}

static void wait_for_helpers(llrt_pool_call *job) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&job->helpers, memory_order_acquire) == 0) return;
    llrt_spin_pause();
  }
  unsigned seen = atomic_fetch_add(&job->helpers, STILL_WAITS) + STILL_WAITS;
  for (; seen != STILL_WAITS; seen = atomic_load(&job->helpers))
    llrt_futex_wait(&job->helpers, seen);
}

/* ---- threads ---- */

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static llrt_pool_call *look_once(pool_worker *worker) {
  for (int i = 0; i < SPINS / 4; i++) {
    if (atomic_load_explicit(&worker->job, memory_order_relaxed)) {
      llrt_pool_call *job = atomic_exchange(&worker->job, NULL);
      if (job) return job;
    }
    llrt_spin_pause();
  }
  return NULL;
}

/* Looks from `begin` for so many nanoseconds, less where others want the core: then it is gone for
 * longer than a look. */
static llrt_pool_call *look(pool_worker *worker, int64_t begin, int64_t length) {
  for (int64_t last = begin, time;; last = time) {
    llrt_pool_call *job = look_once(worker);
    if (job) return job;
    time = now_ns();
    if (time - begin > length || time - last > SHORT_LOOK * 2) return NULL;
    if (time - begin > SHORT_LOOK) sched_yield();
  }
}

static llrt_pool_call *next_job(pool_worker *worker, int64_t *length) {
  for (;;) {
    int64_t begin = now_ns();
    llrt_pool_call *job = look(worker, begin, *length);
    if (job) return job;
    atomic_store(&worker->sleeps, 1);
    if (!atomic_load(&worker->job)) llrt_futex_wait(&worker->sleeps, 1);
    atomic_store(&worker->sleeps, 0);
    *length = now_ns() - begin < LONG_LOOK ? LONG_LOOK : SHORT_LOOK;
  }
}

static void *run_worker(void *address) {
  pool_worker *worker = address;
  core_mask mask;
  if (read_mask(&mask))
    (void)sched_setaffinity(0, sizeof mask, &mask.set); /* it has its starter's else */
  fesetenv(FE_DFL_ENV);                                 /* and this */
  pthread_setname_np(pthread_self(), "llrt");
  for (int64_t length = SHORT_LOOK;;) {
    llrt_pool_call *job = next_job(worker, &length);
    if (job == &end_of_thread) return NULL;
    int part = worker->part;
    wake_next(job, part);
    job->work(job, job->data, part);
    set_idle((int)(worker - pool.worker)); /* before the caller goes on, who may want it again */
    leave(job);
  }
}

/* Starts worker number `number`, owned by the caller; false where the system has no thread to give.
 */
static bool start(int number) {
  pool_worker *worker = &pool.worker[number];
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = memory_thread(&worker->thread, &attributes, run_worker, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

/* The child of a fork has the memory of the pool and none of its threads. */
static void forget_threads(void) {
  pool.life = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  atomic_store(&pool.threads, 0);
  atomic_store(&pool.cores, 0);
  for (int w = 0; w < WORDS; w++) atomic_store(&pool.idle[w], 0);
  for (int i = 0; i < WORKERS; i++) {
    atomic_store(&pool.worker[i].job, NULL);
    atomic_store(&pool.worker[i].sleeps, 0);
  }
}

static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, forget_threads); }

/* Starts up to `most` workers, as far as there are cores, and owns them; none where another thread
 * is about to. */
static int start_some(int most, unsigned char started[WORKERS]) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  if (pthread_mutex_trylock(&pool.life) != 0) return 0;
  int threads = atomic_load(&pool.threads), n = 0;
  for (; n < most && threads < llrt_pool_cores() - 1 && start(threads); threads++)
    started[n++] = (unsigned char)threads;
  atomic_store(&pool.threads, threads);
  pthread_mutex_unlock(&pool.life);
  return n;
}

/* Ends a worker that is idle, or will be; wakes it where it was given a job but no call. */
static void end(int number) {
  pool_worker *worker = &pool.worker[number];
  while (!take_idle(number)) {
    wake(worker);
    sched_yield();
  }
  atomic_store(&worker->job, &end_of_thread);
  wake(worker);
  pthread_join(worker->thread, NULL);
}

static void end_all(void) {
  pthread_mutex_lock(&pool.life);
  int threads = atomic_exchange(&pool.threads, 0);
  for (int i = 0; i < threads; i++) end(i);
  atomic_store(&pool.cores, 0);
  pthread_mutex_unlock(&pool.life);
}

__attribute__((destructor)) static void unload(void) { end_all(); }

int llrt_pool_threads(void) { return atomic_load(&pool.threads); }

void llrt_pool_retain(void) { atomic_fetch_add(&pool.users, 1); }

void llrt_pool_release(void) {
  if (atomic_fetch_sub(&pool.users, 1) == 1) end_all();
}

/* ---- calls ---- */

/* Gives parts [begin, end) to their workers, the last first: who wakes another finds that it has a
 * job. */
static void post(llrt_pool_call *job, int begin, int end) {
  for (int part = end - 1; part >= begin; part--) {
    pool_worker *worker = &pool.worker[job->worker[part - 1]];
    worker->part = part;
    atomic_store(&worker->job, job);
  }
  job->posted = end;
}

/* Takes the job from workers that have not begun it. */
static void take_back(llrt_pool_call *job) {
  unsigned n = 0;
  for (int part = 1; part < job->posted; part++) {
    int number = job->worker[part - 1];
    llrt_pool_call *mine = job;
    if (!atomic_compare_exchange_strong(&pool.worker[number].job, &mine, NULL)) continue;
    set_idle(number);
    n++;
  }
  if (n > 0) atomic_fetch_sub(&job->helpers, n);
}

void llrt_pool_wake(llrt_pool_call *job) {
  wake_next(job, 0);
  if (job->parts >= job->wanted ||
      atomic_load_explicit(&pool.threads, memory_order_relaxed) >= llrt_pool_cores() - 1)
    return;
  int n = start_some(job->wanted - job->parts, job->worker + job->parts - 1);
  atomic_fetch_add(&job->helpers, (unsigned)n);
  post(job, job->parts, job->parts + n);
  for (int part = job->parts; part < job->posted; part++)
    wake(&pool.worker[job->worker[part - 1]]); /* that gave up already */
}

void llrt_pool_run(int parts, llrt_pool_work *work, void *data) {
  llrt_pool_call job;
  int n = take_any_idle(parts - 1, job.worker);
  job.work = work;
  job.data = data;
  job.wanted = parts;
  job.parts = n + 1;
  atomic_init(&job.helpers, (unsigned)n);
  post(&job, 1, job.parts);
  work(&job, data, 0);
  if (job.posted == 1) return;
  take_back(&job);
  wait_for_helpers(&job);
}
