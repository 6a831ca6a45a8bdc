#include "runtime/reshard_cost.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/reshard_access.h"

#include <stdlib.h>

/* On four H100 (docs/history/resharding-links.md): of a link's bandwidth, what kernels that write
 * to peers reach, and NCCL's sends and receives; of the memory's, what copies do; of the time of
 * what runs beside NCCL's messages, how much longer these take. */
#define SHARE_OF_PEERS 0.80
#define SHARE_OF_NCCL 0.75
#define SHARE_OF_MEMORY 0.89
#define SLOWED 0.36
/* Microseconds: two meetings; a group of messages, called by a communicator that blocks 40, of a
 * graph 8; a launch. */
#define MEETINGS 10.0
#define GROUP 20.0
#define LAUNCH 3.0
#define ALIGNMENT 256

typedef struct counter {
  const llrt_reshard_desc *desc;
  int64_t ranks;
  reshard_messages *messages;
} counter;

static int64_t aligned(int64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static llrt_status count_message(counter *c, const reshard_move *move, int s) {
  const llrt_reshard_desc *desc = c->desc;
  reshard_messages *from = &c->messages[move->from[s]], *to = &c->messages[move->to];
  int64_t elements = reshard_elements(desc, move);
  reshard_wire wire;
  LLRT_TRY(reshard_wire_choose(desc, move, s, &wire));
  from->sends++;
  from->sent += wire.bytes;
  to->receives++;
  to->received += wire.bytes;
  from->in_place += wire.sent_in_place;
  to->in_place += wire.received_in_place;
  if (!wire.sent_in_place) {
    from->packs += reshard_bytes(elements, desc->source_dtype) + wire.bytes;
    from->workspace += aligned(wire.bytes);
  }
  if (wire.received_in_place) return LLRT_OK;
  to->workspace += aligned(wire.bytes);
  to->unpacks += wire.bytes;
  if (move->n_from == 1) to->unpacks += reshard_bytes(elements, desc->destination_dtype);
  return LLRT_OK;
}

/* Scales are packed, and read where they arrive. */
static void count_scales(counter *c, const reshard_move *move) {
  int64_t bytes = reshard_scale_bytes(c->desc, move);
  if (!reshard_sends_scales(c->desc, move)) return;
  reshard_messages *from = &c->messages[move->scale], *to = &c->messages[move->to];
  from->sends++;
  from->sent += bytes;
  from->packs += 2 * bytes;
  from->workspace += aligned(bytes);
  to->receives++;
  to->received += bytes;
  to->unpacks += bytes;
  to->workspace += aligned(bytes);
}

/* What stays on the rank; and a sum, which reads the own summand and writes once. */
static void count_own(counter *c, const reshard_move *move, bool own) {
  int64_t elements = reshard_elements(c->desc, move);
  int64_t bytes = own ? reshard_bytes(elements, c->desc->source_dtype) : 0;
  if (own || move->n_from > 1) bytes += reshard_bytes(elements, c->desc->destination_dtype);
  if (move->n_from > 1) c->messages[move->to].unpacks += bytes;
  else c->messages[move->to].stays += bytes;
}

static llrt_status count_piece(void *user, const reshard_move *move) {
  counter *c = user;
  bool own = false;
  for (int s = 0; s < move->n_from; s++) {
    own |= move->from[s] == move->to;
    if (move->from[s] != move->to) LLRT_TRY(count_message(c, move, s));
  }
  count_own(c, move, own);
  count_scales(c, move);
  return LLRT_OK;
}

static llrt_status count_move(void *user, const reshard_move *move) {
  const counter *c = user;
  return reshard_each_piece(c->desc, move, count_piece, user);
}

llrt_status reshard_count_messages(const llrt_reshard_desc *desc, int64_t ranks,
                                   reshard_messages *messages, int *parts) {
  counter c = {.desc = desc, .ranks = ranks, .messages = messages};
  llrt_status status = LLRT_OK;
  for (int64_t r = 0; r < ranks; r++) messages[r] = (reshard_messages){.sends = 0};
  for (int64_t r = 0; r < ranks && status == LLRT_OK; r++)
    status = reshard_each_move(desc, r, count_move, &c);
  return status == LLRT_OK ? reshard_count_parts(desc, ranks, parts) : status;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Of what the links carry by peers' memory, how much more it is than by NCCL: sectors of which a
 * piece is some bytes, and the wider type where that crosses. */
static double swell_of(const llrt_reshard_desc *desc, const reshard_messages *messages,
                       int64_t ranks) {
  const reshard_crossing crossing = reshard_count_crossing(desc);
  bool reads = reshard_choose_access(desc, &crossing) == LLRT_RESHARD_READ;
  double sectors = reads ? crossing.read : crossing.written, sent = 0;
  for (int64_t r = 0; r < ranks; r++) sent += (double)messages[r].sent;
  return sent > 0 && sectors > 0 ? sectors / sent : 1;
}

static double by_peers(const reshard_messages *m, double on_link, double memory_gbps) {
  double touched =
      (double)(m->sent + m->received + m->stays) / (SHARE_OF_MEMORY * memory_gbps) / 1e3;
  return larger(on_link / SHARE_OF_PEERS, touched) + LAUNCH + (on_link > 0 ? MEETINGS : 0);
}

/* What is neither beside messages is the first part's packing and the last one's unpacking; what
 * is takes some of the memory from messages. */
static double by_nccl(const reshard_messages *m, int parts, double on_link, double memory_gbps) {
  double rate = SHARE_OF_MEMORY * memory_gbps * 1e3; /* bytes a microsecond */
  double pack = (double)m->packs / rate, unpack = (double)m->unpacks / rate;
  double stays = (double)m->stays / rate, ends = (pack + unpack) / parts;
  double beside = pack + unpack - ends + stays;
  double launches = (m->packs > 0) + (m->unpacks > 0) + (m->stays > 0);
  if (on_link == 0) return stays + launches * LAUNCH;
  return ends + larger(on_link / SHARE_OF_NCCL + SLOWED * beside, beside) + parts * GROUP +
         launches * LAUNCH;
}

reshard_times reshard_predict(const llrt_reshard_desc *desc, const reshard_messages *messages,
                              int64_t ranks, int parts, double link_gbps, double memory_gbps) {
  reshard_times times = {.parts = parts};
  double swell = swell_of(desc, messages, ranks);
  for (int64_t r = 0; r < ranks; r++) {
    const reshard_messages *m = &messages[r];
    double on_link = larger((double)m->sent, (double)m->received) / link_gbps / 1e3;
    times.peers = larger(times.peers, by_peers(m, swell * on_link, memory_gbps));
    times.nccl = larger(times.nccl, by_nccl(m, parts, on_link, memory_gbps));
  }
  return times;
}

llrt_status reshard_choose_path(const llrt_reshard_desc *desc, int64_t ranks,
                                llrt_reshard_path *path) {
  int parts;
  reshard_messages *messages = memory_zeroed((size_t)ranks, sizeof *messages);
  if (!messages)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %lld ranks", (long long)ranks);
  llrt_status status = reshard_count_messages(desc, ranks, messages, &parts);
  reshard_times times =
      reshard_predict(desc, messages, ranks, parts, RESHARD_LINK_GBPS, RESHARD_MEMORY_GBPS);
  *path = times.nccl < times.peers ? LLRT_RESHARD_NCCL : LLRT_RESHARD_PEERS;
  free(messages);
  return status;
}
