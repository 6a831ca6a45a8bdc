# llrt_llvm: LLVM's C interface and lld, for the targets that llrt compiles for.
#
# Asking for "19" finds nothing, since LLVM's version file wants the minor number too, and a call
# without a version may find an older one.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}, linked ${LLRT_LLVM_LINK}")

add_library(llrt_llvm INTERFACE)
target_include_directories(llrt_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
find_library(LLD_ELF_LIBRARY lldELF REQUIRED HINTS ${LLVM_LIBRARY_DIRS})
find_library(LLD_COMMON_LIBRARY lldCommon REQUIRED HINTS ${LLVM_LIBRARY_DIRS})

# A program never holds both kinds of LLVM: their option registries collide.
if(LLRT_LLVM_LINK STREQUAL "static")
  include(LlrtStaticLlvm)
  llrt_link_static_llvm(llrt_llvm)
else()
  # lld exists as archives only.
  find_package(ZLIB REQUIRED)
  find_library(ZSTD_LIBRARY zstd REQUIRED)
  target_link_libraries(llrt_llvm INTERFACE ${LLD_ELF_LIBRARY} ${LLD_COMMON_LIBRARY} LLVM ZLIB::ZLIB
                                            ${ZSTD_LIBRARY})
endif()
