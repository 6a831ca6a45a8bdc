# Wheels of what another build has made (scripts/wheel --from BUILD): LLRT_PREBUILT is a folder with llrt/ and llrt_jit/
# as the wheels have them. The targets that pyproject.toml names have nothing to do.
project(llrt_prebuilt LANGUAGES NONE)
foreach(target llrt llrt_python llrt_tool llrt-jit)
  add_custom_target(${target})
endforeach()
install(DIRECTORY "${LLRT_PREBUILT}/llrt" DESTINATION . USE_SOURCE_PERMISSIONS COMPONENT python)
install(DIRECTORY "${LLRT_PREBUILT}/llrt_jit" DESTINATION . USE_SOURCE_PERMISSIONS COMPONENT python_jit)
