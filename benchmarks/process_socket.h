/* Bytes from one process to another, and a descriptor beside them. Every failure ends the program.
 */
#ifndef LLRT_BENCHMARKS_PROCESS_SOCKET_H
#define LLRT_BENCHMARKS_PROCESS_SOCKET_H

#include <stddef.h>

void process_send(int socket, const void *bytes, size_t size, int fd); /* fd -1: none */
int process_receive(int socket, void *bytes, size_t size); /* the descriptor; -1: none came */

#endif
