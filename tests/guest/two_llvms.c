/* A program with an LLVM of its own, whose symbols every library sees, before and after llrt has
 * loaded its: each compiles with its own. `two_llvms LIBRARY JIT LLVM`. */
#include "guest.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct own_llvm {
  void *(*LLVMContextCreate)(void);
  void (*LLVMContextDispose)(void *);
  void *(*LLVMModuleCreateWithNameInContext)(const char *, void *);
  char *(*LLVMPrintModuleToString)(void *);
  void (*LLVMDisposeMessage)(char *);
  void (*LLVMDisposeModule)(void *);
  void (*LLVMParseCommandLineOptions)(int, const char *const *, const char *);
  void (*LLVMInitializeX86TargetInfo)(void);
  void (*LLVMInitializeX86Target)(void);
} own_llvm;

#define FIND(name) \
  *(void **)&llvm.name = dlsym(handle, #name); \
  GUEST_REQUIRE(llvm.name, "no " #name)

static own_llvm open_own(const char *path) {
  own_llvm llvm;
  void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  GUEST_REQUIRE(handle, "%s", dlerror());
  FIND(LLVMContextCreate);
  FIND(LLVMContextDispose);
  FIND(LLVMModuleCreateWithNameInContext);
  FIND(LLVMPrintModuleToString);
  FIND(LLVMDisposeMessage);
  FIND(LLVMDisposeModule);
  FIND(LLVMParseCommandLineOptions);
  FIND(LLVMInitializeX86TargetInfo);
  FIND(LLVMInitializeX86Target);
  return llvm;
}

static void use_own(const own_llvm *llvm) {
  llvm->LLVMInitializeX86TargetInfo();
  llvm->LLVMInitializeX86Target();
  llvm->LLVMParseCommandLineOptions(1, (const char *const[]){"own"}, NULL);
  void *context = llvm->LLVMContextCreate(),
       *module = llvm->LLVMModuleCreateWithNameInContext("own", context);
  char *text = llvm->LLVMPrintModuleToString(module);
  GUEST_REQUIRE(strstr(text, "own"), "the module is %s", text);
  llvm->LLVMDisposeMessage(text);
  llvm->LLVMDisposeModule(module);
  llvm->LLVMContextDispose(context);
}

/* In a process of its own: libraries of LLVM stay. */
static void run(char *argv[], bool own_first) {
  own_llvm own;
  if (own_first) own = open_own(argv[3]);
  if (own_first) use_own(&own);
  guest_library lib = guest_open(argv[1]);
  guest_session s = guest_begin(&lib, argv[2], 0);
  guest_convert(&s, 1, GUEST_MANY_ROWS);
  if (!own_first) own = open_own(argv[3]);
  use_own(&own);
  guest_convert(&s, 2, GUEST_MANY_ROWS);
  use_own(&own);
  guest_end(&s);
  guest_close(&lib, argv[1]);
  use_own(&own);
}

int main(int argc, char *argv[]) {
  GUEST_REQUIRE(argc == 4, "usage: two_llvms LIBRARY JIT LLVM");
  for (int own_first = 0; own_first < 2; own_first++) {
    pid_t child = fork();
    GUEST_REQUIRE(child >= 0, "no fork");
    if (child == 0) {
      run(argv, own_first);
      exit(0);
    }
    int state;
    GUEST_REQUIRE(waitpid(child, &state, 0) == child, "no child");
    GUEST_REQUIRE(WIFEXITED(state) && WEXITSTATUS(state) == 0, "own LLVM %s: ended with %#x",
                  own_first ? "first" : "last", state);
  }
  return 0;
}
