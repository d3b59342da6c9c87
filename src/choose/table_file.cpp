// Writes tuning tables.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "choose/table.hpp"

namespace copse::choose {
namespace {

// Holds a lock on the folder of a file, if its file system has locks. So the lock leaves nothing behind.
class FolderLock {
 public:
  explicit FolderLock(const std::string& file) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    folder_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ >= 0) static_cast<void>(::flock(folder_, LOCK_EX));
  }
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_ = -1;
};

void write(std::ostream& out, const char* name, const Bounds& bounds) {
  if (bounds.from == 0 && bounds.to == Bounds{}.to) return;
  out << ", \"" << name << "\": [" << bounds.from << ", ";
  if (bounds.to == Bounds{}.to) out << "null]";
  else out << bounds.to << ']';
}

void write(std::ostream& out, const Rule& rule, const std::string& reason) {
  out << "{\"collective\": " << text::json_quoted(algorithms::name_of(rule.collective));
  write(out, "bytes", rule.bytes);
  write(out, "ranks", rule.ranks);
  for (const auto& [word, fact] : kSituationWords)
    if (((rule.with | rule.without) & fact) != 0) out << ", \"" << word << "\": " << ((rule.with & fact) != 0 ? "true" : "false");
  if (((rule.with | rule.without) & kReach) != 0)
    out << ", \"reach\": \""
        << ((rule.with & kReach) == 0   ? kStagedReach
            : (rule.with & kLoads) != 0 ? kDirectReach
                                        : kKernelReach)
        << '"';
  out << ", \"run\": \"";
  if (rule.algorithm == kByMpi) {
    out << "mpi\"";
  } else {
    out << algorithms::all()[static_cast<std::size_t>(rule.algorithm)].name << ':' << plan::name_of(rule.carrier);
    if (rule.radix != 2) out << ':' << rule.radix;
    out << '"';
    if (rule.pieces == Pieces::fixed) out << ", \"fragment\": " << rule.fragment_bytes;
  }
  if (!reason.empty()) out << ", \"because\": " << text::json_quoted(reason);
  out << '}';
}

bool same_case(const Rule& one, const Rule& other) {
  const auto same = [](const Bounds& a, const Bounds& b) { return a.from == b.from && a.to == b.to; };
  return one.collective == other.collective && same(one.bytes, other.bytes) && same(one.ranks, other.ranks) &&
         one.with == other.with && one.without == other.without;
}

void require_mpi(const Table& table, const std::string& mpi) {
  if (table.is_of_another_mpi(mpi))
    throw text::FileError(table.file + ": the table was made with another MPI, \"" + table.mpi + "\"; this is \"" + mpi +
                          "\"; name another file");
}

}  // namespace

std::string why_not_added(const std::string& file, const std::string& mpi) {
  const std::filesystem::path path(file), folder = path.has_parent_path() ? path.parent_path() : ".";
  if (access(folder.c_str(), W_OK | X_OK) != 0) return "no file can be made in its folder: " + std::string(std::strerror(errno));
  std::error_code unknown;
  try {
    if (std::filesystem::exists(path, unknown)) {
      Table table;
      table.read(text::Json::read(file), file);
      require_mpi(table, mpi);
    }
  } catch (const text::FileError& wrong) {
    return wrong.what();
  }
  return {};
}

void add_to_file(const std::string& file, const std::string& machine, const std::string& mpi, const std::vector<Rule>& rules,
                 const std::vector<std::string>& reasons) {
  const FolderLock lock(file);
  Table before;
  before.machine = machine;
  before.mpi = mpi;
  if (std::error_code unknown; std::filesystem::exists(file, unknown)) {
    before.mpi.clear();
    before.read(text::Json::read(file), file);
  }
  if (before.machine != machine)
    throw text::FileError(file + ": the table was made for another machine, \"" + before.machine + "\"; this is \"" + machine +
                          "\"; name another file");
  require_mpi(before, mpi);
  std::ostringstream out;
  out << "{\"schema\": " << text::json_quoted(Table::kSchema) << ",\n \"machine\": " << text::json_quoted(machine);
  if (!before.mpi.empty()) out << ",\n \"mpi\": " << text::json_quoted(before.mpi);
  const char* between = ",\n \"rows\": [\n  ";
  const auto add = [&](const Rule& rule, const std::string& reason) {
    out << between;
    write(out, rule, reason);
    between = ",\n  ";
  };
  for (std::size_t i = 0; i < rules.size(); ++i) add(rules[i], reasons[i]);
  for (std::size_t i = 0; i < before.rules.size(); ++i) {
    const auto replaces = [&](const Rule& rule) { return same_case(rule, before.rules[i]); };
    if (std::none_of(rules.begin(), rules.end(), replaces)) add(before.rules[i], before.reasons[i]);
  }
  out << "\n ]\n}\n";
  text::write_file(file, out.str());
}

}  // namespace copse::choose
