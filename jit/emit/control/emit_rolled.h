/* Steps of a program over rows by turns: see rolled.h. */
#ifndef LLRT_JIT_EMIT_EMIT_ROLLED_H
#define LLRT_JIT_EMIT_EMIT_ROLLED_H

#include "jit/plan/rolled/rolled.h"
#include "jit/emit/core/emitter.h"

typedef struct emit_rolling emit_rolling;

/* What emission of the kernel's runs takes; *out: NULL where it has none. */
llrt_status emit_rolling_begin(const plan_kernel *kernel, emit_rolling **out);
void emit_rolling_end(emit_rolling *rolling);
/* Emits the run that begins with step `first`; how many steps it has, 0: there is none. */
int emit_rolled(emitter *e, int first);

#endif
