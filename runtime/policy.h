/* When kernels are compiled: the context's policy, the thread that compiles behind calls, and what
 * is told of it. */
#ifndef LLRT_RUNTIME_POLICY_H
#define LLRT_RUNTIME_POLICY_H

#include "runtime/prepared.h"

/* The policy now; another thread may be setting it. */
llrt_compile_policy llrt_policy_of(const llrt_context *context);

/* NOT_PREPARED: why, and what would have to be prepared, in a line that a list of warm-up calls can
 * keep. */
llrt_status llrt_not_prepared(const op_description *desc, const storage_set *set, const char *why);

/* Tells the context's log and its on_compile of a kernel that was compiled for the operation. */
void llrt_tell_compile(llrt_op *op, double milliseconds, bool background);

/* Compiles the operation's variant for a tensor of this shape on the context's own thread,
 * sometime; where that cannot be started nothing happens. Once per operation at a time. */
void llrt_compile_behind(llrt_op *op, const llrt_tensor *first);

/* Waits for what is being compiled for the device and drops what waits; of all devices with NULL,
 * whose thread ends then. */
void llrt_compile_behind_end(llrt_context *context, const llrt_device *device);

/* Whether the calling thread is the one that compiles behind calls. */
bool llrt_compiles_behind(void);

#endif
