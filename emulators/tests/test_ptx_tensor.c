/* Copies of boxes by tensor maps: where elements go, what is outside, and what is refused. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define ROWS 14
#define COLUMNS 70
#define STRIDE 192 /* bytes */

/* One barrier at `tile`; a box of 64 x 16 elements of 16 bits at tile + 1024, from column x, row y
 * on; each thread reads 8 bytes of it. */
#define COPY(x, y, to, map) COPY_OF("2d", "{%r10, %r11}", x, y, to, map)
#define COPY_OF(rank, place, x, y, to, map) \
  "mov.u32 %r5, tile; shl.b32 %r6, %r9, 3; add.s32 %r6, %r6, %r5; setp.eq.u32 %p4, %r9, 0; " \
  "mov.b64 %d5, map;" \
  "cvta.param.u64 %d6, %d5; @%p4 mbarrier.init.shared::cta.b64 [%r5], 1; bar.sync 0; mov.b32 " \
  "%r10, " x ";" \
  "mov.b32 %r11, " y "; add.s32 %r7, %r5, " to \
  "; @%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 2048;" \
  "@%p4 cp.async.bulk.tensor." rank \
  ".shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [" map ", " place "], [%r5];"
#define FETCH(map) "mov.b64 %d5, " map "; cvta.param.u64 %d6, %d5; prefetch.tensormap [%d6]; "
#define WAIT \
  "A: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5], 0; @%p5 bra DONE; bra A; DONE:"
#define READ "ld.shared.u64 %d0, [%r6+1024];"
#define MAP \
  {.magic = PTX_TENSOR_MAP_MAGIC, \
   .rank = 2, \
   .extent = {COLUMNS, ROWS, 1}, \
   .stride = {STRIDE}, \
   .box = {64, 16, 1}, \
   .log2_bytes = 1}

static uint16_t element(int64_t row, int64_t column) {
  bool inside = row >= 0 && row < ROWS && column >= 0 && column < COLUMNS;
  return inside ? (uint16_t)(1 + row * (STRIDE / 2) + column) : 0;
}

/* What thread `thread` reads. */
static uint64_t expected(int thread, int swizzle, int64_t x, int64_t y) {
  uint64_t word = 0, at = (uint64_t)thread * 8;
  at ^= (at >> 7 & ((1u << swizzle) - 1)) << 4;
  for (int i = 0; i < 4; i++)
    word |= (uint64_t)element(y + (int64_t)(at / 128), x + (int64_t)(at % 128 / 2) + i) << (16 * i);
  return word;
}

static const struct {
  const char *body;
  int64_t x, y;
} places[] = {
    {COPY("0", "0", "1024", "%d6") WAIT READ, 0, 0},
    {COPY("8", "3", "1024", "%d6") WAIT READ, 8, 3},
    {COPY("-16", "-2", "1024", "%d6") WAIT READ, -16, -2},
    {COPY("64", "13", "1024", "%d6") WAIT READ, 64, 13},
    {FETCH("map") COPY("8", "3", "1024", "%d6") WAIT READ, 8, 3},
};

/* Elements of 16 bits, which count from 1 on. */
static const uint64_t (*numbered(void))[3] {
  static uint64_t in[128][3];
  uint16_t *elements = (uint16_t *)in;
  for (size_t i = 0; i < sizeof in / 2; i++) elements[i] = (uint16_t)(1 + i);
  return (const uint64_t(*)[3])in;
}

Test(ptx_tensor, boxes) {
  static ptx_result result;
  const uint64_t(*in)[3] = numbered();
  for (int swizzle = 0; swizzle <= 3; swizzle += 3) {
    ptx_tensor_map map = MAP;
    map.swizzle = (uint8_t)swizzle;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      ptx_program program = {.body = places[i].body, .threads = 128, .map = &map};
      ptx_program_run(&program, in, &result);
      cr_assert(result.done, "%zu: %s (%s)", i, result.fault.message, result.fault.instruction);
      for (int t = 0; t < 128; t++)
        cr_expect_eq(result.out[t], expected(t, swizzle, places[i].x, places[i].y),
                     "%zu, swizzle %d, thread %d", i, swizzle, t);
    }
  }
}

/* The plane is the third coordinate: half as many rows, two of them; what is behind the last is
 * zero. */
Test(ptx_tensor, planes) {
  static ptx_result result;
  const uint64_t(*in)[3] = numbered();
  ptx_tensor_map map = MAP;
  map.rank = 3;
  map.extent[1] = ROWS / 2;
  map.extent[2] = 2;
  map.stride[1] = ROWS / 2 * STRIDE;
  for (int z = 0; z <= 2; z++) {
    static const char *const bodies[] = {
        COPY_OF("3d", "{%r10, %r11, %r12}", "0; mov.b32 %r12, 0", "0", "1024", "%d6") WAIT READ,
        COPY_OF("3d", "{%r10, %r11, %r12}", "0; mov.b32 %r12, 1", "0", "1024", "%d6") WAIT READ,
        COPY_OF("3d", "{%r10, %r11, %r12}", "0; mov.b32 %r12, 2", "0", "1024", "%d6") WAIT READ};
    ptx_program program = {.body = bodies[z], .threads = 128, .map = &map};
    ptx_program_run(&program, in, &result);
    cr_assert(result.done, "%d: %s (%s)", z, result.fault.message, result.fault.instruction);
    for (int t = 0; t < 128; t++) {
      int row = t / 16;
      uint64_t wanted = row < ROWS / 2 && z < 2 ? expected(t, 0, 0, z * (ROWS / 2)) : 0;
      cr_expect_eq(result.out[t], wanted, "plane %d, thread %d", z, t);
    }
  }
}

/* Each thread has twice 8 bytes of a box, which goes to column 8, row 3 of the input; then it reads
 * 8 of 24 bytes of that. */
#define STORED \
  "st.shared.u64 [%r6+1024], %d4; add.s64 %d4, %d4, 144117387132666368; " \
  "st.shared.u64 [%r6+2048], %d4; "
#define SEND(stored) \
  "mov.u32 %r5, tile; shl.b32 %r6, %r9, 3; add.s32 %r6, %r6, %r5; setp.eq.u32 %p4, %r9, 0; " \
  "mov.b64 %d5, map; cvta.param.u64 %d6, %d5; cvt.u64.u32 %d4, %r9; shl.b64 %d4, %d4, 2; " \
  "add.s64 %d4, %d4, 32768; mul.lo.s64 %d4, %d4, 281479271743489; " \
  "add.s64 %d4, %d4, 844433520132096; " stored \
  "fence.proxy.async.shared::cta; bar.sync 0; mov.b32 %r10, 8; mov.b32 %r11, 3; " \
  "add.s32 %r7, %r5, 1024; @%p4 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group " \
  "[%d6, {%r10, %r11}], [%r7]; @%p4 cp.async.bulk.commit_group; " \
  "@%p4 cp.async.bulk.wait_group.read 0; @%p4 cp.async.bulk.wait_group 0; bar.sync 0; " \
  "ld.global.u64 %d0, [%d30];"

/* An element of the input behind that. */
static uint16_t sent(int64_t at, int swizzle) {
  const int64_t row = at / (STRIDE / 2) - 3, column = at % (STRIDE / 2) - 8;
  if (row < 0 || row + 3 >= ROWS || column < 0 || column >= 64 || column + 8 >= COLUMNS)
    return (uint16_t)(1 + at);
  int64_t place = row * 128 + column * 2;
  place ^= (place >> 7 & ((1 << swizzle) - 1)) << 4;
  return (uint16_t)(0x8000 + place / 2);
}

Test(ptx_tensor, sends) {
  static ptx_result result;
  const uint64_t(*in)[3] = numbered();
  for (int swizzle = 0; swizzle <= 3; swizzle += 3) {
    ptx_tensor_map map = MAP;
    map.swizzle = (uint8_t)swizzle;
    ptx_program program = {.body = SEND(STORED), .threads = 128, .map = &map};
    ptx_program_run(&program, in, &result);
    cr_assert(result.done, "%s (%s)", result.fault.message, result.fault.instruction);
    for (int t = 0; t < 128; t++) {
      uint64_t wanted = 0;
      for (int i = 0; i < 4; i++) wanted |= (uint64_t)sent(12 * t + i, swizzle) << (16 * i);
      cr_expect_eq(result.out[t], wanted, "swizzle %d, thread %d", swizzle, t);
    }
  }
}

Test(ptx_tensor, faults) {
  static const ptx_tensor_map good = {.magic = PTX_TENSOR_MAP_MAGIC,
                                      .rank = 2,
                                      .extent = {COLUMNS, ROWS, 1},
                                      .stride = {STRIDE},
                                      .box = {64, 16, 1},
                                      .log2_bytes = 1,
                                      .swizzle = 3};
  static const ptx_tensor_map long_rows = {.magic = PTX_TENSOR_MAP_MAGIC,
                                           .rank = 2,
                                           .extent = {COLUMNS, 100, 1},
                                           .stride = {STRIDE},
                                           .box = {64, 16, 1},
                                           .log2_bytes = 1,
                                           .swizzle = 3};
  static const struct {
    const char *name, *body;
    const ptx_tensor_map *map;
    emu_fault_kind kind;
  } rows[] = {
      {"nothing is stored to be sent", SEND(""), &good, EMU_UNDEFINED},
      {"a row that is not there is sent", SEND(STORED), &long_rows, EMU_OUT_OF_RANGE},
      {"no wait", COPY("0", "0", "1024", "%d6") READ, &good, EMU_RACE},
      {"a plane of a plane", COPY_OF("3d", "{%r10, %r11, %r11}", "0", "0", "1024", "%d6") WAIT READ,
       &good, EMU_UNKNOWN},
      {"nothing waits", COPY("0", "0", "1024", "%d6") "mov.u64 %d0, 0;", &good, EMU_NOT_WAITED},
      {"pieces permuted at 128 bytes", COPY("0", "0", "1152", "%d6") WAIT READ, &good,
       EMU_MISALIGNED},
      {"past the block's memory", COPY("0", "0", "3072", "%d6") WAIT READ, &good, EMU_OUT_OF_RANGE},
      {"rows that are not there", COPY("0", "30", "1024", "%d6") WAIT READ, &long_rows,
       EMU_OUT_OF_RANGE},
      {"no parameter", COPY("0", "0", "1024", "%d30") WAIT READ, &good, EMU_OUT_OF_RANGE},
      {"no parameter is fetched", "mov.u64 %d6, 64; prefetch.tensormap [%d6]; ret;", &good,
       EMU_OUT_OF_RANGE},
      {"what is no map is fetched, and not read", FETCH("map") "ret;", NULL, EMU_OK},
      {"no map", COPY("0", "0", "1024", "%d6") WAIT READ, NULL, EMU_UNKNOWN},
      {"undefined coordinate", COPY("%r40", "0", "1024", "%d6") WAIT READ, &good, EMU_UNDEFINED},
  };
  static ptx_result result;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ptx_program program = {.body = rows[i].body, .threads = 128, .map = rows[i].map};
    ptx_program_run(&program, NULL, &result);
    cr_expect(result.fault.kind == rows[i].kind, "%s: %s (%s)", rows[i].name, result.fault.message,
              result.fault.instruction);
  }
}
