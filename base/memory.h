/* Where all memory, files of memory and threads of llrt's own come from; what is got here is given
 * back by free(), munmap(), close() and pthread_join(). LLVM and the drivers get theirs by
 * themselves. Thread: any.
 *
 * Tests make requests fail: that is asked of every one, so that what runs in tests is what runs. */
#ifndef LLRT_BASE_MEMORY_H
#define LLRT_BASE_MEMORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* All of them NULL, without a message, where there is no memory. */
void *memory_new(size_t bytes);                       /* contents undefined */
void *memory_zeroed(size_t n, size_t bytes);          /* n times so many, zero */
void *memory_resize(void *old, size_t bytes);         /* old stays as it is where this fails */
void *memory_aligned(size_t alignment, size_t bytes); /* bytes: a multiple of the alignment */
char *memory_text(const char *text);                  /* a copy */
void *memory_map(size_t bytes);    /* whole pages, zero, to be read and written */
int memory_file(const char *name); /* a descriptor, closed by exec, of a size that may be sealed; -1
                                      with errno: there is none */
int memory_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                  void *data); /* as pthread_create */

/* For tests. What requests are of; a request fails if it is the n-th from now on of these kinds
 * (0: none does), or, where `later`, any behind that one. memory_asked: how many there were of
 * these kinds since. Thread: no request is under way. */
enum { MEMORY_HEAP = 1, MEMORY_MAPS = 2, MEMORY_FILES = 4, MEMORY_THREADS = 8, MEMORY_ALL = 15 };
void memory_fail(int kinds, int64_t n, int later);
int64_t memory_asked(void);

#endif
