/* What runs beside a thread on NVPTX: barriers in memory, copies, other blocks of a cluster. */
#include "backends/cuda/cuda_intrinsics.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/core/module_flags.h"

#include <stdio.h>
#include <string.h>

/* ---- roles ---- */

LLVMValueRef nvptx_blocks(emitter *e) {
  return emit_intrinsic(e, "llvm.nvvm.read.ptx.sreg.nctaid.x", NULL, 0, NULL, 0);
}

/* Behind a comparison of the thread's number ptxas takes it that lanes may have come with numbers
 * of their own: a loop asks them by turns before each box, whose coordinates uniform registers
 * hold. */
LLVMValueRef nvptx_elected(emitter *e) {
  static const char text[] =
      "{\n\t.reg .pred p;\n\telect.sync _|p, -1;\n\tselp.u32 $0, 1, 0, p;\n\t}";
  LLVMValueRef elected = nvptx_assemble(e, NVPTX_TOGETHER, text, "=r", e->i32, NULL, 0);
  return LLVMBuildICmp(e->builder, LLVMIntNE, elected, emit_i32(e, 0), "");
}

void nvptx_make_barrier(emitter *e, LLVMValueRef pointer, int arrivals) {
  LLVMValueRef args[] = {nvptx_shared_address(e, pointer), emit_i32(e, arrivals)};
  nvptx_assemble(e, NVPTX_ORDERED, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}", NULL,
                 args, 2);
}

void nvptx_arrive(emitter *e, LLVMValueRef pointer) {
  LLVMValueRef address = nvptx_shared_address(e, pointer);
  nvptx_assemble(e, NVPTX_ORDERED, "mbarrier.arrive.shared::cta.b64 $0, [$1];", "=l,r,~{memory}",
                 e->i64, &address, 1);
}

/* At the same place of block `rank`. Released to the block alone, in which nothing but copies comes
 * behind it: with .release.cluster a fence would stand before each, of most of a microsecond. */
void nvptx_arrive_far(emitter *e, LLVMValueRef pointer, LLVMValueRef rank) {
  LLVMValueRef address = nvptx_cluster_address(e, pointer, rank);
  nvptx_assemble(e, NVPTX_ORDERED, "mbarrier.arrive.shared::cluster.b64 _, [$0];", "r,~{memory}",
                 NULL, &address, 1);
}

LLVMValueRef nvptx_phase_passed(emitter *e, LLVMValueRef pointer, LLVMValueRef parity) {
  LLVMValueRef args[] = {nvptx_shared_address(e, pointer), parity};
  static const char text[] =
      "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2;"
      "\n\tselp.u32 $0, 1, 0, p;\n\t}";
  LLVMValueRef passed = nvptx_assemble(e, NVPTX_ORDERED, text, "=r,r,r,~{memory}", e->i32, args, 2);
  return LLVMBuildICmp(e->builder, LLVMIntNE, passed, emit_i32(e, 0), "");
}

void nvptx_proxy_fence(emitter *e) {
  nvptx_assemble(e, NVPTX_TOGETHER, "fence.proxy.async.shared::cta;", "~{memory}", NULL, NULL, 0);
}

void nvptx_set_registers(emitter *e, int count, bool more) {
  char text[64];
  snprintf(text, sizeof text, "setmaxnreg.%s.sync.aligned.u32 %d;", more ? "inc" : "dec", count);
  nvptx_assemble(e, NVPTX_TOGETHER, text, "~{memory}", NULL, NULL, 0);
}

/* ---- copies ---- */

/* Whole lines of 16 bytes past the first-level cache. */
void nvptx_copy(emitter *e, LLVMValueRef to, LLVMValueRef from, int bytes, LLVMValueRef present,
                LLVMValueRef own) {
  char text[96], guard[8] = "", constraints[24] = "r,l,";
  LLVMValueRef args[4] = {nvptx_shared_address(e, to),
                          LLVMBuildPtrToInt(e->builder, from, e->i64, "")};
  unsigned n = 2;
  if (present) {
    args[n++] = LLVMBuildSelect(e->builder, present, emit_i32(e, bytes), emit_i32(e, 0), "");
    strcat(constraints, "r,");
  }
  if (own) {
    snprintf(guard, sizeof guard, "@$%u ", n);
    args[n++] = own;
    strcat(constraints, "b,");
  }
  strcat(constraints, "~{memory}");
  snprintf(text, sizeof text, "%scp.async.%s.shared.global [$0], [$1], %d%s;", guard,
           bytes == 16 ? "cg" : "ca", bytes, present ? ", $2" : "");
  nvptx_assemble(e, NVPTX_ORDERED, text, constraints, NULL, args, n);
}

/* Of the phase's expected arrivals one is this. */
void nvptx_arrive_copied(emitter *e, LLVMValueRef pointer) {
  LLVMValueRef address = nvptx_shared_address(e, pointer);
  nvptx_assemble(e, NVPTX_ORDERED, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];",
                 "r,~{memory}", NULL, &address, 1);
}

/* Of all lanes: a copy of the instruction in each of two branches would make two groups of a warp.
 */
void nvptx_end_copies(emitter *e) {
  nvptx_assemble(e, NVPTX_TOGETHER, "cp.async.commit_group;", "~{memory}", NULL, NULL, 0);
}

void nvptx_await_copies(emitter *e, int groups) {
  char text[40];
  snprintf(text, sizeof text, "cp.async.wait_group %d;", groups);
  nvptx_assemble(e, NVPTX_TOGETHER, text, "~{memory}", NULL, NULL, 0);
}

/* ---- boxes ---- */

void nvptx_expect_boxes(emitter *e, LLVMValueRef barrier, LLVMValueRef bytes) {
  LLVMValueRef args[] = {nvptx_shared_address(e, barrier), bytes};
  nvptx_assemble(e, NVPTX_ORDERED, "mbarrier.arrive.expect_tx.shared::cta.b64 $0, [$1], $2;",
                 "=l,r,r,~{memory}", e->i64, args, 2);
}

void nvptx_fetch_map(emitter *e, LLVMValueRef box) {
  LLVMValueRef args[] = {LLVMBuildPtrToInt(e->builder, box, e->i64, "")};
  nvptx_assemble(e, NVPTX_ORDERED, "prefetch.tensormap [$0];", "l,~{memory}", NULL, args, 1);
}

void nvptx_copy_box(emitter *e, LLVMValueRef to, LLVMValueRef box, const LLVMValueRef *from,
                    int rank, LLVMValueRef barrier, LLVMValueRef blocks) {
  static const char *const places[] = {[2] = "$3, $4", [3] = "$3, $4, $5"};
  char text[160], constraints[32] = "r,l,r,r,r", mask[16] = "";
  if (rank == 3) strcat(constraints, ",r");
  if (blocks) {
    snprintf(mask, sizeof mask, ", $%d", 3 + rank);
    strcat(constraints, ",h");
  }
  strcat(constraints, ",~{memory}");
  snprintf(text, sizeof text,
           "cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes%s [$0], "
           "[$1, {%s}], [$2]%s;",
           rank, blocks ? ".multicast::cluster" : "", places[rank], mask);
  LLVMValueRef args[4 + PLAN_BOX_RANK] = {nvptx_shared_address(e, to),
                                          LLVMBuildPtrToInt(e->builder, box, e->i64, ""),
                                          nvptx_shared_address(e, barrier)};
  memcpy(&args[3], from, (size_t)rank * sizeof *from);
  args[3 + rank] = blocks;
  nvptx_assemble(e, NVPTX_ORDERED, text, constraints, NULL, args,
                 3 + (unsigned)rank + (blocks != NULL));
}

void nvptx_send_box(emitter *e, LLVMValueRef from, LLVMValueRef box, const LLVMValueRef *to,
                    int rank) {
  static const char *const places[] = {[2] = "$2, $3", [3] = "$2, $3, $4"};
  char text[128];
  snprintf(text, sizeof text,
           "cp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [$0, {%s}], [$1];", rank,
           places[rank]);
  LLVMValueRef args[2 + PLAN_BOX_RANK] = {LLVMBuildPtrToInt(e->builder, box, e->i64, ""),
                                          nvptx_shared_address(e, from)};
  memcpy(&args[2], to, (size_t)rank * sizeof *to);
  nvptx_assemble(e, NVPTX_ORDERED, text, rank == 3 ? "l,r,r,r,r,~{memory}" : "l,r,r,r,~{memory}",
                 NULL, args, 2 + (unsigned)rank);
}

void nvptx_ask_ahead(emitter *e, LLVMValueRef pointer, int bytes) {
  LLVMValueRef args[] = {LLVMBuildPtrToInt(e->builder, pointer, e->i64, ""), emit_i32(e, bytes)};
  nvptx_assemble(e, NVPTX_ORDERED, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r,~{memory}",
                 NULL, args, 2);
}

void nvptx_end_sends(emitter *e) {
  nvptx_assemble(e, NVPTX_ORDERED, "cp.async.bulk.commit_group;", "~{memory}", NULL, NULL, 0);
}

void nvptx_await_sent(emitter *e) {
  nvptx_assemble(e, NVPTX_ORDERED, "cp.async.bulk.wait_group.read 0;", "~{memory}", NULL, NULL, 0);
}

/* ---- clusters ---- */

LLVMValueRef nvptx_cluster_address(emitter *e, LLVMValueRef pointer, LLVMValueRef rank) {
  LLVMValueRef args[] = {nvptx_shared_address(e, pointer), rank};
  return nvptx_assemble(e, NVPTX_PURE, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", e->i32,
                        args, 2);
}

void nvptx_cluster_push(emitter *e, LLVMValueRef stored, LLVMValueRef address, int offset,
                        LLVMValueRef barrier) {
  LLVMGetOrInsertNamedMetadata(e->module, EMIT_PTX_81, strlen(EMIT_PTX_81));
  bool many = LLVMGetTypeKind(LLVMTypeOf(stored)) == LLVMVectorTypeKind;
  unsigned n = many ? LLVMGetVectorSize(LLVMTypeOf(stored)) : 1;
  LLVMValueRef args[6] = {address, barrier};
  static const char *const lists[] = {"", "$2", "{$2, $3}", "", "{$2, $3, $4, $5}"};
  char text[160], constraints[40] = "r,r,";
  for (unsigned i = 0; i < n; i++) {
    strcat(constraints, "r,");
    args[2 + i] = many ? LLVMBuildExtractElement(e->builder, stored, emit_i32(e, i), "") : stored;
  }
  strcat(constraints, "~{memory}");
  snprintf(text, sizeof text,
           "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes%s.b32 [$0+%d], %s, [$1];",
           n == 4   ? ".v4"
           : n == 2 ? ".v2"
                    : "",
           offset, lists[n]);
  nvptx_assemble(e, NVPTX_ORDERED, text, constraints, NULL, args, 2 + n);
}

void nvptx_cluster_arrive(emitter *e) {
  nvptx_assemble(e, NVPTX_TOGETHER, "barrier.cluster.arrive.relaxed.aligned;", "~{memory}", NULL,
                 NULL, 0);
}

void nvptx_cluster_await(emitter *e) {
  nvptx_assemble(e, NVPTX_TOGETHER, "barrier.cluster.wait.aligned;", "~{memory}", NULL, NULL, 0);
}

void nvptx_cluster_publish(emitter *e) {
  nvptx_assemble(e, NVPTX_ORDERED, "fence.mbarrier_init.release.cluster;", "~{memory}", NULL, NULL,
                 0);
}

LLVMValueRef nvptx_all_pushed(emitter *e, LLVMValueRef pointer) {
  LLVMValueRef address = nvptx_shared_address(e, pointer);
  static const char text[] = "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster."
                             "shared::cta.b64 p, [$1], 0;\n\tselp.u32 $0, 1, 0, p;\n\t}";
  LLVMValueRef passed =
      nvptx_assemble(e, NVPTX_ORDERED, text, "=r,r,~{memory}", e->i32, &address, 1);
  return LLVMBuildICmp(e->builder, LLVMIntNE, passed, emit_i32(e, 0), "");
}

/* Numbers of 8 and 16 bits come in 32-bit registers. */
LLVMValueRef nvptx_cluster_load(emitter *e, LLVMTypeRef type, LLVMValueRef address, int offset) {
  bool many = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  unsigned n = many ? LLVMGetVectorSize(type) : 1;
  unsigned bits = LLVMGetIntTypeWidth(many ? LLVMGetElementType(type) : type);
  LLVMTypeRef unit = bits == 64 ? e->i64 : e->i32, units[] = {unit, unit, unit, unit};
  LLVMTypeRef result = many ? LLVMStructTypeInContext(e->context, units, n, false) : unit;
  char text[80], constraints[40] = "";
  static const char *const lists[] = {"", "$0, [$1", "{$0, $1}, [$2", "", "{$0, $1, $2, $3}, [$4"};
  snprintf(text, sizeof text, "ld.shared::cluster%s.u%u %s+%d];",
           n == 4   ? ".v4"
           : n == 2 ? ".v2"
                    : "",
           bits, lists[n], offset);
  for (unsigned i = 0; i < n; i++) strcat(constraints, bits == 64 ? "=l," : "=r,");
  strcat(constraints, "r,~{memory}");
  LLVMValueRef loaded = nvptx_assemble(e, NVPTX_TOGETHER, text, constraints, result, &address, 1);
  if (!many) return bits < 32 ? LLVMBuildTrunc(e->builder, loaded, type, "") : loaded;
  LLVMValueRef vector = LLVMGetUndef(type);
  for (unsigned i = 0; i < n; i++)
    vector = LLVMBuildInsertElement(
        e->builder, vector, LLVMBuildExtractValue(e->builder, loaded, i, ""), emit_i32(e, i), "");
  return vector;
}
