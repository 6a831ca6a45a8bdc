/* llrt: layouts as linear maps over F2, kernels made for exactly the pair of layouts at hand.
 *
 * The rules that hold for every function, so that each header says only what deviates:
 *  - A function that can fail returns llrt_status and clears its outputs on entry;
 *    llrt_last_error() then says which function, and what was wrong with which argument. No
 *    function aborts or changes process state, nor prints, unless the person who runs the program
 *    asks for it (LLRT_LOG, log.h).
 *  - Handles are made by _create/_open/_prepare/_load and ended by the matching call, which takes
 *    the handle's address, clears it, and accepts NULL. Everything else is a plain value.
 *  - Params structs may be NULL; all-zero is the default; they live only for the call. Their first
 *    field is their size. 0 stands for the fields that the first version had (0.2); a struct of a
 *    newer version is accepted where the fields that this library does not know are zero, and is
 *    UNSUPPORTED otherwise.
 *  - Structs that the library fills and callers allocate begin with size too: the caller sets it,
 *    or 0 (= {0}), and no more than that is written.
 *  - Structs without a size never change; their `reserved` fields are zero, or the call is
 *    INVALID_ARGUMENT (docs/versions.md).
 *  - Pointers passed in are borrowed for the call unless "Ownership" says otherwise.
 *  - Thread: any thread may call any function; one handle may be used by many threads at once
 *    unless its comment says otherwise. Destroying is the last use.
 *  - Launches on the host, and several kernels of an operation that are compiled at once, are
 *    spread over threads of the library, or by the parallel_for: one pool in a process, at most
 *    one thread for each core that the process may use, all signals blocked, started when first
 *    wanted, ended with the last context and when the library is unloaded. Signal handlers and the
 *    caller's floating-point mode are left alone.
 *  - A child of fork() may go on with contexts in which no other thread was in a call at the fork,
 *    and no kernel was being compiled behind calls; it has threads of its own then. Of GPUs nothing
 *    survives a fork: that is their drivers' rule.
 *  - Sizes are in elements for offsets and strides, bytes where the name says bytes. */
#ifndef LLRT_LLRT_H
#define LLRT_LLRT_H

#include <llrt/cache.h>
#include <llrt/combiner.h>
#include <llrt/compute.h>
#include <llrt/convert.h>
#include <llrt/device.h>
#include <llrt/dlpack.h>
#include <llrt/dot.h>
#include <llrt/dot_pack.h>
#include <llrt/expression.h>
#include <llrt/gather.h>
#include <llrt/layout.h>
#include <llrt/log.h>
#include <llrt/map.h>
#include <llrt/matrix.h>
#include <llrt/mesh.h>
#include <llrt/op.h>
#include <llrt/recipe.h>
#include <llrt/reduce.h>
#include <llrt/reshard.h>
#include <llrt/scan.h>
#include <llrt/share.h>
#include <llrt/status.h>
#include <llrt/storage.h>
#include <llrt/storage_named.h>
#include <llrt/storage_padded.h>
#include <llrt/struct_info.h>
#include <llrt/tensor.h>
#include <llrt/tirx.h>
#include <llrt/tune.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_VERSION_MAJOR 0
#define LLRT_VERSION_MINOR 2
#define LLRT_VERSION_PATCH 0

/* "0.2.0", of the library in use. Static text. */
LLRT_API const char *llrt_version(void);

#ifdef __cplusplus
}
#endif
#endif
