/* Messages between the processes of a test: bytes, and a descriptor beside them. */
#ifndef LLRT_TESTS_RESHARD_SOCKET_H
#define LLRT_TESTS_RESHARD_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/* fd -1: none. */
bool socket_send(int socket, const void *bytes, size_t size, int fd);

/* *fd is the receiver's to close; -1: none came. */
bool socket_receive(int socket, void *bytes, size_t size, int *fd);

#endif
