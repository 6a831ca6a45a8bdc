#include "examine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs a case in `worker`, which is started where there is none. */
static void ask(const draw_finding *of, draw_worker *worker, const draw_request *request,
                draw_reply *reply) {
  if (!worker->pid) worker_start(worker, of->device, of->target);
  if (worker_ask(worker, request)) {
    worker_reply(worker, of->seconds, reply);
    return;
  }
  worker_stop(worker);
  worker_start(worker, of->device, of->target);
  memset(reply, 0, sizeof *reply);
  if (worker_ask(worker, request)) worker_reply(worker, of->seconds, reply);
}

static bool is_same(const draw_finding *of, const draw_reply *reply) {
  return !reply->unfit && reply->verdict == of->reply.verdict;
}

/* Whether the finding is there again in a process of its own, after the case `before` where there
 * is one. */
static bool repeats(draw_finding *of, const uint64_t *before, int n, draw_reply *reply) {
  draw_worker worker = {0};
  draw_request first = {.seed = of->request.seed, .only = of->request.only};
  for (int i = 0; i < n; i++) {
    first.number = before[i];
    ask(of, &worker, &first, reply);
  }
  ask(of, &worker, &of->request, reply);
  worker_stop(&worker);
  return is_same(of, reply);
}

void examine_print(const draw_request *request, const char *device) {
  static char text[16384];
  draw_reply reply;
  void *made = worker_case_make(request, device, &reply);
  text[0] = 0;
  if (made) draw_operation_at(reply.operation)->print(made, text, sizeof text);
  printf("%s\n", text);
  free(made);
}

static void print_command(const draw_finding *of, const uint64_t *before, int n) {
  bool planned = draw_is_plan(of->device) || of->reply.operation == OPERATION_TILE;
  printf("  llrt_draws%s --device %s", planned ? "_plan" : "", of->device);
  if (of->target) printf(" --target %s", of->target);
  if (of->request.only >= 0) printf(" --only %s", draw_operation_at(of->request.only)->name);
  printf(" --case ");
  for (int i = 0; i < n; i++)
    printf("%llu:%llu,", (unsigned long long)of->request.seed, (unsigned long long)before[i]);
  printf("%llu:%llu", (unsigned long long)of->request.seed, (unsigned long long)of->request.number);
  for (int i = 0; i < of->request.n_edits; i++) printf("%c%d", i ? '.' : '/', of->request.edit[i]);
  printf("\n");
}

/* One pass over all ways; whether any made it smaller. */
static bool shrink_once(draw_finding *of, draw_worker *worker, double until) {
  bool smaller = false;
  for (int way = 0; now() < until && of->request.n_edits < MOST_EDITS;) {
    draw_reply reply;
    of->request.edit[of->request.n_edits++] = (int16_t)way;
    void *made =
        worker_case_make(&of->request, of->device, &reply); /* here first: most do not suit */
    free(made);
    if (!reply.unfit) ask(of, worker, &of->request, &reply);
    if (!reply.unfit && is_same(of, &reply)) {
      of->reply = reply;
      smaller = true;
      continue; /* the same way again */
    }
    of->request.n_edits--;
    if (reply.unfit == 2) break;
    way++;
  }
  return smaller;
}

static void shrink(draw_finding *of) {
  draw_worker worker = {0};
  double until = now() + of->budget;
  while (now() < until && shrink_once(of, &worker, until)) continue;
  worker_stop(&worker);
}

/* The one case before it that is needed; -1: none alone. */
static int find_before(draw_finding *of) {
  draw_reply reply;
  double until = now() + of->budget;
  for (int i = of->n_before - 1; i >= 0 && now() < until; i--)
    if (repeats(of, &of->before[i], 1, &reply)) return i;
  return -1;
}

void examine_finding(draw_finding *of) {
  draw_reply reply;
  printf("%s on %s, case %llu:%llu: %s\n", verdict_name((verdict)of->reply.verdict), of->device,
         (unsigned long long)of->request.seed, (unsigned long long)of->request.number,
         of->reply.why);
  if (of->budget > 0 && repeats(of, NULL, 0, &reply)) {
    shrink(of);
    print_command(of, NULL, 0);
    printf("    %s\n  ", of->reply.why);
  } else if (of->budget > 0) {
    int before = find_before(of);
    printf("  it does not repeat alone%s:\n",
           before >= 0 ? ", but after one case" : ", nor after any one of the cases before it");
    print_command(of, before >= 0 ? &of->before[before] : of->before,
                  before >= 0 ? 1 : of->n_before);
    printf("  ");
  } else {
    print_command(of, NULL, 0);
    printf("  ");
  }
  examine_print(&of->request, of->device);
  fflush(stdout);
}
