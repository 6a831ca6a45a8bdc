/* What llrt answers when a device fails: a program outside of llrt that knows include/llrt and the
 * driver alone.
 *
 *   llrt-faults --device cuda:0
 *
 * Each fault has a process and a limit of time of its own, and a line: what calls answered, and how
 * the process ended. Exit status 0: each failing call gave an error with a message, what can go on
 * did so with right results, and every process ended by itself. */
#include "faults.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] = "llrt-faults [--device NAME] [--only FAULT] [--seconds N]\n"
                            "  --device   cuda:N or cuda-emu:TARGET (cuda:0)\n"
                            "  --only     this fault alone\n"
                            "  --seconds  that a process may take (120)\n";

typedef struct faults_params {
  const char *device, *only;
  int seconds;
} faults_params;

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/* In a process of its own. */
static int run(const faults_kind *kind, const char *device) {
  const char *why;
  faults_bench bench = {.name = device, .emulated = strstr(device, "-emu:") != NULL};
  if (!graph_driver_open(device, &bench.driver, &why)) {
    printf(" %s: %s;", device, why);
    fflush(stdout);
    return 1;
  }
  faults_open(&bench);
  kind->run(&bench);
  fflush(stdout);
  faults_close(&bench);
  return bench.wrong != 0;
}

/* Whether the process has ended within so many seconds. */
static bool wait_for(pid_t child, double seconds, int *status) {
  const struct timespec pause = {.tv_nsec = 10000000};
  double end = now() + seconds;
  for (;;) {
    pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    if (now() > end) return false;
    nanosleep(&pause, NULL);
  }
}

/* Returns whether all was as it should be. */
static bool run_apart(const faults_kind *kind, const faults_params *params) {
  int status = 0;
  double begin = now();
  printf("%s:", kind->name);
  fflush(stdout);
  pid_t child = fork();
  faults_must(child < 0, "fork");
  if (child == 0) exit(run(kind, params->device));
  if (!wait_for(child, params->seconds, &status)) {
    kill(child, SIGKILL);
    bool gone = wait_for(child, 30, &status);
    printf(" HANGS: killed after %d s%s\n", params->seconds, gone ? "" : ", and does not die");
    return false;
  }
  double took = now() - begin;
  if (WIFSIGNALED(status)) printf(" ENDED BY SIGNAL %d", WTERMSIG(status));
  else printf(" ended with %d", WEXITSTATUS(status));
  printf(" after %.1f s\n", took);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool read_option(const char *name, const char *value, faults_params *params) {
  if (strcmp(name, "--device") == 0) params->device = value;
  else if (strcmp(name, "--only") == 0) params->only = value;
  else if (strcmp(name, "--seconds") == 0) params->seconds = atoi(value);
  else return false;
  return params->seconds > 0;
}

int main(int argc, char **argv) {
  faults_params params = {"cuda:0", NULL, 120};
  int runs = 0, bad = 0;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && read_option(argv[i], argv[i + 1], &params)) continue;
    fputs(usage, stderr);
    return 2;
  }
  for (const faults_kind *kind = faults_kinds; kind->name; kind++) {
    if (params.only && strcmp(params.only, kind->name) != 0) continue;
    runs++;
    bad += !run_apart(kind, &params);
  }
  printf("%s: %d faults, %d not as they should be\n", params.device, runs, bad);
  return runs == 0 || bad != 0;
}
