/* What the shared library exports: everything else has hidden visibility. */
#ifndef LLRT_EXPORT_H
#define LLRT_EXPORT_H

#if defined(__GNUC__)
#define LLRT_API __attribute__((visibility("default")))
#else
#define LLRT_API
#endif

#endif
