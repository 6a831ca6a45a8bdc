# The installed tree: headers, both libraries, the tool, and what find_package and pkg-config read.
include(CMakePackageConfigHelpers)

add_library(llrt::llrt ALIAS llrt)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/llrt" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
install(TARGETS ${llrt_to_install} EXPORT llrtTargets)
# Opened by libllrt.so, from beside it; nobody links it.
install(TARGETS llrt-jit)
if(TARGET llrt_tool)
  set_target_properties(llrt_tool PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS llrt_tool)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/llrt")
install(EXPORT llrtTargets NAMESPACE llrt:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/llrtConfig.cmake.in "${PROJECT_BINARY_DIR}/llrtConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/llrtConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/llrtConfig.cmake"
              "${PROJECT_BINARY_DIR}/llrtConfigVersion.cmake"
        DESTINATION "${package_dir}")

file(RELATIVE_PATH up_to_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/llrt.pc.in "${PROJECT_BINARY_DIR}/llrt.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/llrt.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
