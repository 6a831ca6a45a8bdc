# The installed tree: headers, both libraries, the tool, and what find_package and pkg-config read.
include(CMakePackageConfigHelpers)

add_library(llrt::llrt ALIAS llrt)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/llrt" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
install(TARGETS ${llrt_to_install} EXPORT llrtTargets)
# Opened by libllrt.so, from beside it; nobody links it.
install(TARGETS llrt-jit)
if(TARGET llrt_tool AND NOT SKBUILD) # of a wheel python/CMakeLists.txt says
  set_target_properties(llrt_tool PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS llrt_tool)
endif()

# Of a wheel python/CMakeLists.txt says, too.
if(NOT SKBUILD)
  if(TARGET llrt_static)
    install(FILES "${static_library}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN man EXCLUDE)
  install(DIRECTORY recipes DESTINATION "${CMAKE_INSTALL_DATADIR}/llrt" FILES_MATCHING PATTERN "*.json") # to be read
  install(FILES docs/man/llrt.3 DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")
  if(TARGET llrt_tool)
    set(man_page "${PROJECT_BINARY_DIR}/llrt.1")
    add_custom_command(TARGET llrt_tool POST_BUILD
      COMMAND "${PROJECT_SOURCE_DIR}/docs/man/command" "$<TARGET_FILE:llrt_tool>" "${PROJECT_VERSION}" "${man_page}"
      VERBATIM)
    install(FILES "${man_page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  endif()
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
