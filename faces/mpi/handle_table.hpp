// A small open-addressing table, from handles to what Copse knows about them. It is built once and then read without a
// lock.
#pragma once

#include <array>
#include <utility>

#include "family.hpp"

namespace copse::mpi {

template <class Value, unsigned kBits>
class HandleTable {
 public:
  void insert(Raw raw, const Value& value) {
    Entry* entry = &entries_[place(raw)];
    while (entry->used && entry->raw != raw) entry = next(entry);
    *entry = {raw, true, value};
  }
  [[nodiscard]] const Value* find(Raw raw) const {
    const Entry* entry = &entries_[place(raw)];
    for (; entry->used; entry = next(entry))
      if (entry->raw == raw) return &entry->value;
    return nullptr;
  }

 private:
  struct Entry {
    Raw raw = 0;
    bool used = false;
    Value value{};
  };
  static std::size_t place(Raw raw) { return (raw * 0x9e3779b97f4a7c15u) >> (64 - kBits); }
  [[nodiscard]] const Entry* next(const Entry* entry) const {
    return ++entry == entries_.data() + entries_.size() ? entries_.data() : entry;
  }
  [[nodiscard]] Entry* next(Entry* entry) { return const_cast<Entry*>(std::as_const(*this).next(entry)); }

  std::array<Entry, std::size_t{1} << kBits> entries_{};
};

}  // namespace copse::mpi
