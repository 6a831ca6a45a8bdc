/* See traffic.h. */
#include "layout/traffic.h"

#include <assert.h>
#include <stdbool.h>

/* Adds x to the n distinct values in set; the new count. */
static int insert_distinct(int64_t *set, int n, int64_t x) {
  for (int i = 0; i < n; i++)
    if (set[i] == x) return n;
  set[n] = x;
  return n + 1;
}

int traffic_sectors(const int64_t *address, int n, int bytes, int sector_bytes) {
  int64_t distinct[TRAFFIC_MAX_LANES * 8];
  int count = 0;
  assert(n <= TRAFFIC_MAX_LANES && bytes <= 4 * sector_bytes);
  for (int i = 0; i < n; i++)
    for (int64_t s = address[i] / sector_bytes; s <= (address[i] + bytes - 1) / sector_bytes; s++)
      count = insert_distinct(distinct, count, s);
  return count;
}

/* One phase: distinct words per bank, the worst of them. */
static int phase_wavefronts(const int64_t *address, int n, int bytes, int banks, int bank_bytes) {
  int64_t words[TRAFFIC_MAX_LANES * 4];
  int count = 0, worst = 0;
  int per_lane = bytes < bank_bytes ? 1 : bytes / bank_bytes;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < per_lane && address[i] != TRAFFIC_NONE; k++)
      count = insert_distinct(words, count, address[i] / bank_bytes + k);
  for (int i = 0; i < count; i++) {
    int same = 0;
    for (int j = 0; j < count; j++) same += words[j] % banks == words[i] % banks;
    if (same > worst) worst = same;
  }
  return worst;
}

int traffic_wavefronts(const int64_t *address, int n, int bytes, int banks, int bank_bytes) {
  int lane_bytes = bytes < bank_bytes ? bank_bytes : bytes;
  int phase = banks * bank_bytes / lane_bytes, total = 0;
  assert(n <= TRAFFIC_MAX_LANES);
  if (phase < 1) phase = 1;
  for (int first = 0; first < n; first += phase) {
    int lanes = n - first < phase ? n - first : phase;
    total += phase_wavefronts(&address[first], lanes, bytes, banks, bank_bytes);
  }
  return total;
}
