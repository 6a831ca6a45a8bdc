/* Ranks on the host wait for each other: backends/meet.h in C. */
#include "backends/host/host_device.h"
#include "backends/meet.h"

#include <sched.h>
#include <string.h>
#include <time.h>

static uint64_t *words_at(uint64_t address) { return (uint64_t *)(uintptr_t)address; }

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Where a rank's slot of meeting number `count` lies on a pad, in words. */
static uint64_t slot_of(const backend_meet *meet, uint64_t count, uint64_t rank) {
  return MEET_SLOTS + ((count & 1) * meet->ranks + rank) * MEET_SLOT_WORDS;
}

static void tell(const backend_meet *meet, uint64_t count) {
  const uint64_t *table = words_at(meet->table);
  for (uint64_t r = 0; r < meet->ranks; r++) {
    uint64_t *slot = words_at(table[r]) + slot_of(meet, count, meet->rank);
    __atomic_store_n(&slot[1], meet->hash_low, __ATOMIC_RELAXED);
    __atomic_store_n(&slot[2], meet->hash_high, __ATOMIC_RELAXED);
    __atomic_store_n(&slot[0], count, __ATOMIC_RELEASE);
  }
}

static void tell_error(const backend_meet *meet, uint64_t error) {
  const uint64_t *table = words_at(meet->table);
  for (uint64_t r = 0; r < meet->ranks; r++)
    for (uint64_t turn = 0; turn < 2; turn++)
      __atomic_store_n(words_at(table[r]) + slot_of(meet, turn, meet->rank),
                       error | MEET_TOLD_ERROR, __ATOMIC_RELEASE);
}

/* Ranks may be more than processors: who has waited for some time leaves them to others. */
static void pause_for(int polls) {
  enum { AT_ONCE = 64, SHORT_NS = 20000, LONG_NS = 500000, MANY = 256 };
  if (polls < AT_ONCE) sched_yield();
  else nanosleep(&(struct timespec){.tv_nsec = polls < MANY ? SHORT_NS : LONG_NS}, NULL);
}

/* The error, 0: none. */
static uint64_t await(const backend_meet *meet, uint64_t count, uint64_t rank, uint64_t begun) {
  uint64_t *slot = words_at(meet->pad) + slot_of(meet, count, rank), told;
  for (int polls = 0; (told = __atomic_load_n(&slot[0], __ATOMIC_ACQUIRE)) != count;
       polls += polls < INT32_MAX) {
    if (told & MEET_TOLD_ERROR) return told & ~MEET_TOLD_ERROR;
    if (now() - begun > meet->timeout) return (uint64_t)MEET_LATE << 32 | rank;
    pause_for(polls);
  }
  bool same = __atomic_load_n(&slot[1], __ATOMIC_RELAXED) == meet->hash_low &&
              __atomic_load_n(&slot[2], __ATOMIC_RELAXED) == meet->hash_high;
  return same ? 0 : (uint64_t)MEET_DIFFERS << 32 | rank;
}

llrt_status llrt_host_meet_load(llrt_device *device, backend_module **module) {
  (void)device;
  *module = NULL;
  return LLRT_OK;
}

llrt_status llrt_host_meet(llrt_device *device, const backend_module *module,
                           const backend_meet *meet, void *stream) {
  (void)device, (void)module, (void)stream;
  if (meet->n_words) memcpy(words_at(meet->list), meet->words, meet->n_words * sizeof *meet->words);
  if (!meet->pad) return LLRT_OK;
  uint64_t *pad = words_at(meet->pad), begun = now(), count = pad[MEET_COUNT] + 1;
  uint64_t error = __atomic_load_n(&pad[MEET_ERROR], __ATOMIC_RELAXED);
  pad[MEET_COUNT] = count;
  if (!error) error = meet->refusal;
  if (!error) tell(meet, count);
  for (uint64_t r = 0; r < meet->ranks && !error; r++) error = await(meet, count, r, begun);
  if (!error) return LLRT_OK;
  __atomic_store_n(&pad[MEET_ERROR], error, __ATOMIC_RELAXED);
  if (meet->note) __atomic_store_n(words_at(meet->note), error, __ATOMIC_RELEASE);
  tell_error(meet, error);
  return LLRT_OK;
}
