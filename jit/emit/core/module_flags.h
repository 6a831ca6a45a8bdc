/* What a module tells those who compile it. */
#ifndef LLRT_JIT_EMIT_MODULE_FLAGS_H
#define LLRT_JIT_EMIT_MODULE_FLAGS_H

/* Named metadata of modules that want PTX 8.4, whatever their target's text begins with. */
#define EMIT_PTX_84 "llrt_ptx_84"

#endif
