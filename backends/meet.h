/* The kernel by which ranks wait for each other: what its memory holds and what it is given.
 *
 * Each rank has a pad of 64-bit words: how often it has met, an error, and two sets of slots, which
 * meetings use in turn, one slot for each rank: what that rank told last, and the hash of what it
 * is about to do. A rank writes its hash and then its count, with release at system scope, into its
 * slot on every pad, and waits, with acquire, until its own pad has the same count of everyone. It
 * cannot be two meetings ahead of anybody, so that slots are not written over before they are read.
 * Who sees another hash, or waits too long, notes an error and tells everybody of it. (CUDA's
 * kernel has the count in each word of a slot, and the hash in pieces beside it: cuda_meet.c.) As
 * it is on its way, it also writes words that the call brings to where kernels behind it look for
 * them: captured with a graph, each replay writes those of its own call. */
#ifndef LLRT_BACKENDS_MEET_H
#define LLRT_BACKENDS_MEET_H

#include <stddef.h>
#include <stdint.h>

enum {
  MEET_COUNT = 0, /* words of a pad */
  MEET_ERROR = 1,
  MEET_SLOTS = 8,
  MEET_SLOT_WORDS = 4, /* told, hash low, hash high, 0 */
};

/* The error word: one of these above 32 bits of a rank; 0: none. Told to others with bit 63 set. */
enum { MEET_LATE = 1, MEET_DIFFERS = 2, MEET_REFUSED = 3 };
#define MEET_TOLD_ERROR (1ull << 63)

#define MEET_MAX_WORDS 16

typedef struct backend_meet {
  uint64_t pad;   /* the own pad's address; 0: nobody is met, and words alone are written */
  uint64_t table; /* of `ranks` addresses: each rank's pad */
  uint64_t rank, ranks;
  uint64_t hash_low, hash_high;
  uint64_t timeout; /* nanoseconds */
  uint64_t refusal; /* an error word that everybody is told at once; 0: the rank comes */
  uint64_t note;    /* host memory that gets the error word, too; 0: none */
  uint64_t list;    /* device memory that `words` are written to, for what is queued behind */
  uint64_t n_words; /* 0..MEET_MAX_WORDS */
  uint64_t words[MEET_MAX_WORDS];
} backend_meet;

static inline size_t meet_pad_bytes(int ranks) {
  return (MEET_SLOTS + 2 * (size_t)ranks * MEET_SLOT_WORDS) * sizeof(uint64_t);
}

#endif
