/* A context's log: who is told what (include/llrt/log.h). */
#ifndef LLRT_RUNTIME_LOG_H
#define LLRT_RUNTIME_LOG_H

#include <llrt/log.h>
#include <llrt/status.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct context_log {
  atomic_int
      most; /* the most detailed level that anybody wants: all that is read where nothing is told */
  atomic_int programs; /* level of `function` */
  void *user;
  llrt_log_function *function; /* NULL: none */
  int persons;                 /* level of LLRT_LOG */
  int file;                    /* where that goes */
} context_log;

/* function may be NULL. Reads LLRT_LOG; what is wrong with it is told on stderr, where lines then
 * go. */
void llrt_log_init(context_log *log, llrt_log_function *function, void *user, llrt_log_level level);
void llrt_log_fini(context_log *log);

/* Level of the program's function from now on. */
void llrt_log_set_level(context_log *log, llrt_log_level level);

/* Whether anybody wants such messages. Cost: a load. */
static inline bool llrt_log_wants(const context_log *log, llrt_log_level level) {
  return atomic_load_explicit(&log->most, memory_order_relaxed) >= (int)level;
}

/* Tells everybody who wants it. Cost: as llrt_log_wants where nobody does. */
void llrt_log(context_log *log, llrt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
