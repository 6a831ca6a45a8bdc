/* What planning tried, for who asks why: every variant, what refused it, and what it costs or would
 * have cost. Nothing is collected, and nothing is spent, unless the options have a trace. */
#ifndef LLRT_JIT_PLAN_COST_TRACE_H
#define LLRT_JIT_PLAN_COST_TRACE_H

#include "base/text.h"
#include "jit/plan/kernel/plan.h"

#define PLAN_MAX_ATTEMPTS 160
#define PLAN_ATTEMPT_NAME 128
#define PLAN_ATTEMPT_WORDS 240

/* One variant that was tried. */
typedef struct plan_attempt {
  char what[PLAN_ATTEMPT_NAME];
  char why[PLAN_ATTEMPT_WORDS]; /* what refused it; "": it was taken */
  double clocks; /* of a multiprocessor, for each byte that is moved, as predicted; < 0: no kernel
                    was made that could tell */
} plan_attempt;

typedef struct plan_trace {
  int n, left_out; /* attempts, and those past the last one */
  plan_attempt attempt[PLAN_MAX_ATTEMPTS];
} plan_trace;

/* The trace that is asked for, or NULL. */
static inline plan_trace *plan_trace_of(const plan_options *options) {
  return options ? options->trace : NULL;
}

/* A variant, in printf's words, was taken: the kernel. */
void plan_taken(const plan_options *options, const plan_kernel *kernel, const char *what, ...)
    __attribute__((format(printf, 3, 4)));

/* A variant `what` was refused, for the reason in printf's words; kernel: what it would have been,
 * or NULL where none was made. Returns OK, so that who goes on without it returns that. */
llrt_status plan_refused(const plan_options *options, const plan_kernel *kernel, const char *what,
                         const char *why, ...) __attribute__((format(printf, 4, 5)));

/* The same of a status that refuses: the reason is its message. Returns the status. */
llrt_status plan_refused_by(const plan_options *options, llrt_status status, const char *what);

/* What the thread's last error says, without the name of the function that a caller called. */
const char *plan_refusal(void);

/* All of it as text, a line for each attempt. */
void plan_trace_print(const plan_trace *trace, llrt_text *out);

#endif
