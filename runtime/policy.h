/* When kernels are compiled: the context's policy, the thread that compiles behind calls, and what
 * is told of it. */
#ifndef LLRT_RUNTIME_POLICY_H
#define LLRT_RUNTIME_POLICY_H

#include "runtime/prepared.h"

/* The context's policy. Thread: any, also while another thread sets it. */
llrt_compile_policy llrt_policy_of(const llrt_context *context);

/* Returns NOT_PREPARED. Its message says why, and in one line what to prepare: what a program's
 * list of warm-up calls can keep. */
llrt_status llrt_not_prepared(const op_description *desc, const storage_set *set, const char *why);

/* Tells the context's log and its on_compile that a kernel of the operation was compiled, in how
 * many milliseconds, and whether behind calls. */
void llrt_tell_compile(llrt_op *op, double milliseconds, bool background);

/* Has the context's own thread compile, some time later, the operation's variant for the shape of
 * `first`, its tensor 0. Nothing happens where that thread cannot be started or has the operation
 * already. */
void llrt_compile_behind(llrt_op *op, const llrt_tensor *first);

/* Waits until nothing is being compiled for the device, and drops what was to be. device NULL: for
 * all devices of the context; the thread ends, too. */
void llrt_compile_behind_end(llrt_context *context, const llrt_device *device);

/* Whether the calling thread is the one that compiles behind calls. */
bool llrt_compiles_behind(void);

#endif
