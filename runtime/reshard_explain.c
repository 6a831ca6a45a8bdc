/* What a re-shard moves, told without a device. */
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/reshard.h"
#include "runtime/reshard_access.h"
#include "runtime/reshard_explain_nccl.h"
#include "runtime/reshard_parts.h"
#include "runtime/reshard_scales.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 64 /* ranks that have a line of their own */

/* Of one rank. Bytes are elements' bits, rounded up for each message. */
typedef struct rank_traffic {
  int64_t sends, receives;     /* messages to and from other ranks */
  int64_t sent, received;      /* their bytes */
  int64_t read, written;       /* bytes of its own memory, by anybody */
  int64_t largest;             /* bytes of the largest message that it sends */
  int64_t source, destination; /* bytes of its parts */
} rank_traffic;

typedef struct traffic {
  const llrt_reshard_desc *desc;
  int64_t ranks;
  rank_traffic *rank;
} traffic;

static int64_t bytes_of(int64_t elements, llrt_dtype dtype) {
  int64_t bits = llrt_dtype_bits(dtype);
  return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

/* Scales that the rank which moves a box has not are read from another's memory. */
static void count_scales(traffic *t, const reshard_move *move) {
  int runner = reshard_runner(t->desc, move);
  if (move->scale < 0) return;
  int64_t bytes = reshard_scale_bytes(t->desc, move);
  bool own = reshard_has_scales(t->desc, runner, move);
  rank_traffic *from = &t->rank[own ? runner : move->scale];
  from->read += bytes;
  if (own) return;
  from->sends++;
  from->sent += bytes;
  t->rank[runner].receives++;
  t->rank[runner].received += bytes;
}

static llrt_status count_move(void *user, const reshard_move *move) {
  traffic *t = user;
  int64_t elements = 1;
  for (int axis = 0; axis < t->desc->source->rank; axis++) elements *= move->extent[axis];
  int64_t taken = bytes_of(elements, t->desc->source_dtype);
  int64_t made = bytes_of(elements, t->desc->destination_dtype);
  bool reads = reshard_runner(t->desc, move) == move->to;
  int64_t crosses = reads ? taken : made; /* of what is the runner's own either may do */
  rank_traffic *to = &t->rank[move->to];
  to->written += made;
  for (int s = 0; s < move->n_from; s++) {
    rank_traffic *from = &t->rank[move->from[s]];
    from->read += taken;
    if (move->from[s] == move->to) continue;
    from->sends++;
    from->sent += crosses;
    to->receives++;
    to->received += crosses;
    if (crosses > from->largest) from->largest = crosses;
  }
  count_scales(t, move);
  return LLRT_OK;
}

static int64_t part_bytes(const llrt_reshard_desc *desc, bool source, int64_t rank) {
  const llrt_sharding *sharding = source ? desc->source : desc->destination;
  llrt_dtype dtype = source ? desc->source_dtype : desc->destination_dtype;
  llrt_part part;
  llrt_storage_binding binding;
  int64_t bytes = 0;
  if (!reshard_part(sharding, desc->shape, rank, &part)) return 0;
  if (source) reshard_index_part(desc->source_indices, desc->n_source_indices, &part);
  else reshard_index_part(desc->destination_indices, desc->n_destination_indices, &part);
  if (reshard_bind(sharding, source ? desc->source_strides : desc->destination_strides, rank, &part,
                   &binding) == LLRT_OK)
    llrt_storage_bytes(&binding, llrt_dtype_bits(dtype), &bytes);
  return bytes;
}

static llrt_status count_traffic(traffic *t) {
  for (int64_t r = 0; r < t->ranks; r++) {
    LLRT_TRY(reshard_each_move(t->desc, r, count_move, t));
    t->rank[r].source = part_bytes(t->desc, true, r);
    t->rank[r].destination = part_bytes(t->desc, false, r);
    if (reshard_fills(t->desc, r)) t->rank[r].written += t->rank[r].destination;
  }
  return LLRT_OK;
}

/* ---- launches ---- */

typedef struct launch_count {
  reshard_copies copies;
  int sums;
} launch_count;

static llrt_status note_launch(void *user, const reshard_move *move) {
  launch_count *count = user;
  if (move->n_from == 1) return reshard_add_copy(&count->copies, move);
  count->sums += 1 + (count->copies.desc->n_maps > 0);
  for (int left = move->n_from - RESHARD_LAUNCH_SUMMANDS; left > 0;
       left -= RESHARD_LAUNCH_SUMMANDS - 1)
    count->sums++;
  return LLRT_OK;
}

/* Kernels that a rank launches, but for the two by which ranks meet: as many as are planned; where
 * none has lists of addresses for some boxes, those have kernels of their own. */
static llrt_status count_launches(const llrt_reshard_desc *desc, int64_t rank, int *launches) {
  reshard_copy *group[RESHARD_MAX_WORDS / 2];
  launch_count count = {.sums = 0};
  int first = 0, n;
  reshard_copies_init(&count.copies, desc);
  llrt_status status = reshard_each_move(desc, rank, note_launch, &count);
  *launches = count.sums + reshard_fills(desc, rank);
  if (status == LLRT_OK)
    while ((n = reshard_take_group(&count.copies, 0, &first, group)) > 0)
      *launches += 1 + reshard_takes_scales(group, n, (int)rank);
  free(count.copies.copy);
  return status;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static llrt_status write_rows(const traffic *t, llrt_text *out) {
  llrt_text_add(out, "rank  messages out, in  launches       bytes out            in      largest  "
                     "     source  destination\n");
  for (int64_t r = 0; r < t->ranks && r < MAX_ROWS; r++) {
    const rank_traffic *rank = &t->rank[r];
    int launches;
    LLRT_TRY(count_launches(t->desc, r, &launches));
    llrt_text_add(out, "%4lld  %12lld %3lld %9d %15lld %13lld %12lld %12lld %12lld\n", (long long)r,
                  (long long)rank->sends, (long long)rank->receives, launches,
                  (long long)rank->sent, (long long)rank->received, (long long)rank->largest,
                  (long long)rank->source, (long long)rank->destination);
  }
  if (t->ranks > MAX_ROWS)
    llrt_text_add(out, "and %lld ranks more\n", (long long)(t->ranks - MAX_ROWS));
  return LLRT_OK;
}

/* The time that the busiest rank's link and memory take at least. */
static void write_time(const traffic *t, double link_gbps, double memory_gbps, llrt_text *out) {
  int64_t crosses = 0, link = 0, memory = 0;
  for (int64_t r = 0; r < t->ranks; r++) {
    const rank_traffic *rank = &t->rank[r];
    crosses += rank->sent;
    link = larger(link, larger(rank->sent, rank->received));
    memory = larger(memory, rank->read + rank->written);
  }
  double on_link = (double)link / link_gbps / 1e3, in_memory = (double)memory / memory_gbps / 1e3;
  llrt_text_add(out, "%lld ranks: %lld bytes cross links, %lld at most on one, each way\n",
                (long long)t->ranks, (long long)crosses, (long long)link);
  llrt_text_add(out, "at least %.1f us: link %.1f us at %.0f GB/s, memory %.1f us at %.0f GB/s\n",
                on_link > in_memory ? on_link : in_memory, on_link, link_gbps, in_memory,
                memory_gbps);
}

static void write_access(const llrt_reshard_desc *desc, const reshard_crossing *crossing,
                         llrt_text *out) {
  if (reshard_count_summands(desc->source) > 1) {
    llrt_text_add(out, "ranks read peers' memory: summands\n");
    return;
  }
  bool reads = desc->access == LLRT_RESHARD_READ;
  llrt_text_add(out, "ranks %s peers' memory: %.0f bytes of sectors on links, %.0f if they %s it\n",
                reads ? "read" : "write", reads ? crossing->read : crossing->written,
                reads ? crossing->written : crossing->read, reads ? "wrote" : "read");
}

static llrt_status explain(const llrt_reshard_desc *desc, const reshard_crossing *crossing,
                           double link_gbps, double memory_gbps, llrt_text *out) {
  int64_t end[2] = {desc->source->mesh.first + llrt_mesh_devices(&desc->source->mesh),
                    desc->destination->mesh.first + llrt_mesh_devices(&desc->destination->mesh)};
  traffic t = {.desc = desc, .ranks = larger(end[0], end[1])};
  LLRT_REQUIRE(t.ranks <= LLRT_MAX_RANKS, "%lld ranks, not 1 to %d", (long long)t.ranks,
               LLRT_MAX_RANKS);
  t.rank = memory_zeroed((size_t)t.ranks, sizeof *t.rank);
  if (!t.rank)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %lld ranks", (long long)t.ranks);
  llrt_status status = count_traffic(&t);
  if (status == LLRT_OK) {
    write_time(&t, link_gbps, memory_gbps, out);
    write_access(desc, crossing, out);
    status = write_rows(&t, out);
    if (status == LLRT_OK)
      status = reshard_explain_nccl(desc, t.ranks, link_gbps, memory_gbps, out);
    if (status == LLRT_OK) status = llrt_text_status(out);
  }
  free(t.rank);
  return status;
}

llrt_status llrt_reshard_explain(const llrt_reshard_desc *given, double link_gbps,
                                 double memory_gbps, char *buffer, size_t size, size_t *length) {
  LLRT_ENTRY();
  llrt_reshard_desc own;
  llrt_text text;
  if (length) *length = 0;
  LLRT_REQUIRE(buffer || size == 0, "buffer is NULL, size %zu", size);
  if (size > 0) buffer[0] = 0;
  LLRT_REQUIRE(given, "desc is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_reshard_desc, given, &own));
  LLRT_REQUIRE(link_gbps >= 0 && memory_gbps >= 0, "a bandwidth is negative, or no number");
  LLRT_TRY(reshard_check(&own));
  const reshard_crossing crossing = reshard_count_crossing(&own);
  own.access = (int32_t)reshard_choose_access(&own, &crossing);
  llrt_text_init(&text);
  llrt_status status = explain(&own, &crossing, link_gbps > 0 ? link_gbps : RESHARD_LINK_GBPS,
                               memory_gbps > 0 ? memory_gbps : RESHARD_MEMORY_GBPS, &text);
  if (status == LLRT_OK) {
    size_t copied = text.length < size ? text.length : size ? size - 1 : 0;
    if (size > 0) {
      memcpy(buffer, text.data, copied);
      buffer[copied] = 0;
    }
    if (length) *length = text.length;
  }
  llrt_text_fini(&text);
  return status;
}
