// Compares the trees of the recorded machines with the files in tests/data/trees. After an intended change, write the
// files anew with
//     test_shape --gtest_filter='*ExpectedTrees*' --write-expected
// and review the difference before committing it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "levels.hpp"
#include "shape/hierarchy.hpp"
#include "topology/layout.hpp"
#include "topology/recorded.hpp"

namespace copse::shape {
namespace {

using topology::kAllLevels;
using topology::Machine;
using topology::Placement;

bool should_write() {
  const auto arguments = testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--write-expected") != arguments.end();
}

std::string drawn(const std::string& title, const Hierarchy& hierarchy, const Placement& placement, int root) {
  const Tree tree = make_tree(hierarchy, placement, root);
  std::ostringstream out;
  out << "== " << title << ": " << tree.size() << " ranks, root " << root << ", " << steps(tree) << " steps, crosses";
  for (const topology::Level level : kAllLevels) out << ' ' << level_name(level) << ' ' << crossings(tree, placement, level);
  out << '\n' << to_text(tree, placement);
  return out.str();
}

std::string trees_of(const topology::RecordedMachine& recorded) {
  const Machine machine = Machine::from(recorded.name);
  const int cores = machine.count(topology::Level::core);
  const Hierarchy binomial = numacol({Form::k_nomial, 2});
  const Hierarchy with_flat = numacol({Form::flat, 0});
  std::ostringstream out;
  out << "# " << recorded.title << " (" << recorded.source << ")\n# " << machine.summary() << '\n';
  out << drawn("block, binomial", binomial, place_block(machine, 1, cores), 0);
  out << drawn("block, binomial + flat", with_flat, place_block(machine, 1, cores), 0);
  out << drawn("cyclic, binomial", binomial, place_cyclic(machine, 1, 13), 5);
  out << drawn("random on 2 nodes, binomial", binomial, place_random(machine, 2, 11, 1), 3);
  return out.str();
}

class ExpectedTrees : public testing::TestWithParam<std::string> {};

TEST_P(ExpectedTrees, AreBuilt) {
  const std::string path = std::string(COPSE_TEST_DATA "/trees/") + GetParam() + ".txt";
  const std::string trees = trees_of(*topology::find_recorded(GetParam()));
  if (should_write()) {
    std::ofstream(path) << trees;
    GTEST_SKIP() << "written: " << path;
  }
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(trees, expected.str()) << path;
}

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const auto& machine : topology::recorded_machines()) names.emplace_back(machine.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ExpectedTrees, testing::ValuesIn(recorded_names()), [](const auto& row) {
  std::string name = row.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace copse::shape
