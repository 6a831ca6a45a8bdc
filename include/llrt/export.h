/* What the shared library exports: everything else has hidden visibility. LLRT_STATIC_LIBRARY: for
 * programs that link libllrt.a; on Windows alone it matters. */
#ifndef LLRT_EXPORT_H
#define LLRT_EXPORT_H

#if defined(_WIN32) && defined(LLRT_STATIC_LIBRARY)
#define LLRT_API
#elif defined(_WIN32) && defined(LLRT_BUILDS_LIBRARY)
#define LLRT_API __declspec(dllexport)
#elif defined(_WIN32)
#define LLRT_API __declspec(dllimport)
#elif defined(__GNUC__)
#define LLRT_API __attribute__((visibility("default")))
#else
#define LLRT_API
#endif

#endif
