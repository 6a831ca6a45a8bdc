# llrt_link_static_llvm(target): LLVM, lld and the C++ library inside of who links the target, libllrt-jit.so, so that it
# runs where no LLVM is and on other distributions. Only NVPTX, AMDGPU and the build machine's own target are linked.

# Archives only: a shared zlib or zstd would be one more thing that another machine lacks.
find_library(LLRT_ZLIB_ARCHIVE libz.a REQUIRED)
find_library(LLRT_ZSTD_ARCHIVE libzstd.a REQUIRED)

set(components nvptx amdgpu native passes irreader linker lto option debuginfodwarf windowsdriver)
execute_process(
  COMMAND "${LLVM_TOOLS_BINARY_DIR}/llvm-config" --link-static --libfiles ${components}
  OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(archives)
# Named as an extension of the passes, packaged apart, and never run here.
list(FILTER archives EXCLUDE REGEX "/libPolly(ISL)?\\.a$")

# lld's driver registers every target that LLVM was built with. Those that are not linked get empty
# registration functions; without this they would all come along, 40 MB of them.
set(linked_targets NVPTX AMDGPU ${LLVM_NATIVE_ARCH})
set(stubs "/* Targets that this build does not link: registering them does nothing. */\n")
foreach(target IN LISTS LLVM_TARGETS_TO_BUILD)
  if(NOT target IN_LIST linked_targets)
    foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
      string(APPEND stubs "void LLVMInitialize${target}${part}(void);\n"
                          "void LLVMInitialize${target}${part}(void) {}\n")
    endforeach()
  endif()
endforeach()
set(stubs_source "${PROJECT_BINARY_DIR}/llvm_other_targets.c")
file(CONFIGURE OUTPUT "${stubs_source}" CONTENT "${stubs}" @ONLY)

llrt_add_library(llrt_llvm_support STATIC "${stubs_source}" "${PROJECT_SOURCE_DIR}/cmake/portable.c")

set(llrt_static_llvm
  -Wl,--start-group ${LLD_ELF_LIBRARY} ${LLD_COMMON_LIBRARY} ${archives} llrt_llvm_support
  -Wl,--end-group ${LLRT_ZLIB_ARCHIVE} ${LLRT_ZSTD_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)
function(llrt_link_static_llvm target)
  target_link_libraries(${target} INTERFACE ${llrt_static_llvm})
  target_link_options(${target} INTERFACE -static-libstdc++ -static-libgcc)
endfunction()
