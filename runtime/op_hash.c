/* What identifies an operation's kernels in public: llrt_op_desc_hash, and the description as text.
 */
#include "base/status.h"
#include "runtime/description.h"
#include "runtime/key.h"
#include "runtime/op_text.h"
#include "runtime/request.h"
#include "runtime/validate.h"

#include <llrt/op.h>

#include <stdlib.h>
#include <string.h>

llrt_status llrt_op_desc_hash(const llrt_op_desc *desc, const char *target, llrt_hash *hash) {
  LLRT_ENTRY();
  LLRT_REQUIRE(hash, "hash is NULL");
  *hash = (llrt_hash){0};
  op_request asked;
  LLRT_TRY(llrt_request_take(target, desc, &asked));
  *hash = llrt_op_target_key(&asked.target, &asked.desc, &asked.set);
  return LLRT_OK;
}

static llrt_status describe(const llrt_op_desc *given, llrt_text *text) {
  op_description desc;
  storage_set set;
  LLRT_TRY(llrt_description_take(given, &desc));
  LLRT_TRY(llrt_validate_desc(&desc));
  llrt_description_normalise(&desc);
  LLRT_TRY(llrt_storage_set_init(desc.tensors, desc.n_tensors, desc.dot.roles, &set));
  llrt_op_describe(&desc, &set, text);
  return llrt_text_status(text);
}

llrt_status llrt_op_desc_print(const llrt_op_desc *desc, char *buffer, size_t size,
                               size_t *length) {
  LLRT_ENTRY();
  LLRT_REQUIRE(buffer || (size == 0 && length), "buffer is NULL, size %zu", size);
  if (length) *length = 0;
  if (buffer && size > 0) *buffer = 0;
  llrt_text text;
  llrt_text_init(&text);
  llrt_status status = describe(desc, &text);
  if (status == LLRT_OK) status = llrt_text_copy(&text, buffer, size, length);
  llrt_text_fini(&text);
  return status;
}
