/* Cases drawn from all that the headers allow, run on devices and compared in full: docs/draws.md.
 */
#include "examine.h"
#include "tally.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_JOBS 64
#define MOST_BEFORE 160

typedef struct options {
  const char *devices[MOST_DEVICES];
  int n_devices, jobs, only;
  const char *target, *repeated, *page;
  uint64_t seed, first, count;
  double seconds, timeout, budget;
  bool keep_on, weights, quiet;
  int most_findings; /* that are examined */
} options;

/* One process and the case that it is at. */
typedef struct post {
  draw_worker worker;
  int device;
  bool busy;
  double since, used; /* when it was sent; what its process had used of the processors by then */
  draw_request request;
  uint64_t before[MOST_BEFORE];
  int n_before;
} post;

typedef struct draw_run {
  const options *asked;
  post posts[MOST_JOBS * MOST_DEVICES];
  int n_posts;
  uint64_t next[MOST_DEVICES]; /* of a device's cases, the number in the run */
  draw_tally tally;
  int examined;
  double until;
} draw_run;

static volatile sig_atomic_t interrupted;
static void interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- a run ---- */

static bool is_done(const draw_run *run, int device) {
  const options *asked = run->asked;
  uint64_t share = (asked->count + (uint64_t)asked->n_devices - 1) / (uint64_t)asked->n_devices;
  if (interrupted || (asked->seconds > 0 && now() >= run->until)) return true;
  if (asked->count && run->next[device] >= share) return true;
  return !asked->keep_on && tally_findings(&run->tally) > 0;
}

/* Gives a post its next case; false where there is none. */
static bool send_case(draw_run *run, post *p) {
  const options *asked = run->asked;
  if (is_done(run, p->device)) return false;
  uint64_t number =
      asked->first + run->next[p->device]++ * (uint64_t)asked->n_devices + (uint64_t)p->device;
  p->request = (draw_request){.seed = asked->seed, .number = number, .only = asked->only};
  if (!p->worker.pid) {
    worker_start(&p->worker, asked->devices[p->device], asked->target);
    p->n_before = 0;
  }
  p->since = now();
  p->used = worker_seconds(&p->worker);
  p->busy = worker_ask(&p->worker, &p->request);
  if (!p->busy) worker_stop(&p->worker);
  return true;
}

static void note_finding(draw_run *run, post *p, const draw_reply *reply) {
  const options *asked = run->asked;
  draw_finding found = {.device = asked->devices[p->device],
                        .target = asked->target,
                        .request = p->request,
                        .reply = *reply,
                        .before = p->before,
                        .n_before = p->n_before,
                        .seconds = asked->timeout,
                        .budget = run->examined < asked->most_findings ? asked->budget : 0};
  run->examined++;
  double began = now();
  examine_finding(&found);
  for (int i = 0; i < run->n_posts; i++)
    run->posts[i].since += now() - began; /* nobody was listening */
}

static void take_reply(draw_run *run, post *p) {
  draw_reply reply;
  worker_reply(&p->worker, 0, &reply);
  if (reply.verdict == VERDICT_CRASH || reply.verdict == VERDICT_TIMEOUT) {
    uint64_t own;
    reply.operation = draw_case_of(run->asked->devices[p->device], p->request.seed,
                                   p->request.number, p->request.only, &own);
  }
  p->busy = false;
  tally_add(&run->tally, p->device, p->request.number, &reply);
  if (verdict_is_finding((verdict)reply.verdict)) note_finding(run, p, &reply);
  if (p->n_before == MOST_BEFORE)
    memmove(p->before, p->before + 1, sizeof *p->before * (size_t)--p->n_before);
  p->before[p->n_before++] = p->request.number;
}

/* Whether a post has used up its time: of its process's, where there are more processes than
 * processors. */
static bool is_late(const draw_run *run, post *p) {
  double waited = now() - p->since, limit = run->asked->timeout;
  if (!p->busy || waited < limit) return false;
  return waited > 10 * limit || worker_seconds(&p->worker) - p->used > limit;
}

/* Waits until a busy post has something to say, or has none within its time. */
static void wait_for_posts(draw_run *run) {
  struct pollfd ready[MOST_JOBS * MOST_DEVICES];
  for (int i = 0; i < run->n_posts; i++)
    ready[i] = (struct pollfd){run->posts[i].busy ? run->posts[i].worker.from : -1, POLLIN, 0};
  if (poll(ready, (nfds_t)run->n_posts, 500) < 0 && errno != EINTR) exit(2);
  for (int i = 0; i < run->n_posts; i++) {
    post *p = &run->posts[i];
    if (p->busy && (ready[i].revents || is_late(run, p))) take_reply(run, p);
  }
}

static int run_all(const options *asked) {
  draw_run *run = calloc(1, sizeof *run);
  double began = now();
  if (!run) return 2;
  run->asked = asked;
  run->until = began + asked->seconds;
  for (int j = 0; j < asked->jobs; j++)
    for (int d = 0; d < asked->n_devices; d++) run->posts[run->n_posts++].device = d;
  for (bool busy = true; busy;) {
    busy = false;
    for (int i = 0; i < run->n_posts; i++) {
      if (!run->posts[i].busy) send_case(run, &run->posts[i]);
      busy |= run->posts[i].busy;
    }
    if (busy) wait_for_posts(run);
  }
  for (int i = 0; i < run->n_posts; i++) worker_stop(&run->posts[i].worker);
  printf("--seed %llu, %.0f s\n", (unsigned long long)asked->seed, now() - began);
  tally_print(&run->tally, asked->n_devices, asked->devices);
  uint64_t findings = tally_findings(&run->tally);
  printf("%llu findings\n", (unsigned long long)findings);
  tally_free(&run->tally);
  free(run);
  return findings > 0;
}

/* ---- cases by name ---- */

static const char *read_edits(const char *at, draw_request *request) {
  char *end;
  request->n_edits = 0;
  while (*at == '/' || *at == '.') {
    if (request->n_edits == MOST_EDITS) return NULL;
    request->edit[request->n_edits++] = (int16_t)strtol(at + 1, &end, 10);
    at = end;
  }
  return at;
}

/* SEED:NUMBER[/EDIT.EDIT...], by commas: all in one process. */
static int repeat_cases(const options *asked) {
  draw_worker worker = {0};
  const char *at = asked->repeated;
  int failed = 0;
  while (at && *at) {
    draw_request request = {.only = asked->only};
    draw_reply reply;
    char *end;
    request.seed = strtoull(at, &end, 0);
    if (*end != ':') break;
    request.number = strtoull(end + 1, &end, 0);
    at = read_edits(end, &request);
    if (!at) break;
    if (*at == ',') at++;
    examine_print(&request, asked->devices[0]);
    if (!worker.pid) worker_start(&worker, asked->devices[0], asked->target);
    if (worker_ask(&worker, &request)) worker_reply(&worker, asked->timeout, &reply);
    else snprintf(reply.why, sizeof reply.why, "no process");
    printf("%s%s%s\n", reply.unfit ? "an edit does not suit" : verdict_name((verdict)reply.verdict),
           reply.why[0] ? ": " : "", reply.why);
    failed |= reply.unfit || verdict_is_finding((verdict)reply.verdict);
  }
  worker_stop(&worker);
  return at && !*at ? failed : 2;
}

/* ---- the page ---- */

/* Prints the lists; with a page, whether they stand in it. */
static int print_weights(const char *page) {
  static char text[32768], found[262144];
  draw_print_weights(text, sizeof text);
  if (!page) return printf("%s", text) < 0;
  FILE *file = fopen(page, "r");
  size_t n = file ? fread(found, 1, sizeof found - 1, file) : 0;
  found[n] = 0;
  if (file) fclose(file);
  if (strstr(found, text)) return 0;
  printf("%s does not say what llrt_draws --weights prints\n", page);
  return 1;
}

/* ---- the command line ---- */

static int usage(void) {
  printf("llrt_draws [--device NAME[,NAME...]] [--target TARGET] [--seed N] [--count N] [--seconds "
         "S] [--only OPERATION]\n"
         "           [--jobs N] [--first N] [--keep-on] [--examine N] [--budget S] [--timeout S]\n"
         "llrt_draws [--device NAME] --case SEED:NUMBER[/EDITS][,...]\n"
         "llrt_draws --weights [PAGE]\n");
  return 2;
}

static void read_devices(char *list, options *made) {
  made->n_devices = 0;
  for (char *rest = list, *name;
       (name = strsep(&rest, ",")) != NULL && made->n_devices < MOST_DEVICES;)
    made->devices[made->n_devices++] = name;
}

static bool read_option(const char *name, char *value, options *made) {
  if (strcmp(name, "--device") == 0) read_devices(value, made);
  else if (strcmp(name, "--target") == 0) made->target = value;
  else if (strcmp(name, "--seed") == 0) made->seed = strtoull(value, NULL, 0);
  else if (strcmp(name, "--first") == 0) made->first = strtoull(value, NULL, 0);
  else if (strcmp(name, "--count") == 0) made->count = strtoull(value, NULL, 0);
  else if (strcmp(name, "--seconds") == 0) made->seconds = strtod(value, NULL);
  else if (strcmp(name, "--timeout") == 0) made->timeout = strtod(value, NULL);
  else if (strcmp(name, "--budget") == 0) made->budget = strtod(value, NULL);
  else if (strcmp(name, "--examine") == 0) made->most_findings = atoi(value);
  else if (strcmp(name, "--jobs") == 0) made->jobs = atoi(value);
  else if (strcmp(name, "--case") == 0) made->repeated = value;
  else if (strcmp(name, "--only") == 0) return (made->only = draw_operation_named(value)) >= 0;
  else return false;
  return true;
}

/* Whether every device serves the operation that is drawn alone. */
static bool is_served(const options *asked) {
  for (int d = 0; d < asked->n_devices; d++)
    if (asked->only >= 0 && !draw_serves(asked->devices[d], asked->only)) {
      printf("%s plans and interprets no %s\n", asked->devices[d],
             draw_operation_at(asked->only)->name);
      return false;
    }
  return true;
}

int main(int argc, char **argv) {
  static char host[] = "host";
  options asked = {.jobs = 1,
                   .only = -1,
                   .timeout = 60,
                   .budget = 30,
                   .most_findings = 20,
                   .seed = (uint64_t)time(NULL)};
  setenv("LLRT_EMU_DEVICES", "8", 0); /* ranks of re-shards have one each */
  read_devices(host, &asked);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--keep-on") == 0) asked.keep_on = true;
    else if (strcmp(argv[i], "--weights") == 0) return print_weights(argv[i + 1]);
    else if (i + 1 == argc || !read_option(argv[i], argv[i + 1], &asked)) return usage();
    else i++;
  }
  if (asked.jobs < 1 || asked.jobs > MOST_JOBS) return usage();
  if (!is_served(&asked)) return 2;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, interrupt);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (asked.repeated) return repeat_cases(&asked);
  if (!asked.count && asked.seconds <= 0) asked.seconds = 60;
  printf("llrt_draws --seed %llu\n", (unsigned long long)asked.seed);
  return run_all(&asked);
}
