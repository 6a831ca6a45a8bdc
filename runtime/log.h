/* A context's log: who is told what (include/llrt/log.h). */
#ifndef LLRT_RUNTIME_LOG_H
#define LLRT_RUNTIME_LOG_H

#include <llrt/log.h>
#include <llrt/status.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct context_log {
  /* The more detailed of the two levels below: all that a message which nobody wants reads. */
  atomic_int most;
  atomic_int programs;         /* level of the program's function */
  llrt_log_function *function; /* the program's; NULL: none */
  void *user;                  /* its argument */
  int persons;                 /* level of the environment variable LLRT_LOG */
  int file;                    /* descriptor that its lines are written to */
} context_log;

/* function: the program's; may be NULL. Reads LLRT_LOG; if its value is wrong, says so on stderr
 * and writes lines there. */
void llrt_log_init(context_log *log, llrt_log_function *function, void *user, llrt_log_level level);
void llrt_log_fini(context_log *log);

/* Sets the level of the program's function. Thread: any. */
void llrt_log_set_level(context_log *log, llrt_log_level level);

/* Whether the program's function or LLRT_LOG wants messages of this level. Cost: a load. */
static inline bool llrt_log_wants(const context_log *log, llrt_log_level level) {
  return atomic_load_explicit(&log->most, memory_order_relaxed) >= (int)level;
}

/* Gives a message to the function and writes it to the file, where they want its level. Cost: that
 * of llrt_log_wants where neither does. */
void llrt_log(context_log *log, llrt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
