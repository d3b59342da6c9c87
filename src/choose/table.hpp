// A tuning table: rules that come before the built-in ones. `copse tune` writes them to a JSON file for one machine and one MPI,
// and COPSE_TUNING names the file. docs/tuning.md explains every member.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "choose/rule.hpp"
#include "text/json.hpp"

namespace copse::choose {

// The members of a row that are true or false, and what they ask for.
inline constexpr std::pair<const char*, Fact> kSituationWords[] = {{"nodes", kNodes}, {"regions", kRegions}, {"turns", kTurns}};
inline constexpr const char *kDirectReach = "direct", *kKernelReach = "kernel", *kStagedReach = "staged";

struct Table {
  static constexpr std::string_view kSchema = "copse-tuning/1";

  std::string file;     // where the rules' lines are
  std::string machine;  // the machine that it was made on (topology::Machine::kind), or "any"
  std::string mpi;      // the MPI that it was made with: mpich, impi, openmpi; empty: nobody knows, or none
  std::vector<Rule> rules;
  std::vector<std::string> reasons;  // for each rule, a text for people about what was measured; empty if the file says nothing

  Table() = default;
  Table(const Table&) = delete;  // the rules point to `file`
  Table& operator=(const Table&) = delete;

  // Reads a document into an empty table. Throws text::FileError if it is not a table, or if a row asks for what Copse cannot
  // do.
  void read(const text::Json& document, const std::string& origin);
  // Tells whether the table was made with another MPI than this one. `here` is empty where no MPI is known.
  [[nodiscard]] bool is_of_another_mpi(std::string_view here) const { return !mpi.empty() && !here.empty() && mpi != here; }
  // Returns the reason of a rule; an empty text if it is not one of the table's.
  [[nodiscard]] std::string reason_of(const Rule& rule) const;
};

// Returns why add_to_file() will fail, as far as that is known before there are rows, or an empty text.
[[nodiscard]] std::string why_not_added(const std::string& file, const std::string& mpi);
// Puts these rows before the rows of a table's file, and takes out the rows that stand in the file for the same cases. Makes the
// file if there is none. `reasons` has a text for each row. `mpi` is what Table::mpi is. Throws text::FileError if the file is no
// table of this machine and MPI, or cannot be written. Processes and threads may do so at the same time.
void add_to_file(const std::string& file, const std::string& machine, const std::string& mpi, const std::vector<Rule>& rules,
                 const std::vector<std::string>& reasons);

}  // namespace copse::choose
