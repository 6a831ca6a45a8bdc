/* The insides of emu_driver.h that its files share.
 *
 * Two locks: the state's (emu_lock), for queues, events and captures, held briefly; and the run
 * lock, for device memory, what lies where in it, and pools, which is held while a kernel runs: one
 * runs at a time. Who has the run lock never takes the state's, and who has the state's takes the
 * run lock only where contexts come and go. */
#ifndef LLRT_EMULATORS_EMU_STATE_H
#define LLRT_EMULATORS_EMU_STATE_H

#include "emulators/common/emu_control.h"
#include "emulators/common/emu_driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define TROUBLE_BYTES 768

/* ---- work ---- */

/* Of those that graphs have, the numbers are CUgraphNodeType's and hipGraphNodeType's. */
typedef enum emu_work_kind {
  EMU_WORK_KERNEL = 0,
  EMU_WORK_COPY = 1,
  EMU_WORK_SET = 2,
  EMU_WORK_CALL = 3,
  EMU_WORK_GRAPH = 4,
  EMU_WORK_NOTHING = 5,
  EMU_WORK_ALLOCATE = 10,
  EMU_WORK_FREE = 11,
  EMU_WORK_STAMP = 100, /* an event's; never in a graph */
} emu_work_kind;

/* When an event was passed. */
typedef struct emu_stamp {
  atomic_int holders;
  atomic_bool passed;
  struct timespec time;
} emu_stamp;

/* An allocation, which holds its addresses until nobody holds it. Under the run lock. */
typedef struct emu_block {
  atomic_int holders;
  emu_context *context;
  emu_range *range;
  emu_pool *pool;
  uint64_t id;
  bool ordered;  /* of a pool or a graph: there from its ALLOCATE to its FREE */
  bool returned; /* the user has given it back, whether or not that has run; a graph's: in the same
                    graph */
  const emu_graph *graph; /* whose each launch allocates it; NULL: none's */
  bool outstanding;       /* a launch of its graph has left it allocated */
  struct emu_block *next; /* of those kept apart */
} emu_block;

typedef struct emu_work {
  emu_work_kind kind;
  emu_launch *launch;
  uint64_t to, from;
  size_t bytes; /* SET: numbers */
  bool to_host, from_host;
  void *staged; /* a copy of pageable host memory, instead of `from`; this work's alone */
  uint32_t value;
  unsigned width;
  void (*call)(void *);
  void *user;
  emu_block *block;
  emu_stamp *stamp;
  emu_exec *exec;
} emu_work;

void emu_work_drop(emu_work *work);
/* Without locks held. */
int emu_work_run(emu_context *context, const emu_work *work, char *trouble, size_t size);
int emu_run_allocate(emu_block *block);
int emu_run_free(emu_block *block);
int emu_exec_run(emu_exec *exec, emu_context *context, char *trouble, size_t size);
void emu_block_drop(emu_block *block);
void emu_exec_drop(emu_exec *exec);
void emu_stamp_drop(emu_stamp *stamp);

/* ---- streams ---- */

/* Where a stream is when its work up to `number` is done. Holds the stream. */
typedef struct emu_point {
  emu_stream *stream; /* NULL: everywhere */
  uint64_t number;
} emu_point;

typedef struct emu_op {
  struct emu_op *next;
  emu_work work;
  uint64_t number;
  int n_waits;
  emu_point wait[];
} emu_op;

typedef struct emu_capture {
  struct emu_capture *next; /* of those under way */
  int holders;              /* streams, events */
  int mode;
  bool broken, ended;
  unsigned long long id;
  const void *thread;
  emu_stream *origin;
  emu_graph *graph;
} emu_capture;

/* Nodes that what comes next depends on. */
typedef struct emu_tips {
  emu_node **node;
  size_t n;
} emu_tips;

struct emu_stream {
  emu_stream *next; /* of its context's */
  int holders;
  emu_context *context;
  uint64_t id;
  unsigned flags;
  int priority;
  const void *thread; /* whose default stream this is; NULL: no thread's */
  bool legacy, gone;  /* gone: destroyed by the user, with work left */
  bool busy, has_worker;
  emu_op *head, **end;
  uint64_t tail, done; /* numbers of the last op queued and finished */
  uint64_t needed;     /* EMU_CROSSED: what somebody waits for */
  emu_capture *capture;
  emu_tips tips;
  void *front; /* emu_front */
};

struct emu_context {
  emu_context *next;
  int device;
  uint32_t reaches; /* bit d: memory of device d, too */
  uint64_t id;
  size_t total_bytes;
  emu_memory memory;
  emu_stream *streams, *legacy;
  emu_pool *default_pool, *current_pool;
  emu_block
      *apart; /* freed in stream order, the oldest last: addresses that are not used again soon */
  size_t apart_bytes;
  int failure; /* of work that nobody has been told of; what follows does not run until somebody is
                */
  char trouble[TROUBLE_BYTES];
};

struct emu_event {
  emu_event *next;
  unsigned flags;
  emu_point at;
  emu_stamp *stamp;     /* NULL: never recorded */
  emu_capture *capture; /* recorded last in this one */
  emu_tips tips;
};

/* emu_contexts.c */
extern emu_context *emu_contexts; /* changed with both locks held */
void emu_lock(void);
void emu_unlock(void);
void emu_wait_change(void);
void emu_tell_change(void);
const void *emu_this_thread(void);
uint64_t emu_next_id(void);
void emu_contexts_end(void); /* the last call; without locks */

/* With the state's lock, all of these. */

/* emu_schedule.c */
emu_mode emu_current_mode(void);
/* Queues work, which is taken, behind what the stream's order, and `wait` too, say. Immediately run
 * work gives its own result; for other modes it is 0. Gives up the lock for a time. *at may be
 * NULL. */
int emu_enqueue(emu_stream *stream, emu_work *work, const emu_point *wait, emu_point *at);
void emu_run_until(emu_point point);
bool emu_is_done(const emu_point *point);
/* Runs what there is to be run of one stream's head, for somebody who polls. */
void emu_nudge(emu_point point);
/* What the context's failure is; nobody is told again. */
int emu_take_failure(emu_context *context);
void emu_point_set(emu_point *point, emu_stream *stream, uint64_t number);
void emu_stream_forget_work(emu_stream *stream);

/* emu_streams.c */
void emu_stream_drop(emu_stream *stream);
void emu_stream_unlink(emu_stream *stream);
emu_stream *emu_stream_make(emu_context *context, unsigned flags);
void emu_context_drain(emu_context *context);

/* emu_capture.c: for work on a stream: takes it (and *taken) if the stream captures. */
const emu_graph *
emu_capture_graph(emu_stream *stream);      /* NULL: it does not capture. Without the lock. */
void emu_capture_break(emu_stream *stream); /* likewise */
int emu_capture_take(emu_stream *stream, emu_work *work, bool *taken);
int emu_capture_record(emu_event *event, emu_stream *stream, bool *taken);
int emu_capture_wait(emu_stream *stream, emu_event *event, bool *taken);
/* A stream that is to be waited for, or asked. */
int emu_capture_check_wait(emu_stream *stream);
int emu_capture_check_event(const emu_event *event);
int emu_capture_check_context(emu_context *context);
int emu_capture_check_thread(void);
void emu_capture_forget(emu_capture **capture, emu_tips *tips);
void emu_capture_leave(emu_stream *stream);

/* emu_graphs.c */
emu_graph *emu_graph_make(void);
void emu_graph_drop(emu_graph *graph);
/* Takes work; NULL: no memory. Depends on the tips, whose one it is then. */
emu_node *emu_graph_add(emu_graph *graph, emu_work *work, emu_tips *tips);
/* Whether every node comes before the tips, or is one. */
bool emu_graph_is_joined(const emu_graph *graph, const emu_tips *tips);
bool emu_exec_has_memory(const emu_exec *exec);

/* Work on a stream from outside: captured or queued. */
int emu_submit(emu_stream *stream, emu_work *work, const emu_point *wait, emu_point *at);

/* With the run lock. */
emu_range *emu_find_any(emu_context *first, uint64_t address, size_t bytes);
bool emu_is_pinned(uint64_t address, size_t bytes);
emu_range *emu_find_pinned(uint64_t address, size_t bytes); /* NULL: it is not */
int emu_block_make(emu_context *context, size_t bytes, bool hidden, emu_block **block);
void emu_keep_apart(emu_block *block);
void emu_empty_apart(emu_context *context, size_t keep_bytes);
bool emu_pool_is_one(const void *handle);
bool emu_pool_has_room(const emu_pool *pool, size_t bytes);
void emu_pool_count(emu_pool *pool, int64_t bytes);
void emu_pools_drop(emu_context *context);
/* Without it: what pools give back when somebody has waited. */
void emu_pools_settle(void);

#endif
