// The recorded machines: those of the papers, and some of today's.
#include "topology/recorded.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace copse::topology {
namespace {

// The structure is from the named sources. Memory and cache sizes are the papers' if a paper gives them; otherwise, and
// always for today's three machines, they are those of a usual configuration. Distances are not measurements. They are
// relative classes on ACPI's scale, as the firmware of such machines reports them; only their order matters.
constexpr std::array<RecordedMachine, 9> kMachines = {{
    {"ig", "IG: 8 x 6-core Opteron 8439 SE on two boards", "KNEM VI.A, figure 3",
     "group:2 package:4 [numa(memory=16GiB)] l3:1(size=5MiB) l2:6(size=512KiB) core:1 pu:1",
     "10 16 16 16 22 22 22 22 "
     "16 10 16 16 22 22 22 22 "
     "16 16 10 16 22 22 22 22 "
     "16 16 16 10 22 22 22 22 "
     "22 22 22 22 10 16 16 16 "
     "22 22 22 22 16 10 16 16 "
     "22 22 22 22 16 16 10 16 "
     "22 22 22 22 16 16 16 10"},
    {"zoot", "Zoot: 4 x 4-core Xeon E7340 (Tigerton), one memory", "KNEM VI.A",
     "[numa(memory=32GiB)] package:4 l2:2(size=4MiB) core:2 pu:1", "10"},
    // HMPI 3 counts sockets. NUMACol 4.1 (SVG) says that each has two memory controllers, and so two regions. The links
    // between packages form a square whose diagonals are slower (HMPI figure 21).
    {"magny-cours", "4 x 8-core Opteron 6100 (Magny-Cours)", "HMPI 3, figures 11 and 21; NUMACol 4.1",
     "package:4 numa:2(memory=8GiB) l3:1(size=5MiB) l2:4(size=512KiB) core:1 pu:1",
     "10 16 16 16 16 16 22 22 "
     "16 10 16 16 16 16 22 22 "
     "16 16 10 16 22 22 16 16 "
     "16 16 16 10 22 22 16 16 "
     "16 16 22 22 10 16 16 16 "
     "16 16 22 22 16 10 16 16 "
     "22 22 16 16 16 16 10 16 "
     "22 22 16 16 16 16 16 10"},
    {"westmere", "2 x 6-core Xeon X5650 (Westmere), as JUDGE's nodes", "HMPI 3, figure 10; NUMACol 4.1",
     "package:2 [numa(memory=48GiB)] l3:1(size=12MiB) l2:6(size=256KiB) core:1 pu:1", "10 20 20 10"},
    {"juropa", "JuRoPA's node: 2 x 4-core Xeon X5570 (Nehalem-EP)", "NUMACol 4.1",
     "package:2 [numa(memory=12GiB)] l3:1(size=8MiB) l2:4(size=256KiB) core:1 pu:1", "10 20 20 10"},
    // In this machine regions (cells) hold packages, instead of packages holding regions.
    {"superdome", "Superdome: 16 cells of 4 x 2-core Itanium 2 (Montvale)", "NUMACol 4.1",
     "numa:16(memory=64GiB) package:4 core:2 pu:1", ""},
    {"epyc", "2 x 64-core EPYC (Milan), 4 NUMA regions per socket (NPS4), L3 per 8 cores", "vendor's documentation",
     "package:2 numa:4(memory=64GiB) l3:2(size=32MiB) l2:8(size=512KiB) core:1 pu:1",
     "10 12 12 12 32 32 32 32 "
     "12 10 12 12 32 32 32 32 "
     "12 12 10 12 32 32 32 32 "
     "12 12 12 10 32 32 32 32 "
     "32 32 32 32 10 12 12 12 "
     "32 32 32 32 12 10 12 12 "
     "32 32 32 32 12 12 10 12 "
     "32 32 32 32 12 12 12 10"},
    // In flat memory mode, DDR and HBM are separate memories of the same region. The L3 spans the regions of its
    // package.
    {"xeon-max", "2 x 56-core Xeon Max, SNC-4, flat memory", "vendor's documentation",
     "package:2 l3:1(size=112MiB) group:4 [numa(memory=64GiB)] [numa(memory=16GiB)] l2:14(size=2MiB) core:1 pu:1",
     "10 12 12 12 21 21 21 21 "
     "12 10 12 12 21 21 21 21 "
     "12 12 10 12 21 21 21 21 "
     "12 12 12 10 21 21 21 21 "
     "21 21 21 21 10 12 12 12 "
     "21 21 21 21 12 10 12 12 "
     "21 21 21 21 12 12 10 12 "
     "21 21 21 21 12 12 12 10"},
    {"grace", "72-core Grace", "vendor's documentation",
     "package:1 [numa(memory=480GB)] l3:1(size=114MiB) l2:72(size=1MiB) core:1 pu:1", "10"},
}};

}  // namespace

std::span<const RecordedMachine> recorded_machines() { return kMachines; }

const RecordedMachine* find_recorded(std::string_view name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  const auto found = std::find_if(kMachines.begin(), kMachines.end(), [&](const RecordedMachine& machine) {
    return std::equal(machine.name.begin(), machine.name.end(), name.begin(), name.end(), same);
  });
  return found == kMachines.end() ? nullptr : &*found;
}

}  // namespace copse::topology
