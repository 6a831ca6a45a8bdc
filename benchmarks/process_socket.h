/* Bytes from one process to another, and a descriptor beside them; of tests, too. false: it failed,
 * as errno says, or fewer bytes came. */
#ifndef LLRT_BENCHMARKS_PROCESS_SOCKET_H
#define LLRT_BENCHMARKS_PROCESS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/* fd -1: none. */
bool process_send(int socket, const void *bytes, size_t size, int fd);

/* *fd is the receiver's to close; -1: none came. */
bool process_receive(int socket, void *bytes, size_t size, int *fd);

#endif
