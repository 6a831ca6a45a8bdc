#include "bare_read.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, LOADS = 8, LOAD_BYTES = 16 };
#define BLOCK_BYTES ((size_t)THREADS * LOADS * LOAD_BYTES)

/* A thread XORs the words of its eight loads, and stores its number where that is `want`: the loads
 * cannot be left out, and one thread's XOR given as `want` shows that they are right. */
static const char ptx[] =
    ".version 7.4\n.target sm_80\n.address_size 64\n"
    ".visible .entry read_all(.param .u64 data, .param .u64 result, .param .u32 want)\n"
    "{\n"
    "  .reg .pred %p;\n"
    "  .reg .b32 %r<12>, %v<32>;\n"
    "  .reg .b64 %d<6>;\n"
    "  ld.param.u64 %d0, [data];\n"
    "  ld.param.u64 %d1, [result];\n"
    "  ld.param.u32 %r0, [want];\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  mul.wide.u32 %d2, %r1, 32768;\n"
    "  mul.wide.u32 %d3, %r2, 16;\n"
    "  add.s64 %d4, %d0, %d2;\n"
    "  add.s64 %d4, %d4, %d3;\n"
#define READ_LOAD(a, b, c, d, at) \
  "  ld.global.nc.L1::no_allocate.v4.u32 {%v" #a ", %v" #b ", %v" #c ", %v" #d "}, [%d4+" #at "];" \
  "\n"
    READ_LOAD(0, 1, 2, 3, 0) READ_LOAD(4, 5, 6, 7, 4096) READ_LOAD(8, 9, 10, 11, 8192)
        READ_LOAD(12, 13, 14, 15, 12288) READ_LOAD(16, 17, 18, 19, 16384)
            READ_LOAD(20, 21, 22, 23, 20480) READ_LOAD(24, 25, 26, 27, 24576)
                READ_LOAD(28, 29, 30, 31, 28672)
#undef READ_LOAD
                    "  xor.b32 %r3, %v0, %v1;\n"
#define READ_XOR(a, b) "  xor.b32 %r4, %v" #a ", %v" #b ";\n  xor.b32 %r3, %r3, %r4;\n"
    READ_XOR(2, 3) READ_XOR(4, 5) READ_XOR(6, 7) READ_XOR(8, 9) READ_XOR(10, 11) READ_XOR(12, 13)
        READ_XOR(14, 15) READ_XOR(16, 17) READ_XOR(18, 19) READ_XOR(20, 21) READ_XOR(22, 23)
            READ_XOR(24, 25) READ_XOR(26, 27) READ_XOR(28, 29) READ_XOR(30, 31)
#undef READ_XOR
                "  setp.eq.u32 %p, %r3, %r0;\n"
                "  mad.lo.u32 %r5, %r1, 256, %r2;\n"
                "  @%p st.global.u32 [%d1], %r5;\n"
                "  ret;\n"
                "}\n";

size_t bare_read_bytes(size_t bytes) {
  return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

void bare_read_begin(harness *h, bare_read *r) {
  *r = (bare_read){.h = h, .kernel = ptx_kernel_create(h->info.name, ptx, "read_all")};
  harness_must(llrt_memory_allocate(h->device, sizeof(unsigned), &r->result), "device memory");
}

void bare_read_end(bare_read *r) {
  llrt_memory_free(r->h->device, r->result);
  ptx_kernel_destroy(r->kernel);
}

void bare_read_launch(const bare_read *r, const void *data, size_t bytes) {
  unsigned want = r->want;
  void *result = r->result, *parameters[] = {&data, &result, &want};
  ptx_kernel_launch(r->kernel, (unsigned)(bare_read_bytes(bytes) / BLOCK_BYTES), THREADS,
                    parameters, NULL);
}

/* The XOR that one thread finds. */
static unsigned expected_xor(const unsigned char *host, unsigned thread) {
  const unsigned char *at =
      host + thread / THREADS * BLOCK_BYTES + (size_t)(thread % THREADS) * LOAD_BYTES;
  unsigned all = 0, word;
  for (size_t load = 0; load < LOADS; load++)
    for (size_t i = 0; i < LOAD_BYTES; i += sizeof word) {
      memcpy(&word, at + load * THREADS * LOAD_BYTES + i, sizeof word);
      all ^= word;
    }
  return all;
}

/* A thread from the middle must report itself, or another one with the same words. Where the host
 * lacks what that one reads, whose XOR is the same by chance: two tries. */
void bare_read_check(bare_read *r, const void *data, const unsigned char *host, size_t bytes) {
  unsigned whole = (unsigned)(bytes / BLOCK_BYTES), found = 0;
  if (whole == 0) return;
  for (unsigned try = 1; try <= 2; try++) {
    r->want = expected_xor(host, whole / (1 + try) * THREADS + 77);
    harness_must(llrt_memory_set(r->h->device, r->result, 0xee, sizeof found, NULL), "clear");
    bare_read_launch(r, data, bytes);
    harness_must(llrt_memory_copy(r->h->device, &found, r->result, sizeof found,
                                  LLRT_COPY_FROM_DEVICE, NULL),
                 "copy from the device");
    harness_must(llrt_stream_synchronize(r->h->device, NULL), "read");
    if (found / THREADS < whole && expected_xor(host, found) == r->want) return;
  }
  fprintf(stderr, "the kernel that only reads did not read\n");
  exit(1);
}
