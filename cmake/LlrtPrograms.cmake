# The command line, benchmarks and examples.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C) # loops of benchmarks and examples; the libraries have none

pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)

# File formats and the choice of a device, which examples, benchmarks and tests use too. Whoever links
# it brings llrt or llrt_core.
llrt_glob(tool_common_sources tools/common/*.c)
add_library(llrt_tool_common STATIC ${tool_common_sources})
llrt_common(llrt_tool_common)
target_include_directories(llrt_tool_common PUBLIC "${PROJECT_SOURCE_DIR}"
                                                   "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(llrt_tool_common PUBLIC PkgConfig::JANSSON)

# Whole models in files.
llrt_glob(tool_model_sources tools/model/*.c)
add_library(llrt_tool_model STATIC ${tool_model_sources})
llrt_common(llrt_tool_model)
target_include_directories(llrt_tool_model SYSTEM PRIVATE "${XXHASH_INCLUDE_DIR}")
target_link_libraries(llrt_tool_model PUBLIC llrt_tool_common Threads::Threads)

llrt_glob(tool_sources tools/*.c)
add_executable(llrt_tool ${tool_sources})
llrt_common(llrt_tool)
# Packed with the folder of its libraries beside its own (scripts/pack), it finds them as in the build.
set_target_properties(llrt_tool PROPERTIES OUTPUT_NAME llrt BUILD_RPATH_USE_ORIGIN ON
                      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
target_link_libraries(llrt_tool PRIVATE llrt_tool_model llrt_tool_common llrt m)
add_dependencies(llrt_tool llrt-jit)

llrt_glob(benchmark_sources benchmarks/*.c)
add_executable(llrt_bench ${benchmark_sources})
llrt_common(llrt_bench)
# Like the conformance suite it may be copied to another machine: the libraries beside it or in ../lib.
set_target_properties(llrt_bench PROPERTIES OUTPUT_NAME llrt-bench
                      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/benchmarks"
                      BUILD_RPATH "$ORIGIN;$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH ON
                      INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib")
target_link_libraries(llrt_bench PRIVATE llrt_tool_common llrt_probe llrt_core OpenMP::OpenMP_C ${CMAKE_DL_LIBS} m)
add_dependencies(llrt_bench llrt-jit)

# What an outside program does, for benchmarks/peers/one_line.py; and the driver's library with its calls counted, linked to
# an empty library of the driver's name, so that the real one is what the loader takes.
add_library(llrt_one_line MODULE benchmarks/client/one_line.c)
llrt_common(llrt_one_line)
set_target_properties(llrt_one_line PROPERTIES OUTPUT_NAME llrt-one-line C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/benchmarks"
                      BUILD_RPATH "$ORIGIN;$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH ON
                      INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib")
target_link_libraries(llrt_one_line PRIVATE llrt)
add_library(llrt_no_driver SHARED benchmarks/client/no_driver.c)
set_target_properties(llrt_no_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
                      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/benchmarks/no-driver")
add_library(llrt_count_driver MODULE benchmarks/client/count_driver.c)
llrt_common(llrt_count_driver)
set_target_properties(llrt_count_driver PROPERTIES OUTPUT_NAME count-driver C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/benchmarks" SKIP_BUILD_RPATH ON)
target_link_options(llrt_count_driver PRIVATE -Wl,--no-as-needed)
target_link_libraries(llrt_count_driver PRIVATE llrt_no_driver ${CMAKE_DL_LIBS})

llrt_glob(example_sources examples/*.c)
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  llrt_common(example_${name})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} BUILD_RPATH_USE_ORIGIN ON
                        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_link_libraries(example_${name} PRIVATE llrt_tool_common llrt OpenMP::OpenMP_C m)
  add_dependencies(example_${name} llrt-jit)
endforeach()
