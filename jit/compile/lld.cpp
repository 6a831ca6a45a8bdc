/* The one C++ file: lld has no C interface. */
#include "jit/compile/lld.h"

#include <lld/Common/Driver.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <string>

LLD_HAS_DRIVER(elf)

int jit_lld_run(const char *const *arguments, int n, char *message, size_t message_size,
                bool *again) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result =
      lld::lldMain(llvm::ArrayRef<const char *>(arguments, size_t(n)), stream, stream, drivers);
  *again = result.canRunAgain;
  std::snprintf(message, message_size, "%s", stream.str().c_str());
  return result.retCode;
}
