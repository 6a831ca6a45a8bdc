/* The one function that libllrt-jit.so exports, on a planned kernel. */
#include "base/status.h"
#include "jit/jit.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <string.h>

/* Plans a row-major to column-major convert of 32-bit elements. */
static void plan_transpose(const char *target_name, plan *out) {
  llrt_storage storage[2];
  llrt_storage_row_major(2, &storage[0]);
  llrt_storage_col_major(2, &storage[1]);
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  for (int i = 0; i < 2; i++)
    desc.tensors[i] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .storage = &storage[i]};
  plan_target target;
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&desc, &target, NULL, out), LLRT_OK, "%s", llrt_last_error());
}

Test(interface, versions) {
  const llrt_jit_interface *jit = llrt_jit_get_interface();
  cr_assert_str_eq(jit->version, LLRT_JIT_VERSION);
  cr_assert_eq(strncmp(jit->llvm_version, "19.1", 4), 0, "%s", jit->llvm_version);
}

Test(interface, compiles_every_form) {
  static plan made;
  plan_transpose("gfx942", &made);
  const llrt_jit_interface *jit = llrt_jit_get_interface();
  static const struct {
    llrt_emit emit;
    const char *words;
  } rows[] = {{LLRT_EMIT_IR, "define"}, {LLRT_EMIT_ASM, "s_endpgm"}, {LLRT_EMIT_OBJECT, "\177ELF"}};
  for (int i = 0; i < 3; i++) {
    llrt_jit_result result;
    cr_assert_eq(jit->compile(&made.variant[0], rows[i].emit, &result), LLRT_OK, "%s",
                 result.message);
    cr_assert(strstr(result.data, rows[i].words), "%s", rows[i].words);
    jit->release(&result);
    cr_assert_null(result.data);
  }
}

Test(interface, refuses_what_it_does_not_make) {
  static plan made;
  plan_transpose("sm_80", &made);
  const llrt_jit_interface *jit = llrt_jit_get_interface();
  static const llrt_emit wrong[] = {LLRT_EMIT_PLAN, LLRT_EMIT_KERNEL};
  for (int i = 0; i < 2; i++) {
    llrt_jit_result result;
    cr_assert_eq(jit->compile(&made.variant[0], wrong[i], &result), LLRT_INVALID_ARGUMENT);
    cr_assert_null(result.data);
    cr_assert(strstr(result.message, "emit"), "%s", result.message);
  }
}

/* The message comes back in the result: the library's error slot is its own. */
Test(interface, tells_why) {
  static plan made;
  plan_transpose("sm_80", &made);
  strcpy(made.variant[0].target.name, "sm_1");
  llrt_jit_result result;
  const llrt_jit_interface *jit = llrt_jit_get_interface();
  cr_assert_eq(jit->compile(&made.variant[0], LLRT_EMIT_OBJECT, &result), LLRT_UNSUPPORTED);
  cr_assert_null(result.data);
  cr_assert(strstr(result.message, "sm_1"), "%s", result.message);
}
