#include "worker.h"

#include "interpret.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_CASES 150  /* that one context is kept for */
#define MOST_FILES 4096 /* that the program has open: two a worker */

/* ---- in the process ---- */

typedef struct place {
  llrt_context *context;
  guarded_allocator allocator;
  bench at;
} place;

typedef struct station {
  const char *device, *target;
  place kept;
  int used; /* cases of the kept context */
} station;

static draw_speed speed_of(const char *device) {
  if (draw_is_plan(device)) return SPEED_INTERPRETED;
  return strstr(device, "-emu") ? SPEED_EMULATED : SPEED_HARDWARE;
}

static llrt_status place_open(const station *s, place *made) {
  memset(made, 0, sizeof *made);
  if (draw_is_plan(s->device)) { /* without a device */
    made->at = (bench){.is_host = true, .plan_target = s->device + 5};
    return draw_interpret ? LLRT_OK : LLRT_UNAVAILABLE;
  }
  llrt_context_params params = {.allocator = guarded_allocator_of(&made->allocator), .threads = 2};
  llrt_device_params target = {.target = s->target};
  llrt_status status = llrt_context_create(&params, &made->context);
  if (status != LLRT_OK) return status;
  made->at.is_host = strcmp(s->device, "host") == 0;
  made->at.is_emulated = speed_of(s->device) == SPEED_EMULATED;
  return llrt_device_open(made->context, s->device, s->target ? &target : NULL, &made->at.device);
}

static void place_close(place *gone) {
  llrt_device_close(&gone->at.device);
  llrt_context_destroy(&gone->context);
}

static verdict run_at(place *where, const draw_operation *op, const void *made, int words,
                      char *why) {
  int damaged = where->allocator.damaged;
  where->at.why[0] = 0;
  verdict found = op->run(&where->at, made, words);
  if (found == VERDICT_RIGHT && where->allocator.damaged != damaged)
    found = bench_say(&where->at, VERDICT_OUTSIDE,
                      "bytes beside memory of the context's allocator are overwritten");
  memcpy(why, where->at.why, WHY_BYTES);
  return found;
}

static verdict run_apart(const station *s, const draw_operation *op, const void *made, int first,
                         int second, char *why) {
  place own;
  if (place_open(s, &own) != LLRT_OK) {
    snprintf(why, WHY_BYTES, "%s", llrt_last_error());
    return VERDICT_LIMIT;
  }
  verdict found = run_at(&own, op, made, first, why);
  if (found == VERDICT_RIGHT && second != first) found = run_at(&own, op, made, second, why);
  if (found != VERDICT_FAULT) place_close(&own);
  return found;
}

static verdict run_kept(station *s, const draw_operation *op, const void *made, char *why) {
  if (s->used++ % KEPT_CASES == 0) {
    if (s->kept.context) place_close(&s->kept);
    if (place_open(s, &s->kept) != LLRT_OK) {
      snprintf(why, WHY_BYTES, "%s", llrt_last_error());
      return VERDICT_LIMIT;
    }
  }
  return run_at(&s->kept, op, made, 0, why);
}

static verdict run_case(station *s, const draw_operation *op, const void *made, char *why) {
  int words = op->words(made);
  switch (op->context(made)) {
  case CONTEXT_KEPT: return run_kept(s, op, made, why);
  case CONTEXT_FRESH: return run_apart(s, op, made, 0, 0, why);
  default: {
    verdict found = run_apart(s, op, made, words, 0, why);
    return found == VERDICT_RIGHT ? run_apart(s, op, made, 0, words, why) : found;
  }
  }
}

void *worker_case_make(const draw_request *request, const char *device, draw_reply *reply) {
  uint64_t own;
  memset(reply, 0, sizeof *reply);
  reply->operation = draw_case_of(device, request->seed, request->number, request->only, &own);
  const draw_operation *op = draw_operation_at(reply->operation);
  void *made = calloc(1, op->bytes);
  if (!made) abort();
  op->make(own, speed_of(device), made);
  for (int i = 0; i < request->n_edits; i++) {
    int done = op->edit(made, request->edit[i]);
    if (done > 0) continue;
    reply->unfit = done == 0 ? 2 : 1;
    free(made);
    return NULL;
  }
  return made;
}

static bool read_all(int from, void *into, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t got = read(from, (char *)into + at, n - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += (size_t)got;
  }
  return true;
}

static bool write_all(int to, const void *from, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t put = write(to, (const char *)from + at, n - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += (size_t)put;
  }
  return true;
}

/* What a sanitizer or the library prints is no part of the run's output but for the message of an
 * end. */
static void serve(const char *device, const char *target, int from, int to) {
  station s = {.device = device, .target = target};
  draw_request request;
  while (read_all(from, &request, sizeof request)) {
    draw_reply reply;
    void *made = worker_case_make(&request, device, &reply);
    if (made)
      reply.verdict = (int32_t)run_case(&s, draw_operation_at(reply.operation), made, reply.why);
    free(made);
    if (!write_all(to, &reply, sizeof reply)) break;
    if (reply.verdict == VERDICT_FAULT) break; /* the device may be of no use any more */
  }
  _exit(0);
}

/* ---- outside ---- */

void worker_start(draw_worker *worker, const char *device, const char *target) {
  int to[2], from[2];
  fflush(NULL);
  if (pipe(to) != 0 || pipe(from) != 0 || (worker->pid = fork()) < 0) {
    perror("a process for cases");
    exit(2);
  }
  if (worker->pid == 0) {
    for (int fd = 3; fd < MOST_FILES; fd++) /* of other workers: their ends have to be seen */
      if (fd != to[0] && fd != from[1]) close(fd);
    signal(SIGINT, SIG_IGN);
    serve(device, target, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  worker->to = to[1];
  worker->from = from[0];
}

/* Ends the process; returns what waitpid says of it. */
static int end(draw_worker *worker) {
  int status = 0;
  if (!worker->pid) return 0;
  close(worker->to);
  waitpid(worker->pid, &status, 0);
  close(worker->from);
  worker->pid = 0;
  return status;
}

/* Who waits for a case ends when there can be none, and whoever watches the process sees it end. */
void worker_stop(draw_worker *worker) { end(worker); }

bool worker_ask(draw_worker *worker, const draw_request *request) {
  return write_all(worker->to, request, sizeof *request);
}

double worker_seconds(const draw_worker *worker) {
  char path[64], line[512];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)worker->pid);
  FILE *file = fopen(path, "r");
  const char *behind = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  if (file) fclose(file);
  if (behind && sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                       &system) != 2)
    return 0;
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Whether there is something to read; 0 once the process has had its time. */
static int wait_for(const draw_worker *worker, double seconds) {
  struct pollfd ready = {worker->from, POLLIN, 0};
  double used = worker_seconds(worker);
  int waited = poll(&ready, 1, 0);
  for (int turn = 0;
       waited <= 0 && turn < 10 * 4 * seconds && worker_seconds(worker) - used < seconds; turn++)
    waited = poll(&ready, 1, 250);
  return waited;
}

void worker_reply(draw_worker *worker, double seconds, draw_reply *reply) {
  int waited = wait_for(worker, seconds);
  if (waited > 0 && read_all(worker->from, reply, sizeof *reply)) {
    if (reply->verdict == VERDICT_FAULT) end(worker);
    return;
  }
  memset(reply, 0, sizeof *reply);
  reply->verdict = waited <= 0 ? VERDICT_TIMEOUT : VERDICT_CRASH;
  if (waited <= 0) kill(worker->pid, SIGKILL);
  int status = end(worker);
  if (waited <= 0) snprintf(reply->why, sizeof reply->why, "it does not end");
  else if (WIFSIGNALED(status))
    snprintf(reply->why, sizeof reply->why, "ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else snprintf(reply->why, sizeof reply->why, "ended with status %d", WEXITSTATUS(status));
}
