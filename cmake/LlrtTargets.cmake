# What every library, program and test of llrt has in common.

# llrt_glob(VARIABLE PATTERN...): the files that match, relative patterns being the source tree's; a
# folder that is still empty is fine.
function(llrt_glob variable)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

set(llrt_warnings -Wall -Wextra -Wshadow -Werror)
set(llrt_c_warnings -Wstrict-prototypes -Wmissing-prototypes)

# Language, warnings and sanitizers.
function(llrt_common target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  if(LLRT_WERROR)
    target_compile_options(${target} PRIVATE ${llrt_warnings}
                                             "$<$<COMPILE_LANGUAGE:C>:${llrt_c_warnings}>")
  endif()
  if(LLRT_SANITIZE)
    set(flags -fsanitize=${LLRT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PRIVATE ${flags})
  endif()
  get_target_property(type ${target} TYPE)
  if(LLRT_SANITIZE MATCHES "address" AND type STREQUAL "EXECUTABLE")
    if(NOT TARGET llrt_asan_options)
      add_library(llrt_asan_options OBJECT "${PROJECT_SOURCE_DIR}/cmake/asan_options.c")
    endif()
    target_sources(${target} PRIVATE "$<TARGET_OBJECTS:llrt_asan_options>")
  endif()
endfunction()

# llrt_add_library(TARGET STATIC|SHARED [SOURCE...]): internal headers are included from the root of the
# source tree ("base/status.h"), public ones as <llrt/...>.
function(llrt_add_library target type)
  set(sources ${ARGN})
  if(NOT sources)
    set(sources "${PROJECT_SOURCE_DIR}/cmake/empty.c")
  endif()
  add_library(${target} ${type} ${sources})
  llrt_common(${target})
  if(type STREQUAL "SHARED")
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_link_options(${target} PRIVATE -Wl,--as-needed)
    # Sanitized libraries take the sanitizer's runtime from the program.
    if(NOT LLRT_SANITIZE)
      target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
  else()
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}"
                                                "${PROJECT_SOURCE_DIR}/include")
  endif()
endfunction()

# Exports what the version script names and nothing else.
function(llrt_export_only target script)
  target_link_options(${target} PRIVATE "-Wl,--version-script=${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()
