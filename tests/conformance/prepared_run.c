#include "prepared_run.h"

#include "captured.h"
#include "runtime/described.h"

enum { SAVED_BYTES = 4 << 20 };

static llrt_status reload_op(llrt_device *device, const llrt_op *op, llrt_op **loaded) {
  static char saved[SAVED_BYTES];
  size_t size = sizeof saved;
  llrt_status status = llrt_op_save(op, saved, &size);
  return status == LLRT_OK ? llrt_op_load(device, saved, size, loaded) : status;
}

static bool run_twice(const area_owner *owner, const llrt_op *op, const op_description *desc,
                      area *workspace) {
  size_t bytes = 0;
  AREA_CHECK(owner, llrt_op_workspace(op, desc->tensors, desc->n_tensors, &bytes));
  if (!area_make(owner, bytes + 1, workspace) || !area_send(owner, workspace)) return false;
  llrt_run_params params = {.workspace = workspace->memory, .workspace_bytes = bytes};
  for (int turn = 0; turn < 2; turn++)
    CAPTURED_CHECK(owner,
                   llrt_op_run(op, CAPTURED_STREAM, desc->tensors, desc->n_tensors, &params));
  return area_same(owner, workspace, "workspace");
}

bool prepared_run_twice(const area_owner *owner, op_description *desc, bool reload,
                        area *workspace) {
  llrt_op *op, *loaded = NULL;
  AREA_CHECK(owner, described_promise(desc));
  AREA_CHECK(owner, described_prepare(owner->device, desc, &op));
  bool done = !reload || reload_op(owner->device, op, &loaded) == LLRT_OK;
  if (!done) area_fail(owner, "save and load: %s", llrt_last_error());
  done = done && run_twice(owner, loaded ? loaded : op, desc, workspace);
  llrt_op_destroy(&loaded);
  llrt_op_destroy(&op);
  return done;
}
