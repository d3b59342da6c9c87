// hwloc, opened by name when this process first looks at a machine. Were it linked, the loader would bring it with a preload
// library. It would then take the place of the MPI's own hwloc, and the MPI would use the system's, which loads plugins
// (docs/decisions/hwloc-by-name.md).
#pragma once

#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/export.h>

// The functions that Copse calls. Inline functions of hwloc's headers that call others cannot be used.
#define COPSE_HWLOC_FUNCTIONS(of)                                                                                                \
  of(bitmap_isequal) of(bitmap_isincluded) of(bitmap_isset) of(bitmap_weight) of(distances_get_by_type) of(distances_release)    \
      of(get_obj_by_depth) of(get_type_depth) of(topology_destroy) of(topology_export_synthetic) of(topology_get_allowed_cpuset) \
          of(topology_init) of(topology_is_thissystem) of(topology_load) of(topology_set_flags) of(topology_set_io_types_filter) \
              of(topology_set_synthetic) of(topology_set_xml)

namespace copse::topology {

struct Hwloc {
#define COPSE_HWLOC_MEMBER(name) decltype(&hwloc_##name) name = nullptr;
  COPSE_HWLOC_FUNCTIONS(COPSE_HWLOC_MEMBER)
#undef COPSE_HWLOC_MEMBER
};

// Returns hwloc's functions. Throws Error if the library cannot be opened or lacks one. It stays open until the process ends.
[[nodiscard]] const Hwloc& hwloc();

}  // namespace copse::topology
