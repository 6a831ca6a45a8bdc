#include "runtime/reshard_explain_nccl.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 64 /* of ranks that differ */

/* Ranks that follow each other and do the same have one row. */
static void write_rows(const reshard_messages *messages, int64_t ranks, llrt_text *out) {
  int rows = 0;
  llrt_text_add(out, "ranks      messages out, in  in place       bytes out            in"
                     "       packed     unpacked    workspace\n");
  for (int64_t first = 0, next; first < ranks && rows < MAX_ROWS; first = next, rows++) {
    const reshard_messages *m = &messages[first];
    char name[48];
    for (next = first + 1; next < ranks && memcmp(m, &messages[next], sizeof *m) == 0;) next++;
    if (next == first + 1) snprintf(name, sizeof name, "%lld", (long long)first);
    else snprintf(name, sizeof name, "%lld-%lld", (long long)first, (long long)(next - 1));
    llrt_text_add(out, "%-9s  %12lld %3lld %9lld %15lld %13lld %12lld %12lld %12lld\n", name,
                  (long long)m->sends, (long long)m->receives, (long long)m->in_place,
                  (long long)m->sent, (long long)m->received, (long long)m->packs,
                  (long long)m->unpacks, (long long)m->workspace);
  }
  if (rows == MAX_ROWS) llrt_text_add(out, "and others\n");
}

static void write_choice(const llrt_reshard_desc *desc, const reshard_times *times,
                         llrt_text *out) {
  bool peers = times->peers <= times->nccl;
  llrt_text_add(out,
                "by peers' memory %.1f us, by NCCL %.1f us, each message in %d %s, as predicted\n",
                times->peers, times->nccl, times->parts, times->parts == 1 ? "part" : "parts");
  if (desc->path != LLRT_RESHARD_CHOOSE)
    llrt_text_add(out, "path: %s, as described\n",
                  desc->path == LLRT_RESHARD_NCCL ? "NCCL" : "peers' memory");
  else
    llrt_text_add(out, "path: %s, which takes less time, where a communicator has both\n",
                  peers ? "peers' memory" : "NCCL");
}

llrt_status reshard_explain_nccl(const llrt_reshard_desc *desc, int64_t ranks, double link_gbps,
                                 double memory_gbps, llrt_text *out) {
  int parts;
  reshard_messages *messages = memory_zeroed((size_t)ranks, sizeof *messages);
  if (!messages)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %lld ranks", (long long)ranks);
  llrt_status status = reshard_count_messages(desc, ranks, messages, &parts);
  if (status == LLRT_OK) {
    reshard_times times = reshard_predict(desc, messages, ranks, parts, link_gbps, memory_gbps);
    write_choice(desc, &times, out);
    llrt_text_add(out, "by NCCL:\n");
    write_rows(messages, ranks, out);
  }
  free(messages);
  return status;
}
