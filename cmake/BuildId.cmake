# Writes OUT, a C file with one hash of all that decides what kernels are made: the sources listed in SOURCES, a file of
# names relative to ROOT, and LLVM's version.
cmake_minimum_required(VERSION 3.25)
file(STRINGS "${SOURCES}" names)
set(all "llvm ${LLVM}\n")
foreach(name IN LISTS names)
  file(SHA256 "${ROOT}/${name}" hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING "${id}" 0 32 id)
file(WRITE "${OUT}" "#include \"runtime/build_id.h\"\n
const char llrt_build_id[] = \"${id}\";
const char llrt_built_for_llvm[] = \"${LLVM}\";
")
