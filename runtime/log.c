#include "runtime/log.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const level_name[] = {
    [LLRT_LOG_DEFAULT] = "default", [LLRT_LOG_OFF] = "off",   [LLRT_LOG_ERROR] = "error",
    [LLRT_LOG_WARNING] = "warning", [LLRT_LOG_INFO] = "info", [LLRT_LOG_VERBOSE] = "verbose"};

const char *llrt_log_level_name(llrt_log_level level) {
  return (int)level >= 0 && level <= LLRT_LOG_VERBOSE ? level_name[level] : "unknown";
}

/* ---- lines ---- */

/* One write, so that lines of several threads and processes do not mix. What cannot be written is
 * lost. */
static void write_line(int file, llrt_log_level level, const char *message) {
  llrt_text line;
  llrt_text_init(&line);
  llrt_text_add(&line, "llrt %ld %s %s\n", (long)getpid(), llrt_log_level_name(level), message);
  for (size_t done = 0; line.data && done < line.length;) {
    ssize_t n = write(file, line.data + done, line.length - done);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) done += (size_t)n;
  }
  llrt_text_fini(&line);
}

static void tell(context_log *log, llrt_log_level level, const char *message) {
  bool programs = atomic_load_explicit(&log->programs, memory_order_relaxed) >= (int)level;
  if (log->persons >= (int)level) write_line(log->file, level, message);
  if (programs && log->function) log->function(log->user, level, message);
}

void llrt_log(context_log *log, llrt_log_level level, const char *format, ...) {
  if (!llrt_log_wants(log, level)) return;
  int saved = errno;
  va_list arguments;
  va_start(arguments, format);
  llrt_text text;
  llrt_text_init(&text);
  llrt_text_add_list(&text, format, arguments);
  va_end(arguments);
  size_t size = 4 * text.length + 1;
  char *message = text.data ? memory_new(size) : NULL;
  if (message) {
    llrt_escape(text.data, message, size);
    tell(log, level, message);
  }
  free(message);
  llrt_text_fini(&text);
  errno = saved;
}

/* ---- LLRT_LOG ---- */

/* The level that text[length] names, or DEFAULT: none. */
static llrt_log_level find_level(const char *text, size_t length) {
  if (length == 4 && strncasecmp(text, "warn", length) == 0) return LLRT_LOG_WARNING;
  for (int level = LLRT_LOG_OFF; level <= LLRT_LOG_VERBOSE; level++)
    if (strlen(level_name[level]) == length && strncasecmp(text, level_name[level], length) == 0)
      return (llrt_log_level)level;
  return LLRT_LOG_DEFAULT;
}

/* The path with the process's number for each %p. */
static void expand_path(const char *path, llrt_text *out) {
  for (; *path; path++) {
    bool number = path[0] == '%' && path[1] == 'p';
    if (number) llrt_text_add(out, "%ld", (long)getpid());
    else llrt_text_add_bytes(out, path, 1);
    path += number;
  }
}

static void open_file(context_log *log, const char *path) {
  if (strcmp(path, "stdout") == 0) log->file = STDOUT_FILENO;
  if (strcmp(path, "stdout") == 0 || strcmp(path, "stderr") == 0) return;
  llrt_text expanded;
  llrt_text_init(&expanded);
  expand_path(path, &expanded);
  int file =
      expanded.data ? open(expanded.data, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  llrt_text_fini(&expanded);
  if (file >= 0) log->file = file;
  else llrt_log(log, LLRT_LOG_ERROR, "LLRT_LOG: cannot append to '%s': %s", path, strerror(errno));
}

/* What is asked for wrongly is told to whoever asked. */
static void read_variable(context_log *log) {
  const char *asked = secure_getenv("LLRT_LOG");
  if (!asked || !*asked) return;
  size_t length = strcspn(asked, ":");
  llrt_log_level level = find_level(asked, length);
  log->persons = level == LLRT_LOG_DEFAULT ? LLRT_LOG_ERROR : (int)level;
  if (level == LLRT_LOG_DEFAULT)
    write_line(log->file, LLRT_LOG_ERROR,
               "LLRT_LOG is LEVEL or LEVEL:FILE: off, error, warning, info or verbose");
}

static void settle(context_log *log) {
  int programs = log->function ? atomic_load(&log->programs) : LLRT_LOG_OFF;
  atomic_store(&log->most, programs > log->persons ? programs : log->persons);
}

void llrt_log_init(context_log *log, llrt_log_function *function, void *user,
                   llrt_log_level level) {
  const char *asked = secure_getenv("LLRT_LOG"), *path = asked ? strchr(asked, ':') : NULL;
  *log = (context_log){
      .user = user, .function = function, .persons = LLRT_LOG_OFF, .file = STDERR_FILENO};
  read_variable(log);
  llrt_log_set_level(log, level);
  if (path && path[1] && log->persons > LLRT_LOG_OFF) open_file(log, path + 1);
}

void llrt_log_fini(context_log *log) {
  if (log->file > STDERR_FILENO) close(log->file);
}

void llrt_log_set_level(context_log *log, llrt_log_level level) {
  atomic_store(&log->programs, level == LLRT_LOG_DEFAULT ? LLRT_LOG_INFO : (int)level);
  settle(log);
}
