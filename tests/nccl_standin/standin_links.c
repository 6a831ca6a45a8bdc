/* Sockets between all pairs of ranks. A message is its length and its bytes. */
#include "tests/nccl_standin/standin.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 2, SLOW_MS = 300, EXIT_STATUS = 3 };

static void pause_ms(int ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* ---- connecting ---- */

static socklen_t address_of(const standin_comm *comm, int rank, struct sockaddr_un *address) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX}; /* of the abstract name space */
  int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "llrt-nccl-%s-%d",
                        comm->id.bytes, rank);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int listen_for(const standin_comm *comm) {
  struct sockaddr_un address;
  socklen_t length = address_of(comm, comm->rank, &address);
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s >= 0 &&
      (bind(s, (struct sockaddr *)&address, length) != 0 || listen(s, STANDIN_MAX_RANKS) != 0)) {
    close(s);
    s = -1;
  }
  return s;
}

static int connect_to(const standin_comm *comm, int rank) {
  struct sockaddr_un address;
  socklen_t length = address_of(comm, rank, &address);
  while (!comm->ends) {
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), own = comm->rank;
    if (s < 0) return -1;
    if (connect(s, (struct sockaddr *)&address, length) == 0 &&
        write(s, &own, sizeof own) == (ssize_t)sizeof own)
      return s;
    close(s);
    pause_ms(PAUSE_MS);
  }
  return -1;
}

/* Takes one of the higher ranks. */
static bool accept_one(standin_comm *comm, int listening) {
  while (!comm->ends) {
    int other, s = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (s < 0) {
      pause_ms(PAUSE_MS);
      continue;
    }
    if (read(s, &other, sizeof other) != (ssize_t)sizeof other) return false;
    comm->socket[other] = s;
    return true;
  }
  return false;
}

nccl_result standin_connect(standin_comm *comm) {
  int listening = listen_for(comm);
  bool all = listening >= 0;
  for (int r = 0; r < comm->rank && all; r++) {
    comm->socket[r] = connect_to(comm, r);
    all = comm->socket[r] >= 0;
  }
  for (int r = comm->rank + 1; r < comm->ranks && all; r++) all = accept_one(comm, listening);
  if (listening >= 0) close(listening);
  return all ? NCCL_RESULT_SUCCESS : STANDIN_SYSTEM_ERROR;
}

/* ---- moving ---- */

/* How far the messages to or from one peer are. */
typedef struct flow {
  int op;      /* the current message; n: all have gone */
  size_t done; /* bytes of it, its length included */
  uint64_t length;
} flow;

typedef struct mover {
  standin_job *job;
  flow out[STANDIN_MAX_RANKS], in[STANDIN_MAX_RANKS];
  size_t moved;
} mover;

static void next_op(const standin_job *job, flow *f, bool sends, int peer) {
  f->done = 0;
  while (f->op < job->n && (job->op[f->op].sends != sends || job->op[f->op].peer != peer)) f->op++;
}

/* A rank's messages to itself, the first sent being the first received. */
static void move_own(standin_job *job) {
  flow out = {0}, in = {0};
  int own = job->comm->rank;
  for (;; out.op++, in.op++) {
    next_op(job, &out, true, own);
    next_op(job, &in, false, own);
    if (out.op == job->n || in.op == job->n) return;
    memcpy(job->op[in.op].stage, job->op[out.op].stage, job->op[in.op].bytes);
  }
}

/* As many bytes as the socket takes or has. false: the other end is gone, or sends something else.
 */
static bool advance(mover *m, flow *f, bool sends, int peer) {
  const standin_op *op = &m->job->op[f->op];
  int s = m->job->comm->socket[peer];
  bool in_head = f->done < sizeof f->length;
  if (sends) f->length = op->bytes;
  char *at = in_head ? (char *)&f->length + f->done : op->stage + (f->done - sizeof f->length);
  size_t left = in_head ? sizeof f->length - f->done : op->bytes + sizeof f->length - f->done;
  ssize_t n =
      sends ? send(s, at, left, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(s, at, left, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (n == 0 && left > 0) return false;
  f->done += (size_t)n;
  m->moved += (size_t)n;
  if (f->done >= sizeof f->length && f->length != op->bytes) return false;
  if (f->done < sizeof f->length + op->bytes) return true;
  f->op++;
  next_op(m->job, f, sends, peer);
  return true;
}

/* Waits for a socket that can go on, not for long. false: all messages have gone. */
static bool wait_some(const mover *m) {
  struct pollfd set[STANDIN_MAX_RANKS];
  int n = 0;
  for (int peer = 0; peer < m->job->comm->ranks; peer++) {
    short events = 0;
    if (m->out[peer].op < m->job->n) events |= POLLOUT;
    if (m->in[peer].op < m->job->n) events |= POLLIN;
    if (events) set[n++] = (struct pollfd){.fd = m->job->comm->socket[peer], .events = events};
  }
  if (n > 0) poll(set, (nfds_t)n, 5);
  return n > 0;
}

static nccl_result move_all(mover *m) {
  standin_job *job = m->job;
  for (int peer = 0; peer < job->comm->ranks; peer++) {
    bool own = peer == job->comm->rank;
    m->out[peer].op = m->in[peer].op = own ? job->n : 0;
    next_op(job, &m->out[peer], true, peer);
    next_op(job, &m->in[peer], false, peer);
  }
  while (wait_some(m)) {
    if (job->comm->ends) return STANDIN_INTERNAL_ERROR;
    for (int peer = 0; peer < job->comm->ranks; peer++) {
      if (m->out[peer].op < job->n && !advance(m, &m->out[peer], true, peer))
        return STANDIN_REMOTE_ERROR;
      if (m->in[peer].op < job->n && !advance(m, &m->in[peer], false, peer))
        return STANDIN_REMOTE_ERROR;
    }
    if (job->fault == STANDIN_EXITS && m->moved > 0) _exit(EXIT_STATUS);
  }
  return NCCL_RESULT_SUCCESS;
}

nccl_result standin_move(standin_job *job) {
  if (job->fault == STANDIN_GROUP_FAILS) return STANDIN_INTERNAL_ERROR;
  if (job->fault == STANDIN_SLOW) pause_ms(SLOW_MS);
  while (job->fault == STANDIN_HANGS && !job->comm->ends) pause_ms(PAUSE_MS);
  mover *m = calloc(1, sizeof *m);
  if (!m) return STANDIN_SYSTEM_ERROR;
  m->job = job;
  move_own(job);
  nccl_result result = move_all(m);
  free(m);
  return result;
}
