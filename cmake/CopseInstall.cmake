# What is installed, and where: below the prefix, with no absolute path inside, so that the whole may be moved.
#   bin/copse                       the command
#   include/copse/                  the public headers
#   lib/libcopse.so.*               the C library, with lib/pkgconfig/ and lib/cmake/Copse/ to find it by
#   lib/copse/                      what `copse` needs: copse-native, the preload libraries, python/ and bench/
#   share/                          manual pages, shell completion, licences, recorded machines
# share/copse/manifest.txt lists every file, and share/copse/uninstall.cmake removes them again.
# A wheel has the package itself, put together by scikit-build-core (pyproject.toml), and in copse/home what it needs.
if(SKBUILD)
  install(TARGETS copse_heap LIBRARY DESTINATION copse/home)
  install(TARGETS copse-native RUNTIME DESTINATION copse/home)
  foreach(family mpich openmpi abi)
    if(TARGET copse_mpi_${family})
      install(TARGETS copse_mpi_${family} copse_world_${family} LIBRARY DESTINATION copse/home)
    endif()
  endforeach()
  install(FILES bench/mpi_collectives.c bench/overlap.c DESTINATION copse/home/bench)
  install(PROGRAMS bench/cluster/agent.sh bench/cluster/nodes.sh DESTINATION copse/home/bench/cluster)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(COPSE_HOME ${CMAKE_INSTALL_LIBDIR}/copse)
set(COPSE_PYTHON ${PROJECT_SOURCE_DIR}/build/venv/bin/python CACHE FILEPATH
    "The Python whose typer and rich are installed with the command, which then runs with the same version of Python")
set(templates ${PROJECT_SOURCE_DIR}/packaging)
set(made ${CMAKE_CURRENT_BINARY_DIR}/install)

# copse_up(<variable> <folder>): the way from a folder below the prefix to the prefix, such as ../..
function(copse_up variable folder)
  file(RELATIVE_PATH up /prefix/${folder} /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  set(${variable} ${up} PARENT_SCOPE)
endfunction()

install(TARGETS copse EXPORT CopseTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS copse_heap LIBRARY DESTINATION ${COPSE_HOME})
install(TARGETS copse-native RUNTIME DESTINATION ${COPSE_HOME})
foreach(family mpich openmpi abi)
  if(TARGET copse_mpi_${family})
    install(TARGETS copse_mpi_${family} copse_world_${family} LIBRARY DESTINATION ${COPSE_HOME})
  endif()
endforeach()
install(DIRECTORY include/copse TYPE INCLUDE FILES_MATCHING REGEX "[.]h(pp)?$")
install(FILES bench/mpi_collectives.c bench/overlap.c DESTINATION ${COPSE_HOME}/bench)
install(PROGRAMS bench/cluster/agent.sh bench/cluster/nodes.sh DESTINATION ${COPSE_HOME}/bench/cluster)
install(DIRECTORY src/price/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/copse FILES_MATCHING PATTERN *.json)
install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY docs TYPE DOC FILES_MATCHING PATTERN *.md)
install(DIRECTORY examples TYPE DOC PATTERN CMakeLists.txt EXCLUDE)
install(FILES cmake/uninstall.cmake DESTINATION share/copse)

copse_up(COPSE_UP_FROM_PKGCONFIG ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(${templates}/copse.pc.in ${made}/copse.pc @ONLY)
install(FILES ${made}/copse.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(${templates}/modulefile.in ${made}/modulefile @ONLY)
install(FILES ${made}/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/copse RENAME ${PROJECT_VERSION})

configure_package_config_file(${templates}/CopseConfig.cmake.in ${made}/CopseConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Copse)
write_basic_package_version_file(${made}/CopseConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${made}/CopseConfig.cmake ${made}/CopseConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Copse)
install(EXPORT CopseTargets NAMESPACE Copse:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Copse)

# The Python package with what it imports, manual pages and completion are gathered when Copse is installed. They come
# from the command itself, so copse-native must be built by then.
file(RELATIVE_PATH COPSE_HOME_FROM_BIN /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${COPSE_HOME})
set(gathered ${made}/gathered)
install(CODE "
  execute_process(COMMAND \"${COPSE_PYTHON}\" -B \"${PROJECT_SOURCE_DIR}/packaging/gather.py\" --native \"$<TARGET_FILE:copse-native>\"
                          --home \"${COPSE_HOME}\" --share \"${CMAKE_INSTALL_DATADIR}\" --bin \"${CMAKE_INSTALL_BINDIR}\"
                          --home-from-bin \"${COPSE_HOME_FROM_BIN}\" --version ${PROJECT_VERSION} \"${gathered}\"
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR \"gather.py failed (\${result}) with the Python ${COPSE_PYTHON}, which needs the packages of tools/requirements/copse.txt; run: make setup, or configure with -DCOPSE_PYTHON=...\")
  endif()")
# File by file: to install a folder would change the permissions of folders that are there, the prefix among them.
install(CODE "
  file(GLOB_RECURSE files RELATIVE \"${gathered}\" \"${gathered}/*\")
  foreach(file IN LISTS files)
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(INSTALL \"${gathered}/\${file}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${folder}\" USE_SOURCE_PERMISSIONS)
  endforeach()")
install(SCRIPT cmake/manifest.cmake)
