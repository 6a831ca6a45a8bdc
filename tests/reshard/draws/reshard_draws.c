/* llrt_reshard_draws SEED COUNT [DEVICES [nccl | FILE]]: draws and runs so many re-shards, each by
 * a thread for each rank, on `host`, which ranks share, or on devices named with commas between, a
 * rank each: cases of more ranks are left out. By peers' memory, by a stand-in for NCCL (nccl), or
 * by NCCL (the library's file), whose communicators all cases of so many ranks share. Prints what
 * is wrong, how many were refused and why, and how many were run. With LLRT_TEST_CASE=N only the
 * case of that number is run. Exit status 1: something was wrong. */
#include "tests/reshard/reshard_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PER_THREAD_STREAM ((void *)2) /* CU_STREAM_PER_THREAD */

static void must(llrt_status status) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "%s\n", llrt_last_error());
  exit(2);
}

/* Devices in turn, each reaching all, and each of a context of its own: one that unloads a kernel
 * of another rank's device waits for that rank. context[RESHARD_MAX_RANKS]: one for each device. */
static void open_devices(char *names, reshard_place *place, llrt_context **context) {
  const llrt_context_params params = {.threads = 1};
  llrt_device *device[RESHARD_MAX_RANKS];
  int n = 0;
  for (char *name = strtok(names, ","); name && n < RESHARD_MAX_RANKS; name = strtok(NULL, ",")) {
    must(llrt_context_create(&params, &context[n]));
    must(llrt_device_open(context[n], name, NULL, &device[n]));
    n++;
  }
  for (int i = 0; i < n && !place->nccl; i++)
    for (int j = 0; j < n; j++) must(llrt_device_reach_peer(device[i], device[j]));
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) place->device[i] = device[i % n];
  place->devices = n;
}

static void close_devices(reshard_place *place, llrt_context **context) {
  for (int ranks = 1; ranks <= RESHARD_MAX_RANKS && place->nccl; ranks++)
    reshard_close_kept(place, ranks);
  for (int i = 0; i < place->devices; i++) {
    llrt_device_close(&place->device[i]);
    llrt_context_destroy(&context[i]);
  }
}

/* The library of the word: a stand-in beside this program's libraries, or the file itself. */
static void find_nccl(const char *word, const char *device, char *path, size_t size) {
  const char *driver = strncmp(device, "host", 4) == 0  ? "host"
                       : strncmp(device, "hip", 3) == 0 ? "hip"
                                                        : "cuda";
  char own[512] = "";
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  char *end = strrchr(own, '/');
  if (strcmp(word, "nccl") != 0 || length <= 0 || !end) snprintf(path, size, "%s", word);
  else snprintf(path, size, "%.*s/../lib/libnccl_standin_%s.so", (int)(end - own), own, driver);
}

int main(int argc, char **argv) {
  random_source source = {.state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1};
  int count = argc > 2 ? atoi(argv[2]) : 100, run = 0, wrong = 0, refused = 0;
  char names[256], nccl[600], message[600], text[4000];
  const char *only = getenv("LLRT_TEST_CASE"), *seconds = getenv("LLRT_TEST_SECONDS");
  time_t begun = time(NULL);
  reshard_place place = {.timeout_ms = 600000};
  llrt_context *context[RESHARD_MAX_RANKS];
  llrt_comm *kept[RESHARD_MAX_RANKS + 1][RESHARD_MAX_RANKS] = {{NULL}};
  snprintf(names, sizeof names, "%s", argc > 3 ? argv[3] : "host");
  if (strncmp(names, "host", 4) != 0) place.stream = PER_THREAD_STREAM;
  if (argc > 4) find_nccl(argv[4], names, nccl, sizeof nccl);
  if (argc > 4) place.nccl = nccl;
  place.kept = kept;
  open_devices(names, &place, context);
  for (int i = 0; i < count && !(seconds && time(NULL) - begun >= atoi(seconds)); i++) {
    reshard_case c;
    reshard_case_draw(&source, &c);
    if (only && atoi(only) != i) continue;
    if (place.stream && c.ranks > place.devices) continue;
    message[0] = 0;
    run++;
    reshard_result result = reshard_case_run(&c, &place, message, sizeof message);
    refused += result == RESHARD_REFUSED;
    wrong += result == RESHARD_WRONG;
    if (result == RESHARD_RIGHT) continue;
    reshard_case_print(&c, text, sizeof text);
    printf("%s %d: %s\n%s%s\n", result == RESHARD_WRONG ? "WRONG" : "refused", i, message,
           result == RESHARD_WRONG ? "  " : "", result == RESHARD_WRONG ? text : "");
    fflush(stdout);
  }
  printf("%d re-shards: %d wrong, %d refused\n", run, wrong, refused);
  close_devices(&place, context);
  return wrong > 0;
}
