/* Memory of a case on its device, with bytes on all sides that are compared, and what has to stand
 * there afterwards. */
#ifndef LLRT_TESTS_DRAW_MEMORY_H
#define LLRT_TESTS_DRAW_MEMORY_H

#include <llrt/llrt.h>

/* What became of a case. */
typedef enum verdict {
  VERDICT_RIGHT,
  VERDICT_WRONG,    /* an element or pad */
  VERDICT_OUTSIDE,  /* bytes outside of what is written, or of what is only read */
  VERDICT_TOUCHED,  /* a call that failed wrote */
  VERDICT_INTERNAL, /* INTERNAL, COMPILE: a defect by its own word */
  VERDICT_FAULT,    /* DEVICE: accesses that the device refused */
  VERDICT_CLASS,    /* OUT_OF_CLASS of tensors that keep every promise */
  VERDICT_PARSE,    /* a text means something else than it has to */
  VERDICT_CRASH,    /* the process ended */
  VERDICT_TIMEOUT,  /* it did not end */
  VERDICT_REFUSED,  /* UNSUPPORTED */
  VERDICT_INVALID,  /* INVALID_ARGUMENT */
  VERDICT_LIMIT,    /* OUT_OF_MEMORY, UNAVAILABLE: nothing was shown */
  VERDICT_COUNT
} verdict;

const char *verdict_name(verdict of);
/* A finding: what must not be. */
static inline bool verdict_is_finding(verdict of) {
  return of > VERDICT_RIGHT && of < VERDICT_REFUSED;
}
/* Of a call that did not return LLRT_OK. */
verdict verdict_of_status(llrt_status status);

#define WHY_BYTES 1024

/* Where a case runs. */
typedef struct bench {
  llrt_device *device;
  bool is_host, is_emulated;
  const char *plan_target; /* NULL, or what is planned for and interpreted, without a device */
  char why[WHY_BYTES];     /* of a verdict that is not RIGHT */
} bench;

/* VERDICT `of`, with the reason. */
verdict bench_say(bench *at, verdict of, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of a call that failed, whose name is `what`. */
verdict bench_fail(bench *at, llrt_status status, const char *what);
/* Replaces *op by what its saved bytes give on the same device. */
verdict bench_reload(bench *at, llrt_op **op);

typedef struct memory {
  uint8_t *image, *base; /* on the host: what has to be there; on the device */
  size_t bytes, front;   /* in all; before the tensor */
  size_t span;           /* of the tensor */
  void *mapped;          /* pages of the host, where `base` lies in them */
  size_t mapped_bytes;
} memory;

/* Memory for `span` bytes, `address` bytes behind an aligned address, its image filled at random.
 * `tight`: nothing behind the last byte (on the host: a page that cannot be read; the address is
 * then what that makes it). False where there is none. */
bool memory_make(bench *at, size_t span, int address, bool tight, uint64_t seed, memory *made);
void memory_free(bench *at, memory *gone);
/* The tensor's bytes of the image, and their address on the device. */
static inline uint8_t *memory_image(const memory *of) { return of->image + of->front; }
static inline uint8_t *memory_data(const memory *of) { return of->base + of->front; }
/* Writes the image to the device. */
bool memory_send(bench *at, const memory *of);
/* Whether the device holds what the image has: else WRONG (OUTSIDE, where no byte of the tensor
 * differs, or `read_only`). */
verdict memory_compare(bench *at, const memory *of, const char *name, bool read_only);

/* Elements of 4 to 128 bits, number `at` of an array. */
void code_read(const uint8_t *array, int bits, int64_t at, uint64_t code[2]);
void code_write(uint8_t *array, int bits, int64_t at, const uint64_t code[2]);

/* An allocator of contexts whose memory has guards, 0xA5 in it; *damaged grows by one for every
 * block whose guards were overwritten. */
typedef struct guarded_allocator {
  int damaged;
} guarded_allocator;
llrt_allocator guarded_allocator_of(guarded_allocator *state);
#define ALLOCATED_BYTE 0xA5

#endif
