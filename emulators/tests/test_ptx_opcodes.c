/* Register instructions, one row or more each: the values that the PTX ISA gives, by hand. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The body's last instruction writes a register of this letter; it is widened to %d0. */
static const char *widen(char result) {
  switch (result) {
  case 'p': return "selp.b64 %d0, 1, 0, %p0;";
  case 'h': return "cvt.u64.u16 %d0, %h0;";
  case 'r': return "cvt.u64.u32 %d0, %r0;";
  default: return "";
  }
}

/* By one lane, for all of the warp. */
#define ONE "setp.eq.u32 %p4, %r8, 0; @%p4 "
#define MET "bar.warp.sync -1;"

static const struct {
  const char *body;
  char result;
  uint64_t a, b, c, expected;
} rows[] = {
    /* sums and products */
    {"add.s32 %r0, %r1, %r2;", 'r', 0xffffffff, 2, 0, 1},
    {"add.u64 %d0, %d1, 5;", 'd', UINT64_MAX, 0, 0, 4},
    {"add.s16 %h0, %h1, %h2;", 'h', 0x7fff, 1, 0, 0x8000},
    {"sub.s32 %r0, %r1, %r2;", 'r', 3, 5, 0, 0xfffffffe},
    {"sub.s64 %d0, %d1, %d2;", 'd', 3, 5, 0, (uint64_t)-2},
    {"mul.lo.s32 %r0, %r1, %r2;", 'r', 0x10001, 0x10001, 0, 0x20001},
    {"mul.lo.s64 %d0, %d1, -3;", 'd', 7, 0, 0, (uint64_t)-21},
    {"mul.hi.u32 %r0, %r1, %r2;", 'r', 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {"mul.hi.s32 %r0, %r1, %r2;", 'r', 0xffffffff, 2, 0, 0xffffffff},
    {"mul.hi.u64 %d0, %d1, %d2;", 'd', UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
    {"mul.hi.s64 %d0, %d1, %d2;", 'd', UINT64_MAX, 2, 0, UINT64_MAX},
    {"mul.wide.u32 %d0, %r1, %r2;", 'd', 0xffffffff, 0xffffffff, 0, 0xfffffffe00000001},
    {"mul.wide.s32 %d0, %r1, %r2;", 'd', 0xffffffff, 5, 0, (uint64_t)-5},
    {"mul.wide.u16 %r0, %h1, 256;", 'r', 0xffff, 0, 0, 0xffff00},
    {"mul.wide.s16 %r0, %h1, %h2;", 'r', 0xffff, 3, 0, 0xfffffffd},
    {"mad.lo.s32 %r0, %r1, %r2, %r3;", 'r', 7, 6, 0xfffffffe, 40},
    {"mad.lo.s64 %d0, %d1, %d2, %d3;", 'd', 7, 6, 5, 47},
    {"mad.hi.u32 %r0, %r1, %r2, %r3;", 'r', 0x80000000, 4, 3, 5},
    {"mad.wide.u32 %d0, %r1, %r2, %d3;", 'd', 0xffffffff, 2, 1, 0x1ffffffff},
    {"mad.wide.s32 %d0, %r1, %r2, %d3;", 'd', 0xffffffff, 2, 1, UINT64_MAX},
    {"neg.s32 %r0, %r1;", 'r', 1, 0, 0, 0xffffffff},
    {"abs.s32 %r0, %r1;", 'r', 0xfffffff0, 0, 0, 16},
    {"min.s32 %r0, %r1, %r2;", 'r', 0xffffffff, 1, 0, 0xffffffff},
    {"min.u32 %r0, %r1, %r2;", 'r', 0xffffffff, 1, 0, 1},
    {"max.s64 %d0, %d1, %d2;", 'd', UINT64_MAX, 1, 0, 1},
    {"max.u16 %h0, %h1, %h2;", 'h', 0xffff, 1, 0, 0xffff},
    {"div.u32 %r0, %r1, %r2;", 'r', 100, 7, 0, 14},
    {"div.s32 %r0, %r1, %r2;", 'r', 0xffffff9c, 7, 0, 0xfffffff2},
    {"div.s32 %r0, %r1, %r2;", 'r', 0x80000000, 0xffffffff, 0, 0x80000000},
    {"div.u64 %d0, %d1, %d2;", 'd', UINT64_MAX, 10, 0, UINT64_MAX / 10},
    {"rem.u32 %r0, %r1, %r2;", 'r', 100, 7, 0, 2},
    {"rem.s32 %r0, %r1, %r2;", 'r', 0xffffff9c, 7, 0, 0xfffffffe},
    /* logic and shifts */
    {"and.b32 %r0, %r1, %r2;", 'r', 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
    {"or.b64 %d0, %d1, %d2;", 'd', 0xf000000000000000, 0xf, 0, 0xf00000000000000f},
    {"xor.b16 %h0, %h1, -1;", 'h', 0x00ff, 0, 0, 0xff00},
    {"not.b32 %r0, %r1;", 'r', 0xf0f0f0f0, 0, 0, 0x0f0f0f0f},
    {"not.pred %p0, %p1;", 'p', 0, 0, 0, 1},
    {"and.pred %p0, %p1, %p2;", 'p', 1, 0, 0, 0},
    {"or.pred %p0, %p1, %p2;", 'p', 1, 0, 0, 1},
    {"xor.pred %p0, %p1, %p2;", 'p', 1, 1, 0, 0},
    {"cnot.b32 %r0, %r1;", 'r', 0, 0, 0, 1},
    {"shl.b32 %r0, %r1, %r2;", 'r', 3, 31, 0, 0x80000000},
    {"shl.b32 %r0, %r1, %r2;", 'r', 3, 32, 0, 0},
    {"shl.b64 %d0, %d1, %r2;", 'd', 3, 40, 0, 0x30000000000},
    {"shl.b16 %h0, %h1, 8;", 'h', 0x1234, 0, 0, 0x3400},
    {"shr.u32 %r0, %r1, %r2;", 'r', 0x80000000, 31, 0, 1},
    {"shr.u32 %r0, %r1, %r2;", 'r', 0x80000000, 99, 0, 0},
    {"shr.s32 %r0, %r1, %r2;", 'r', 0x80000000, 99, 0, 0xffffffff},
    {"shr.s16 %h0, %h1, 4;", 'h', 0x8000, 0, 0, 0xf800},
    {"shr.u64 %d0, %d1, 60;", 'd', 0xf000000000000000, 0, 0, 15},
    {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 'r', 0x80000001, 0x12345678, 36, 0x23456788},
    {"shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 'r', 0x80000001, 0x12345678, 4, 0x88000000},
    {"shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 'r', 0x80000001, 0x12345678, 36, 0x80000001},
    {"shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 'r', 0x80000001, 0x12345678, 36, 0x12345678},
    {"brev.b32 %r0, %r1;", 'r', 0x00000013, 0, 0, 0xc8000000},
    {"brev.b64 %d0, %d1;", 'd', 1, 0, 0, 0x8000000000000000},
    {"popc.b32 %r0, %r1;", 'r', 0xf0f00001, 0, 0, 9},
    {"popc.b64 %r0, %d1;", 'r', UINT64_MAX, 0, 0, 64},
    {"clz.b32 %r0, %r1;", 'r', 0x00010000, 0, 0, 15},
    {"clz.b64 %r0, %d1;", 'r', 0, 0, 0, 64},
    {"bfind.u32 %r0, %r1;", 'r', 0x00010000, 0, 0, 16},
    {"bfind.u32 %r0, %r1;", 'r', 0, 0, 0, 0xffffffff},
    {"bfind.s32 %r0, %r1;", 'r', 0xffff0000, 0, 0, 15},
    {"bfe.u32 %r0, %r1, 5, 3;", 'r', 0x000000e0, 0, 0, 7},
    {"bfe.u32 %r0, %r1, 28, 8;", 'r', 0xf0000000, 0, 0, 15},
    {"bfe.s32 %r0, %r1, 4, 4;", 'r', 0x00000080, 0, 0, 0xfffffff8},
    {"bfe.s32 %r0, %r1, 28, 8;", 'r', 0xf0000000, 0, 0, 0xffffffff},
    {"bfe.s32 %r0, %r1, 40, 4;", 'r', 0x80000000, 0, 0, 0xffffffff},
    {"bfe.u64 %d0, %d1, 32, 16;", 'd', 0x0000abcd00000000, 0, 0, 0xabcd},
    {"bfe.u32 %r0, %r1, 3, 0;", 'r', 0xffffffff, 0, 0, 0},
    {"bfi.b32 %r0, %r1, %r2, 8, 4;", 'r', 0xff, 0x11111111, 0, 0x11111f11},
    {"bfi.b64 %d0, %d1, %d2, 60, 8;", 'd', 0xff, 1, 0, 0xf000000000000001},
    {"lop3.b32 %r0, %r1, %r2, %r3, 0x96;", 'r', 0xff00ff00, 0xf0f0f0f0, 0xcccccccc,
     0xff00ff00 ^ 0xf0f0f0f0 ^ 0xcccccccc},
    {"lop3.b32 %r0, %r1, %r2, %r3, 0xe2;", 'r', 0xff00ff00, 0xf0f0f0f0, 0xcccccccc,
     (0xff00ff00 & 0xf0f0f0f0) | (0x0f0f0f0f & 0xcccccccc)},
    /* comparisons and selection */
    {"setp.lt.s32 %p0, %r1, %r2;", 'p', 0xffffffff, 1, 0, 1},
    {"setp.lt.u32 %p0, %r1, %r2;", 'p', 0xffffffff, 1, 0, 0},
    {"setp.eq.b64 %p0, %d1, %d2;", 'p', 1ull << 40, 1ull << 40, 0, 1},
    {"setp.ne.s32 %p0, %r1, -1;", 'p', 0xffffffff, 0, 0, 0},
    {"setp.le.s64 %p0, %d1, %d2;", 'p', 5, 5, 0, 1},
    {"setp.gt.u64 %p0, %d1, %d2;", 'p', UINT64_MAX, 5, 0, 1},
    {"setp.ge.s16 %p0, %h1, %h2;", 'p', 0x8000, 0, 0, 0},
    {"setp.hi.u32 %p0, %r1, %r2;", 'p', 6, 5, 0, 1},
    {"setp.ls.u32 %p0, %r1, %r2;", 'p', 6, 5, 0, 0},
    {"setp.lo.u32 %p0, %r1, %r2;", 'p', 4, 5, 0, 1},
    {"setp.hs.u32 %p0, %r1, %r2;", 'p', 5, 5, 0, 1},
    {"selp.b32 %r0, %r1, %r2, %p3;", 'r', 11, 22, 1, 11},
    {"selp.b64 %d0, %d1, %d2, %p3;", 'd', 11, 22, 0, 22},
    {"selp.b32 %r0, -1, 0, %p3;", 'r', 0, 0, 1, 0xffffffff},
    /* bytes */
    {"prmt.b32 %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 0x7531, 0x77553311},
    {"prmt.b32 %r0, %r1, %r2, %r3;", 'r', 0x00008000, 0x77665544, 0x0098, 0x0000ff00},
    {"prmt.b32.f4e %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 1, 0x44332211},
    {"prmt.b32.f4e %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 3, 0x66554433},
    {"prmt.b32.b4e %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 0, 0x55667700},
    {"prmt.b32.b4e %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 3, 0x00112233},
    {"prmt.b32.rc8 %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 2, 0x22222222},
    {"prmt.b32.ecl %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 2, 0x33222222},
    {"prmt.b32.ecr %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 1, 0x11111100},
    {"prmt.b32.rc16 %r0, %r1, %r2, %r3;", 'r', 0x33221100, 0x77665544, 1, 0x33223322},
    /* moves */
    {"mov.b64 %d0, {%r1, %r2};", 'd', 0x11111111, 0x22222222, 0, 0x2222222211111111},
    {"mov.b64 {%r0, %r4}, %d1;", 'r', 0x2222222211111111, 0, 0, 0x11111111},
    {"mov.b64 {%r4, %r0}, %d1;", 'r', 0x2222222211111111, 0, 0, 0x22222222},
    {"mov.b32 {%h4, %h0}, %r1;", 'h', 0x12345678, 0, 0, 0x1234},
    {"mov.b32 {_, %h0}, %r1;", 'h', 0x12345678, 0, 0, 0x1234},
    {"mov.b32 %r0, {%h1, %h2};", 'r', 0x5678, 0x1234, 0, 0x12345678},
    {"mov.u32 %r0, 0x80000000;", 'r', 0, 0, 0, 0x80000000},
    {"mov.f32 %f0, 0f3F800000; mov.b32 %r0, %f0;", 'r', 0, 0, 0, 0x3f800000},
    {"mov.pred %p0, %p1;", 'p', 1, 0, 0, 1},
    {"{ .reg .b32 %r0; mov.u32 %r0, 7; } mov.u32 %r0, 9;", 'r', 0, 0, 0, 9},
    {"mov.u32 %r0, %ntid.x;", 'r', 0, 0, 0, 32},
    {"mov.u32 %r0, %nctaid.x;", 'r', 0, 0, 0, 1},
    {"mov.u32 %r0, %ctaid.x;", 'r', 0, 0, 0, 0},
    {"mov.u32 %r0, %tid.y;", 'r', 0, 0, 0, 0},
    {"mov.u32 %r0, %warpid;", 'r', 0, 0, 0, 0},
    /* widths */
    {"cvt.u64.u32 %d0, %r1;", 'd', 0x80000000, 0, 0, 0x80000000},
    {"cvt.s64.s32 %d0, %r1;", 'd', 0x80000000, 0, 0, 0xffffffff80000000},
    {"cvt.u32.u64 %r0, %d1;", 'r', 0x123456789abcdef0, 0, 0, 0x9abcdef0},
    {"cvt.s32.s8 %r0, %r1;", 'r', 0x80, 0, 0, 0xffffff80},
    {"cvt.u32.u8 %r0, %r1;", 'r', 0x1ff, 0, 0, 0xff},
    {"cvt.u16.u32 %h0, %r1;", 'h', 0x12345678, 0, 0, 0x5678},
    {"cvt.u8.u32 %h0, %r1;", 'h', 0x12345678, 0, 0, 0x78},
    {"cvt.s8.s32 %h0, %r1;", 'h', 0x12345688, 0, 0, 0xff88},
    {"cvt.s16.s8 %h0, %h1;", 'h', 0x80, 0, 0, 0xff80},
    /* floats */
    {"cvt.rn.f32.s32 %f0, %r1; mov.b32 %r0, %f0;", 'r', 0xffffffff, 0, 0, 0xbf800000},
    {"cvt.rn.f32.u32 %r0, %r1;", 'r', 0x01000001, 0, 0, 0x4b800000},
    {"cvt.rz.f32.u32 %r0, %r1;", 'r', 0x01000003, 0, 0, 0x4b800001},
    {"cvt.rn.f64.s64 %d0, %d1;", 'd', 3, 0, 0, 0x4008000000000000},
    {"cvt.rzi.s32.f32 %r0, %r1;", 'r', 0xc0200000, 0, 0, 0xfffffffe},
    {"cvt.rni.s32.f32 %r0, %r1;", 'r', 0x40200000, 0, 0, 2},
    {"cvt.rmi.s32.f32 %r0, %r1;", 'r', 0xc0200000, 0, 0, 0xfffffffd},
    {"cvt.rpi.s32.f32 %r0, %r1;", 'r', 0xc0200000, 0, 0, 0xfffffffe},
    {"cvt.rzi.u32.f32 %r0, %r1;", 'r', 0xc0200000, 0, 0, 0},
    {"cvt.rzi.s32.f32 %r0, %r1;", 'r', 0x7f800000, 0, 0, 0x7fffffff},
    {"cvt.rni.s32.f32 %r0, %r1;", 'r', 0x7fc00000, 0, 0, 0},
    {"cvt.pack.sat.s8.s32.b32 %r0, %r1, %r2, %r3;", 'r', 0xfffffffe, 0x80, 0x12345678, 0x5678fe7f},
    {"cvt.pack.sat.s8.s32.b32 %r0, %r1, %r2, 0;", 'r', 0x80000000, 0x7f, 0, 0x807f},
    {"cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, 0;", 'r', 0xffffffff, 0x100, 0, 0x00ff},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0x3f801000, 0, 0, 0x3c00},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0x3f803000, 0, 0, 0x3c02},
    {"cvt.rz.f16.f32 %h0, %r1;", 'h', 0x3f803fff, 0, 0, 0x3c01},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0x477ff000, 0, 0, 0x7c00},
    {"cvt.rz.f16.f32 %h0, %r1;", 'h', 0x47800000, 0, 0, 0x7bff},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0x33800000, 0, 0, 0x0001},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0x33000000, 0, 0, 0x0000},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0xff800000, 0, 0, 0xfc00},
    {"cvt.rn.f16.f32 %h0, %r1;", 'h', 0x7fc00000, 0, 0, 0x7fff},
    {"cvt.f32.f16 %r0, %h1;", 'r', 0x0001, 0, 0, 0x33800000},
    {"cvt.f32.f16 %r0, %h1;", 'r', 0xc000, 0, 0, 0xc0000000},
    {"cvt.f32.bf16 %r0, %h1;", 'r', 0x3f80, 0, 0, 0x3f800000},
    {"cvt.rn.bf16.f32 %h0, %r1;", 'h', 0x3f808000, 0, 0, 0x3f80},
    {"cvt.rn.bf16.f32 %h0, %r1;", 'h', 0x3f818000, 0, 0, 0x3f82},
    {"mul.rn.bf16x2 %r0, %r1, %r2;", 'r', 0x004080c0, 0x7e807e80, 0,
     0x3f00bfc0}, /* subnormals stay */
    {"mul.rn.f16x2 %r0, %r1, %r2;", 'r', 0x02008c00, 0x74007400, 0, 0x3800c400},
    {"fma.rn.bf16x2 %r0, %r1, %r2, %r3;", 'r', 0x43074300, 0x3f803f80, 0xc300c308, 0x40e0c100},
    {"fma.rn.f16x2 %r0, %r1, %r2, %r3;", 'r', 0x6400640f, 0x3c003c00, 0xe400e408, 0x00004700},
    {"max.NaN.bf16x2 %r0, %r1, %r2;", 'r', 0x3f80bf80, 0x40007fc1, 0, 0x40007fff},
    {"min.NaN.f16x2 %r0, %r1, %r2;", 'r', 0x3c008000, 0xfc000000, 0, 0xfc008000},
    {"max.bf16x2 %r0, %r1, %r2;", 'r', 0x7fc00001, 0x80008001, 0, 0x80000001},
    {"min.bf16x2 %r0, %r1, %r2;", 'r', 0xffc0c100, 0x40c040c0, 0, 0x40c0c100},
    {"abs.bf16x2 %r0, %r1;", 'r', 0xc0408001, 0, 0, 0x40400001},
    {"abs.f16x2 %r0, %r1;", 'r', 0xfc003c00, 0, 0, 0x7c003c00},
    {"cvt.rn.bf16x2.f32 %r0, %r1, %r2;", 'r', 0x3f800000, 0x40000000, 0, 0x3f804000},
    {"cvt.rn.f16x2.f32 %r0, %r1, %r2;", 'r', 0x3f800000, 0x40000000, 0, 0x3c004000},
    {"cvt.rna.tf32.f32 %r0, %r1;", 'r', 0x3f801000, 0, 0, 0x3f802000},
    {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", 'h', 0x3f800000, 0x44000000, 0, 0x387e},
    {"cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2;", 'h', 0x3f800000, 0x47800000, 0, 0x3c7b},
    {"cvt.rn.f16x2.e4m3x2 %r0, %h1;", 'r', 0x3840, 0, 0, 0x3c004000},
    {"cvt.rn.f16x2.e5m2x2 %r0, %h1;", 'r', 0x3c01, 0, 0, 0x3c000100},
    {"cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;", 'h', 0x3c007bff, 0, 0, 0x387e},
    {"cvt.f64.f32 %d0, %r1;", 'd', 0x3f800000, 0, 0, 0x3ff0000000000000},
    {"cvt.rn.f32.f64 %r0, %d1;", 'r', 0x3ff0000010000000, 0, 0, 0x3f800000},
    {"cvt.rn.f32.f64 %r0, %d1;", 'r', 0x3ff0000010000001, 0, 0, 0x3f800001},
    {"add.f32 %r0, %r1, %r2;", 'r', 0x3f800000, 0x33800000, 0, 0x3f800000},
    {"add.rn.f32 %r0, %r1, %r2;", 'r', 0x3f800000, 0x33800001, 0, 0x3f800001},
    {"sub.f32 %r0, %r1, %r2;", 'r', 0x40400000, 0x3f800000, 0, 0x40000000},
    {"mul.f32 %r0, %r1, %r2;", 'r', 0x40400000, 0x40400000, 0, 0x41100000},
    {"mul.f16 %h0, %h1, %h2;", 'h', 0x4200, 0x4200, 0, 0x4880},
    {"add.bf16 %h0, %h1, %h2;", 'h', 0x3f80, 0x3b80, 0, 0x3f80},
    {"fma.rn.f32 %r0, %r1, %r2, %r3;", 'r', 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {"fma.rn.f64 %d0, %d1, %d2, %d3;", 'd', 0x4000000000000000, 0x4000000000000000,
     0x3ff0000000000000, 0x4014000000000000},
    {"min.f32 %r0, %r1, %r2;", 'r', 0x7fc00000, 0x3f800000, 0, 0x3f800000},
    {"min.f32 %r0, %r1, %r2;", 'r', 0, 0x80000000, 0, 0x80000000},
    {"max.f32 %r0, %r1, %r2;", 'r', 0x80000000, 0, 0, 0},
    {"min.NaN.f32 %r0, %r1, %r2;", 'r', 0x7fc00000, 0x3f800000, 0, 0x7fffffff},
    {"max.NaN.f32 %r0, %r1, %r2;", 'r', 0x3f800000, 0xff800001, 0, 0x7fffffff},
    {"max.NaN.f32 %r0, %r1, %r2;", 'r', 0x3f800000, 0xbf800000, 0, 0x3f800000},
    {"max.f32 %r0, %r1, %r2;", 'r', 0x40000000, 0x3f800000, 0, 0x40000000},
    {"neg.f32 %r0, %r1;", 'r', 0x3f800000, 0, 0, 0xbf800000},
    {"abs.f64 %d0, %d1;", 'd', 0xbff0000000000000, 0, 0, 0x3ff0000000000000},
    {"setp.lt.f32 %p0, %r1, %r2;", 'p', 0xbf800000, 0x3f800000, 0, 1},
    {"setp.eq.f32 %p0, %r1, %r2;", 'p', 0x80000000, 0, 0, 1},
    {"setp.le.f32 %p0, %r1, %r2;", 'p', 0x7fc00000, 0, 0, 0},
    {"setp.neu.f32 %p0, %r1, %r2;", 'p', 0x7fc00000, 0, 0, 1},
    {"setp.nan.f32 %p0, %r1, %r2;", 'p', 0x7fc00000, 0, 0, 1},
    {"setp.num.f64 %p0, %d1, %d2;", 'p', 0, 0, 0, 1},
    /* memory */
    {"mov.u32 %r4, tile;" ONE "st.shared.u32 [%r4+8], %r1;" MET "ld.shared.u32 %r0, [tile+8];", 'r',
     77, 0, 0, 77},
    {"mov.u32 %r4, tile;" ONE "st.shared.v2.u32 [%r4], {%r1, %r2};" MET "ld.shared.u64 %d0, [%r4];",
     'd', 1, 2, 0, 0x200000001},
    {ONE "st.shared.v4.u32 [tile], {%r1, %r2, %r3, 9};" MET "ld.shared.u8 %r0, [tile+12];", 'r', 0,
     0, 0, 9},
    {ONE "st.shared.u8 [tile], %h1;" MET "ld.shared.s8 %r0, [tile];", 'r', 0x80, 0, 0, 0xffffff80},
    {ONE "st.shared.u16 [tile], %h1;" MET "ld.shared.s16 %d0, [tile];", 'd', 0x8000, 0, 0,
     0xffffffffffff8000},
    {"mov.u64 %d4, tile; cvta.shared.u64 %d4, %d4;" ONE "st.u32 [%d4], %r1;" MET
     "cvta.to.shared.u64 %d5, %d4;"
     "ld.shared.u32 %r0, [%d5];",
     'r', 5, 0, 0, 5},
    {"mov.u32 %r4, tile; sub.u32 %r4, %r4, 4096;" ONE "st.shared.u32 [%r4+4104], %r1;" MET
     "ld.shared.u32 %r0, [tile+8];",
     'r', 77, 0, 0, 77},
    {"mov.u64 %d4, tile; or.b64 %d4, %d4, 0x500000000;" ONE "st.shared.u32 [%d4+4], %r1;" MET
     "ld.shared.u32 %r0, [tile+4];",
     'r', 78, 0, 0, 78},
    {"add.s64 %d4, %d30, 0x7fffffff; add.s64 %d4, %d4, 1; ld.global.u32 %r0, [%d4+-2147483648];",
     'r', 6, 0, 0, 6},
    {"cvta.to.global.u64 %d4, %d30; ld.global.nc.u32 %r0, [%d4];", 'r', 6, 0, 0, 6},
    {"ld.u64 %d0, [%d30+8];", 'd', 0, 8, 0, 8},
    {"ld.volatile.global.u32 %r0, [%d30];", 'r', 6, 0, 0, 6},
};

Test(ptx_opcodes, rows) {
  static ptx_result result;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint64_t in[32][3];
    char body[512];
    for (int lane = 0; lane < 32; lane++) {
      in[lane][0] = rows[i].a;
      in[lane][1] = rows[i].b;
      in[lane][2] = rows[i].c;
    }
    snprintf(body, sizeof body, "%s%s", rows[i].body, widen(rows[i].result));
    ptx_program_run(&(ptx_program){.body = body}, (const uint64_t(*)[3])in, &result);
    cr_expect(result.done, "%s: %s", rows[i].body, result.fault.message);
    cr_expect(result.out[0] == rows[i].expected, "%s: 0x%llx, not 0x%llx", rows[i].body,
              (unsigned long long)result.out[0], (unsigned long long)rows[i].expected);
    cr_expect(result.out[31] == result.out[0], "%s: lanes differ", rows[i].body);
  }
}
