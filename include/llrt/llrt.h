/* llrt: layouts as linear maps over F2, kernels made for exactly the pair of layouts at hand.
 *
 * The rules that hold for every function, so that each header says only what deviates:
 *  - A function that can fail returns llrt_status and clears its outputs on entry; llrt_last_error()
 *    then says what was wrong with which argument. No function aborts, prints or changes process state.
 *  - Handles are made by _create/_open/_prepare/_load and ended by the matching call, which takes the
 *    handle's address, clears it, and accepts NULL. Everything else is a plain value.
 *  - Params structs may be NULL; all-zero is the default; they live only for the call.
 *  - Pointers passed in are borrowed for the call unless "Ownership" says otherwise.
 *  - Thread: any thread may call any function; one handle may be used by many threads at once unless
 *    its comment says otherwise. Destroying is the last use.
 *  - Launches on the host are spread over threads of the library: one pool in a process, at most one thread for each
 *    core that the process may use, all signals blocked, started when first wanted, ended with the last context and
 *    when the library is unloaded. Signal handlers and the caller's floating-point mode are left alone.
 *  - A child of fork() may go on with contexts in which no other thread was in a call at the fork, and no kernel was
 *    being compiled behind calls; it has threads of its own then. Of GPUs nothing survives a fork: that is their
 *    drivers' rule.
 *  - Sizes are in elements for offsets and strides, bytes where the name says bytes. */
#ifndef LLRT_LLRT_H
#define LLRT_LLRT_H

#include <llrt/combiner.h>
#include <llrt/convert.h>
#include <llrt/device.h>
#include <llrt/dot.h>
#include <llrt/dot_pack.h>
#include <llrt/gather.h>
#include <llrt/layout.h>
#include <llrt/map.h>
#include <llrt/matrix.h>
#include <llrt/op.h>
#include <llrt/reduce.h>
#include <llrt/scan.h>
#include <llrt/status.h>
#include <llrt/storage.h>
#include <llrt/storage_named.h>
#include <llrt/storage_padded.h>
#include <llrt/tensor.h>
#include <llrt/tirx.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_VERSION_MAJOR 0
#define LLRT_VERSION_MINOR 1
#define LLRT_VERSION_PATCH 0

/* "0.1.0", of the library in use. Static text. */
LLRT_API const char *llrt_version(void);

#ifdef __cplusplus
}
#endif
#endif
