/* PTX that is written instruction by instruction: lines of small modules, and what is left to the
 * code generator. */
#include "jit/compile/ptx/ptx_write.h"
#include "readback.h"

#include <criterion/criterion.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <string.h>

static const char around[] =
    "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n"
    "@shared = external addrspace(3) global [0 x i8], align 16\n"
    "declare float @llvm.fma.f32(float, float, float)\n"
    "declare i32 @llvm.fshl.i32(i32, i32, i32)\n"
    "declare float @llvm.sin.f32(float)\n"
    "declare i1 @llvm.nvvm.vote.all.sync(i32, i1)\n"
    "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
    "define void @llrt_kernel(ptr addrspace(1) %%p, i64 %%n, i32 %%i, float %%x) {\n"
    "entry:\n"
    "%s\n"
    "}\n"
    "!nvvm.annotations = !{!0, !1}\n"
    "!0 = !{ptr @llrt_kernel, !\"kernel\", i32 1}\n"
    "!1 = !{ptr @llrt_kernel, !\"maxntidx\", i32 128}\n"
    "!2 = distinct !{!2, !3}\n"
    "!3 = !{!\"llvm.loop.unroll.disable\"}\n";

static const char *write_body(const char *body, int version, llrt_text *out) {
  char text[4096];
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = NULL;
  char *error = NULL;
  snprintf(text, sizeof text, around, body);
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
  cr_assert(!LLVMParseIRInContext(context, buffer, &module, &error), "%s", error);
  llrt_text_init(out);
  const char *unknown = ptx_write(module, "sm_90a", version, out);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return unknown;
}

static void check_assembles(const char *body, const char *ptx) {
  char log[1024];
  int code = readback_ptxas(ptx, "sm_90a", log, sizeof log);
  if (code < 0) fprintf(stderr, "note: no ptxas\n");
  cr_expect_leq(code, 0, "%s: %s\n%s", body, log, ptx);
}

/* Lines that are there in this order, and one that is not. */
Test(ptx_write, lines) {
  static const struct {
    const char *body, *lines[4], *none;
  } rows[] = {
      {"%b = bitcast float %x to i32\n store i32 %b, ptr addrspace(1) %p\n ret void",
       {"ld.param.b32 \t%r2, [llrt_kernel_param_3];", "st.global.b32 \t[%d1], %r2;"},
       "mov."},
      {"%q = getelementptr i16, ptr addrspace(1) %p, i64 %n\n"
       "%r = getelementptr i8, ptr addrspace(1) %q, i64 -16\n"
       "store i32 %i, ptr addrspace(1) %r\n ret void",
       {"shl.b64 \t%d3, %d2, 1;", "add.s64 \t%d4, %d1, %d3;", "[%d4+-16], %r1;"},
       "add.s64 \t%d5"},
      {"%v = load <4 x i32>, ptr addrspace(1) %p, align 16\n"
       "%e = extractelement <4 x i32> %v, i64 2\n"
       "%w = insertelement <2 x i32> poison, i32 %e, i64 0\n"
       "%y = insertelement <2 x i32> %w, i32 7, i64 1\n"
       "store <2 x i32> %y, ptr addrspace(1) %p, align 8\n ret void",
       {"ld.global.v4.b32 \t{%r3, %r4, %r5, %r6}, [%d1];", "mov.b32 \t%r7, 7;",
        "st.global.v2.b32 \t[%d1], {%r5, %r7};"},
       NULL},
      {"%q = getelementptr i8, ptr addrspace(3) @shared, i64 32\n"
       "store i32 %i, ptr addrspace(3) %q\n ret void",
       {".extern .shared .align 16 .b8 shared[];", "st.shared.b32 \t[shared+32], %r1;"},
       NULL},
      {"%y = call float @llvm.fma.f32(float %x, float 2.0, float 0x7FF8000000000000)\n"
       "store float %y, ptr addrspace(1) %p\n ret void",
       {"fma.rn.f32 \t%r3, %r2, 0f40000000, 0f7FC00000;"},
       NULL},
      {"%y = call i32 @llvm.fshl.i32(i32 %i, i32 5, i32 3)\n"
       "store i32 %y, ptr addrspace(1) %p\n ret void",
       {"mov.b32 \t%r3, 5;", "shf.l.wrap.b32 \t%r4, %r3, %r1, 3;"},
       NULL},
      {"%y = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %i, i32 3, i32 31)\n"
       "store i32 %y, ptr addrspace(1) %p\n ret void",
       {"shfl.sync.idx.b32 \t%r3, %r1, 3, 31, -1;"},
       NULL},
      {"%y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %i, i32 16, i32 31)\n"
       "store i32 %y, ptr addrspace(1) %p\n ret void",
       {"shfl.sync.bfly.b32 \t%r3, %r1, 16, 31, -1;"},
       NULL},
      {"%a = zext i64 %n to i128\n %b = mul i128 %a, %a\n %c = lshr i128 %b, 64\n"
       "%d = trunc i128 %c to i64\n store i64 %d, ptr addrspace(1) %p\n ret void",
       {"mul.hi.u64 \t%d3, %d2, %d2;"},
       NULL},
      {"%a = trunc i32 %i to i8\n %b = lshr i8 %a, 2\n %c = zext i8 %b to i32\n"
       "store i32 %c, ptr addrspace(1) %p\n ret void",
       {"cvt.u16.u32 \t%h1, %r1;", "and.b16 \t%h2, %h1, 255;", "shr.u16 \t%h3, %h2, 2;",
        "cvt.u32.u16"},
       NULL},
      {"%a = trunc i32 %i to i4\n %v = insertelement <2 x i4> poison, i4 %a, i64 0\n"
       "%w = insertelement <2 x i4> %v, i4 3, i64 1\n"
       "store <2 x i4> %w, ptr addrspace(1) %p, align 1\n ret void",
       {"and.b16 \t%h2, %h1, 15;", "shl.b16", "or.b16", "st.global.u8"},
       NULL},
      {"%y = call i32 asm \"mad.lo.u32 $0, $1, $2, $1;\", \"=r,r,n\"(i32 %i, i32 9)\n"
       "store i32 %y, ptr addrspace(1) %p\n ret void",
       {"mad.lo.u32 %r3, %r1, 9, %r1;"},
       NULL},
      {"%y = call i32 asm sideeffect \"\", \"=r,0\"(i32 %i)\n"
       "store i32 %y, ptr addrspace(1) %p\n ret void",
       {"st.global.b32 \t[%d1], %r1;"},
       "mov."},
      {"%own = alloca [8 x float], align 16\n"
       "%q = addrspacecast ptr %own to ptr addrspace(5)\n"
       "store float %x, ptr addrspace(5) %q\n ret void",
       {".local .align 16 .b8 own1[32];", "cvta.local.u64", "cvta.to.local.u64 \t%d5, %d4;",
        "st.local.b32 \t[%d5], %r2;"},
       NULL},
      {"%c = icmp slt i32 %i, 5\n %d = fcmp ueq float %x, 0.0\n %e = xor i1 %c, %d\n"
       "%f = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %e)\n"
       "%g = select i1 %f, i32 3, i32 %i\n store i32 %g, ptr addrspace(1) %p\n ret void",
       {"setp.lt.s32 \t%p1, %r1, 5;", "setp.equ.f32 \t%p2, %r2, 0f00000000;",
        "vote.sync.all.pred \t%p4, %p3, -1;", "selp.b32 \t%r3, 3, %r1, %p4;"},
       NULL},
      /* Two values that change places from turn to turn, in a loop that stays one. */
      {"br label %loop\nloop:\n"
       "%a = phi i32 [ 1, %entry ], [ %b, %loop ]\n %b = phi i32 [ 2, %entry ], [ %a, %loop ]\n"
       "%k = phi i32 [ 0, %entry ], [ %next, %loop ]\n %next = add i32 %k, 1\n"
       "%c = icmp ult i32 %next, %i\n br i1 %c, label %loop, label %end, !llvm.loop !2\nend:\n"
       "store i32 %a, ptr addrspace(1) %p\n ret void",
       {"mov.b32 \t%r3, 1;\n\tmov.b32 \t%r5, 2;",
        "$L1:\n\t.pragma \"nounroll\";\n\tmov.b32 \t%r4, %r3;\n\tmov.b32 \t%r6, %r5;",
        "mov.b32 \t%r3, %r6;\n\tmov.b32 \t%r5, %r4;", "bra \t$L1;"},
       NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_text ptx;
    const char *unknown = write_body(rows[i].body, 80, &ptx);
    cr_assert_null(unknown, "%s: %s", rows[i].body, unknown);
    const char *at = ptx.data;
    for (int k = 0; k < 4 && rows[i].lines[k] && at; k++) {
      at = strstr(at, rows[i].lines[k]);
      cr_expect_not_null(at, "%s lacks %s:\n%s", rows[i].body, rows[i].lines[k], ptx.data);
    }
    if (rows[i].none)
      cr_expect_null(strstr(ptx.data, rows[i].none), "%s: %s", rows[i].body, ptx.data);
    check_assembles(rows[i].body, ptx.data);
    llrt_text_fini(&ptx);
  }
}

Test(ptx_write, head) {
  llrt_text ptx;
  cr_assert_null(write_body("ret void", 84, &ptx));
  cr_expect_eq(strncmp(ptx.data, ".version 8.4\n.target sm_90a\n", 28), 0, "%s", ptx.data);
  cr_expect_not_null(strstr(ptx.data, ".maxntid 128, 1, 1\n"), "%s", ptx.data);
  cr_expect_null(strstr(ptx.data, "ld.param"), "an argument that nothing uses is not read");
  llrt_text_fini(&ptx);
}

/* Whatever might be written wrongly is not written. */
Test(ptx_write, unknown) {
  static const char *const bodies[] = {
      "%y = fadd contract float %x, 1.0\n store float %y, ptr addrspace(1) %p\n ret void",
      "%y = call float @llvm.sin.f32(float %x)\n store float %y, ptr addrspace(1) %p\n ret void",
      "%y = atomicrmw add ptr addrspace(1) %p, i32 %i monotonic\n ret void",
      "store i32 %i, ptr addrspace(1) %p, align 2\n ret void",
      "%v = load <4 x i64>, ptr addrspace(1) %p, align 32\n"
      "%e = extractelement <4 x i64> %v, i64 0\n store i64 %e, ptr addrspace(1) %p\n ret void",
      "%v = load <4 x i32>, ptr addrspace(1) %p, align 16\n"
      "%e = extractelement <4 x i32> %v, i32 %i\n store i32 %e, ptr addrspace(1) %p\n ret void",
      "%a = zext i64 %n to i128\n %b = mul i128 %a, %a\n store i128 %b, ptr addrspace(1) %p\n"
      " ret void",
      "%own = alloca [8 x float], align 16\n store float %x, ptr %own\n ret void",
      "%y = call i32 asm \"mov.pred $1, 1; mov.u32 $0, 1;\", \"=r,b\"(i1 true)\n"
      "store i32 %y, ptr addrspace(1) %p\n ret void",
      "switch i32 %i, label %end [ i32 1, label %end ]\nend:\n ret void",
      "%y = fptosi float %x to i8\n store i8 %y, ptr addrspace(1) %p\n ret void",
      "%c = icmp ult i64 %n, 5\n %d = icmp ult i32 %i, 5\n %e = icmp ult i1 %c, %d\n"
      "%f = zext i1 %e to i32\n store i32 %f, ptr addrspace(1) %p\n ret void",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    llrt_text ptx;
    cr_expect_not_null(write_body(bodies[i], 80, &ptx), "%s: %s", bodies[i], ptx.data);
    llrt_text_fini(&ptx);
  }
}
