/* What the build is: cmake/BuildId.cmake writes it into a source of its own. */
#ifndef LLRT_RUNTIME_BUILD_ID_H
#define LLRT_RUNTIME_BUILD_ID_H

/* 32 hexadecimal digits: a hash of all sources of both libraries and of LLVM's version. Equal ids
 * make equal kernels. */
extern const char llrt_build_id[];
extern const char llrt_built_for_llvm[]; /* "19.1.7" */

#endif
