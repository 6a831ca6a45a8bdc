/* lld reads the object from a memory file and writes into a pipe. A pipe is the one kind of output
 * for which it neither makes a temporary file nor installs signal handlers to remove that on a
 * crash. */
#include "jit/compile/link.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "jit/compile/lld.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_ARGUMENTS 8

/* Fills arguments up to a NULL; returns their number. One thread: kernels are small, and a library
 * must not leave a thread pool behind. */
static int linker_arguments(const plan_target *target, const char *input, const char *output,
                            const char *arguments[MAX_ARGUMENTS]) {
  int n = 0;
  arguments[n++] = "ld.lld";
  arguments[n++] = "-shared";
  arguments[n++] = "--threads=1";
  /* A host kernel may call what the C library has (memcpy); device code has nobody to call. */
  if (!target->simd_lanes) arguments[n++] = "--no-undefined";
  arguments[n++] = input;
  arguments[n++] = "-o";
  arguments[n++] = output;
  arguments[n] = NULL;
  return n;
}

/* In this process as long as lld says that it can run again. */
static int run_linker(const char *const *arguments, int n, char *message, size_t message_size) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static bool usable = true;
  pthread_mutex_lock(&mutex);
  bool in_process = usable;
  int code = in_process ? jit_lld_run(arguments, n, message, message_size, &usable) : 0;
  pthread_mutex_unlock(&mutex);
  return in_process ? code : jit_lld_spawn(arguments, message, message_size);
}

static llrt_status make_input(const void *object, size_t size, int *descriptor) {
  *descriptor = memory_file("llrt-object");
  if (*descriptor < 0) return llrt_error_vendor(LLRT_IO, errno, "memfd_create: %m");
  for (size_t done = 0; done < size;) {
    ssize_t n = write(*descriptor, (const char *)object + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return llrt_error_vendor(LLRT_IO, errno, "writing the object: %m");
    done += (size_t)n;
  }
  return LLRT_OK;
}

/* The output's other end: a thread that empties the pipe while lld fills it. */
typedef struct output_sink {
  int read_end, write_end;
  pthread_t reader;
  llrt_text bytes;
} output_sink;

/* Goes on to the end even when memory runs out, so that the writer is never left waiting. */
static void *read_all(void *data) {
  output_sink *sink = data;
  char chunk[1 << 14];
  for (;;) {
    ssize_t n = read(sink->read_end, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return NULL;
    llrt_text_add_bytes(&sink->bytes, chunk, (size_t)n);
  }
}

static llrt_status sink_open(output_sink *sink) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return llrt_error_vendor(LLRT_IO, errno, "pipe: %m");
  sink->read_end = ends[0];
  sink->write_end = ends[1];
  llrt_text_init(&sink->bytes);

  /* The program's signals are for the program's own threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = memory_thread(&sink->reader, NULL, read_all, sink);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) return LLRT_OK;
  close(ends[0]);
  close(ends[1]);
  return llrt_error_vendor(LLRT_OUT_OF_MEMORY, error, "no thread to read the linker's output");
}

/* Closing our write end ends the reader. */
static void sink_close(output_sink *sink) {
  close(sink->write_end);
  pthread_join(sink->reader, NULL);
  close(sink->read_end);
}

/* By paths with this process's number, not "self": a spawned linker opens them too. */
static llrt_status link_descriptors(const plan_target *target, int input, int output) {
  char input_path[64], output_path[64], message[512] = "";
  snprintf(input_path, sizeof input_path, "/proc/%d/fd/%d", (int)getpid(), input);
  snprintf(output_path, sizeof output_path, "/proc/%d/fd/%d", (int)getpid(), output);
  const char *arguments[MAX_ARGUMENTS];
  int n = linker_arguments(target, input_path, output_path, arguments);
  int code = run_linker(arguments, n, message, sizeof message);
  if (code == 0) return LLRT_OK;
  return llrt_error(LLRT_COMPILE, "linking for %s: %s", target->name, message);
}

static llrt_status link_input(const plan_target *target, int input, llrt_text *output) {
  output_sink sink;
  LLRT_TRY(sink_open(&sink));
  llrt_status status = link_descriptors(target, input, sink.write_end);
  sink_close(&sink);
  if (status == LLRT_OK) status = llrt_text_status(&sink.bytes);
  if (status == LLRT_OK) *output = sink.bytes;
  else llrt_text_fini(&sink.bytes);
  return status;
}

llrt_status jit_link_object(const plan_target *target, const void *object, size_t object_size,
                            char **linked, size_t *size) {
  *linked = NULL;
  *size = 0;
  int input;
  llrt_text output = {0};
  llrt_status status = make_input(object, object_size, &input);
  if (status == LLRT_OK) status = link_input(target, input, &output);
  if (input >= 0) close(input);
  *linked = output.data;
  *size = output.length;
  return status;
}
