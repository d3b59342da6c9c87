// Reads the COPSE_ variables.
#include "choose/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "choose/table.hpp"
#include "text/words.hpp"

namespace copse::choose {
namespace {

using algorithms::Collective;
using text::nearest;
using text::size_in;

// Reads the variables one after the other and keeps the first mistake.
struct Reader {
  Settings settings;
  std::string error;

  void mistake(std::string_view name, std::string_view value, const std::string& why) {
    if (error.empty()) error = std::string(name) + "=" + std::string(value) + ": " + why;
  }
  void unknown_word(std::string_view name, std::string_view value, std::string_view what, std::string_view word,
                    const std::vector<std::string>& known) {
    mistake(name, value, text::unknown(what, word, known));
  }
  void boolean(std::string_view name, std::string_view value, bool& target) {
    if (value == "0" || value == "1") {
      target = value == "1";
    } else {
      mistake(name, value, "expected 0 or 1");
    }
  }

  void check(std::string_view name, std::string_view value) { boolean(name, value, settings.check); }
  void disable(std::string_view name, std::string_view value) { boolean(name, value, settings.disable); }
  void quiet(std::string_view name, std::string_view value) { boolean(name, value, settings.quiet); }
  void trace(std::string_view name, std::string_view value) { boolean(name, value, settings.trace); }
  // libcopse-heap.so reads these two variables itself. Here they are only checked.
  void heap_bytes(std::string_view name, std::string_view value) {
    if (size_in(value).value_or(0) < (std::size_t{32} << 20)) mistake(name, value, "expected a size of 32M or more");
  }
  void heap_huge(std::string_view name, std::string_view value) {
    bool huge = true;
    boolean(name, value, huge);
  }
  void memory(std::string_view name, std::string_view value) {
    settings.memory = size_in(value).value_or(0);
    if (settings.memory < (std::size_t{4} << 20)) mistake(name, value, "expected a size of 4M or more");
  }
  void job(std::string_view, std::string_view) {}  // communicator/handshake.cpp reads it, before the settings are needed
  // Most values name a file. Ranks whose files differ would place one another differently, so the text of the file is in the
  // fingerprint. A mistake in the file is reported where the file is used.
  void topology(std::string_view, std::string_view value) {
    settings.topology = value;
    std::error_code none;
    if (!std::filesystem::is_regular_file(value, none)) return;
    try {
      settings.fingerprint += std::hash<std::string>{}(text::read_file(settings.topology));
    } catch (const text::FileError&) {
      return;
    }
  }

  // Returns the index of the value among the known words, or 0 if it is not one of them.
  std::size_t one_of(std::string_view name, std::string_view value, std::string_view what, const std::vector<std::string>& known) {
    const auto at = std::find(known.begin(), known.end(), value);
    if (at != known.end()) return static_cast<std::size_t>(at - known.begin());
    unknown_word(name, value, what, value, known);
    return 0;
  }

  void bind(std::string_view name, std::string_view value) {
    one_of(name, value, "binding", {"numa", "core", "none"});
    settings.bind = value;
  }

  void progress(std::string_view name, std::string_view value) {
    settings.progress_thread = one_of(name, value, "kind of progress", {"calls", "thread"}) == 1;
  }

  void number(std::string_view name, std::string_view value, const char* what, std::size_t most, int& target) {
    const auto count = text::number_in(value);
    if (!count || *count == 0 || *count > most)
      return mistake(name, value, "expected a number of " + std::string(what) + ", 1 to " + std::to_string(most));
    target = static_cast<int>(*count);
  }
  void nodes(std::string_view name, std::string_view value) { number(name, value, "nodes", 65536, settings.nodes); }
  void node_timeout(std::string_view name, std::string_view value) {
    const auto seconds = text::number_in(value);
    if (!seconds || *seconds > 86400) return mistake(name, value, "expected a number of seconds, 0 to 86400");
    settings.node_timeout = static_cast<int>(*seconds);
  }
  void upc_threads(std::string_view name, std::string_view value) { number(name, value, "threads", 4096, settings.upc_threads); }
  void upc_processes(std::string_view name, std::string_view value) {
    number(name, value, "processes", 4096, settings.upc_processes);
  }
  void upc_heap(std::string_view name, std::string_view value) {
    const auto bytes = size_in(value);
    if (!bytes || *bytes < (std::size_t{1} << 20) || *bytes > (std::size_t{1} << 44))
      return mistake(name, value, "expected a size of 1M to 16T");
    settings.upc_heap = *bytes;
  }

  void collective_processors(std::string_view name, std::string_view value) {
    CollectiveProcessors wanted;
    const auto in = [](std::string_view text, std::size_t least, std::size_t most) {
      const auto number = text::number_in(text);
      return number && *number >= least && *number <= most ? static_cast<int>(*number) : -1;
    };
    bool sound = true;
    const std::string_view whole = value;
    wanted.among_launched = value.starts_with(kAmongLaunched);
    if (wanted.among_launched) value.remove_prefix(kAmongLaunched.size());
    if (value.starts_with("cpus:")) {
      for (const std::string_view item : text::split(value.substr(5), ',')) wanted.processors.push_back(in(item, 0, 65535));
      sound = std::find(wanted.processors.begin(), wanted.processors.end(), -1) == wanted.processors.end() &&
              wanted.processors.size() <= kHelpersMost && !wanted.among_launched;
    } else if (value.starts_with("1/")) {
      sound = (wanted.ranks_for_each = in(value.substr(2), 1, 65536)) > 0;
    } else {
      sound = (wanted.number = in(value, 0, kHelpersMost)) >= 0;
    }
    if (!sound)
      return mistake(name, whole,
                     "expected a number of helpers up to " + std::to_string(kHelpersMost) +
                         ", a ratio such as 1/8, processors such as cpus:6,7, or ranks of the launcher's such as out:1 or out:1/8");
    settings.collective_processors = std::move(wanted);
  }

  void reach(std::string_view name, std::string_view value) {
    settings.reach = static_cast<ReachLimit>(one_of(name, value, "reach", {"any", "staged", "kernel", "direct"}));
  }

  void wait(std::string_view name, std::string_view value) {
    settings.waiting = static_cast<Waiting>(one_of(name, value, "way to wait", {"auto", "spin", "yield"}));
  }

  void join(std::string_view name, std::string_view value) {
    if (value == "pays") return;
    const auto call = text::number_in(value);
    if (!call || *call == 0 || *call > 1000000000) return mistake(name, value, "expected pays, or the number of a call, 1 or more");
    settings.join_at = static_cast<std::uint32_t>(*call);
  }

  void learn(std::string_view name, std::string_view value) {
    settings.learn = static_cast<Learn>(one_of(name, value, "way to learn", {"0", "1", "reordering", "eagerly"}));
  }

  void learned(std::string_view, std::string_view value) { settings.learned = value; }

  void slots(std::string_view name, std::string_view value) {
    settings.slots = static_cast<Stores>(one_of(name, value, "way to store", {"measured", "cached", "streamed"}));
  }

  void fragment(std::string_view name, std::string_view value) {
    if (value == "none") {
      settings.fragment.mode = Fragmentation::Mode::none;
    } else if (value == "halves") {
      settings.fragment.mode = Fragmentation::Mode::halves;
    } else {
      const auto bytes = size_in(value);
      if (!bytes || *bytes == 0 || *bytes > (std::size_t{1} << 40))
        return mistake(name, value, "expected none, halves, or a size in bytes such as 32768 or 32K");
      settings.fragment = {Fragmentation::Mode::fixed, *bytes};
    }
  }

  void tuning(std::string_view name, std::string_view value) {
    const std::string file(value);
    std::error_code none;
    if (std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none))
      return mistake(name, value, "this is not a file that all ranks can read");
    try {
      const std::string text = text::read_file(file);
      auto table = std::make_shared<Table>();
      table->read(text::Json::parse(text, file), file);
      settings.table = std::move(table);
      settings.fingerprint += std::hash<std::string>{}(text);
    } catch (const text::FileError& wrong) {
      mistake(name, value, wrong.what());
    }
  }

  void algorithm(std::string_view name, std::string_view value) {
    for (std::string_view choice : text::split(value, ';')) {
      if (choice.empty()) continue;
      const std::size_t equals = choice.find('=');
      if (equals == std::string_view::npos)
        return mistake(name, value, "expected collective=algorithm, for example allreduce=recursive_doubling");
      const std::string_view collective_name = choice.substr(0, equals);
      const auto collective = algorithms::collective_named(collective_name);
      if (!collective) return unknown_word(name, value, "collective", collective_name, algorithms::collective_names());
      std::string why;
      const auto forced = forced_in(*collective, choice.substr(equals + 1), why);
      if (!forced) return mistake(name, value, why);
      settings.forced.push_back(*forced);
    }
  }
};

struct Row {
  Variable variable;
  void (Reader::*read)(std::string_view, std::string_view);
};

const Row kRows[] = {
#define VARIABLE(name, values, standard, meaning, reader) {{name, values, standard, meaning}, &Reader::reader},
#include "choose/settings.def"
#undef VARIABLE
};

}  // namespace

const Forced* Settings::forced_for(Collective collective) const {
  for (const Forced& choice : forced)
    if (choice.collective == collective) return &choice;
  return nullptr;
}

const std::vector<Variable>& variables() {
  static const auto& list = *new auto([] {  // never destroyed: the program's destructors may still call
    std::vector<Variable> rows;
    for (const Row& row : kRows) rows.push_back(row.variable);
    return rows;
  }());
  return list;
}

std::optional<Settings> read_settings(const char* const* environment, std::string& error) {
  Reader reader;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    if (!entry.starts_with("COPSE_")) continue;
    const std::string_view name = entry.substr(0, entry.find('='));
    const std::string_view value = name.size() < entry.size() ? entry.substr(name.size() + 1) : std::string_view{};
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.variable.name == name; });
    if (row == std::end(kRows)) {
      std::vector<std::string> known;
      for (const Variable& variable : variables()) known.emplace_back(variable.name);
      const std::string near = nearest(name, known);
      error = std::string(name) + ": Copse has no such variable" + (near.empty() ? "" : "; did you mean " + near + "?") +
              " (copse info --env lists them)";
      return std::nullopt;
    }
    if (value.empty()) continue;
    (reader.*row->read)(name, value);
    // Some variables mean nothing to other ranks, or may differ between ranks. The hashes are summed, because the order of
    // variables in an environment means nothing.
    if (name != "COPSE_TRACE" && name != "COPSE_LEARNED" && name != "COPSE_QUIET" && name != "COPSE_JOIN")
      reader.settings.fingerprint += std::hash<std::string_view>{}(entry);
  }
  if (!reader.error.empty()) {
    error = reader.error;
    return std::nullopt;
  }
  return std::move(reader.settings);
}

}  // namespace copse::choose
