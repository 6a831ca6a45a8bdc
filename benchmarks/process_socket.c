#include "process_socket.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

typedef union control {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
} control;

bool process_send(int socket, const void *bytes, size_t size, int fd) {
  control beside = {.room = {0}};
  struct iovec data = {.iov_base = (void *)bytes, .iov_len = size};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  if (fd >= 0) {
    message.msg_control = beside.room;
    message.msg_controllen = sizeof beside.room;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(socket, &message, 0) == (ssize_t)size;
}

bool process_receive(int socket, void *bytes, size_t size, int *fd) {
  control beside;
  struct iovec data = {.iov_base = bytes, .iov_len = size};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = beside.room,
                           .msg_controllen = sizeof beside.room};
  *fd = -1;
  if (recvmsg(socket, &message, MSG_WAITALL) != (ssize_t)size) return false;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(header), sizeof *fd);
  return true;
}
