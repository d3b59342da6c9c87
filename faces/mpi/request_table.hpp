// From handles to Copse's requests. Open addressing lets the lookup of a request of the MPI's own cost one entry.
#pragma once

#include <vector>

#include "family.hpp"

namespace copse::mpi {

template <class Value>
class RequestTable {
 public:
  [[nodiscard]] Value* find(Raw raw) const {
    for (std::size_t at = place(raw); entries_[at].value != nullptr; at = next(at))
      if (entries_[at].raw == raw) return entries_[at].value;
    return nullptr;
  }
  void insert(Raw raw, Value* value) {
    if (2 * ++size_ > entries_.size()) grow();
    put({raw, value});
  }
  void erase(Raw raw) {
    std::size_t hole = place(raw);
    while (entries_[hole].value != nullptr && entries_[hole].raw != raw) hole = next(hole);
    if (entries_[hole].value == nullptr) return;
    --size_;
    // Entries behind the hole move up into it, unless that would put them before their own place.
    for (std::size_t at = next(hole); entries_[at].value != nullptr; at = next(at)) {
      if (distance(place(entries_[at].raw), at) < distance(hole, at)) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::vector<Value*> all() const {
    std::vector<Value*> values;
    for (const Entry& entry : entries_)
      if (entry.value != nullptr) values.push_back(entry.value);
    return values;
  }

 private:
  struct Entry {
    Raw raw = 0;
    Value* value = nullptr;
  };
  [[nodiscard]] std::size_t place(Raw raw) const { return (raw * 0x9e3779b97f4a7c15u >> 32) & (entries_.size() - 1); }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (entries_.size() - 1); }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const { return (to - from) & (entries_.size() - 1); }
  void put(Entry entry) {
    std::size_t at = place(entry.raw);
    while (entries_[at].value != nullptr) at = next(at);
    entries_[at] = entry;
  }
  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.value != nullptr) put(entry);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(64);  // a power of two
  std::size_t size_ = 0;
};

}  // namespace copse::mpi
