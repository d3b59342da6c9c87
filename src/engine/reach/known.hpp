// What this process knows as long as somebody uses it: processes, and memory that is mapped.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

namespace copse::engine {

template <class Key, class Value>
class Known {
 public:
  // Returns the entry of a key. What nobody uses any more is forgotten whenever there are twice as many entries as after the last
  // time, because looking at all of them for each of many ranks takes long.
  std::weak_ptr<Value>& at(const Key& key) {
    if (all_.size() >= forget_at_) {
      std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
      forget_at_ = std::max(kLeast, 2 * all_.size());
    }
    return all_[key];
  }

 private:
  static constexpr std::size_t kLeast = 64;
  std::map<Key, std::weak_ptr<Value>> all_;
  std::size_t forget_at_ = kLeast;
};

}  // namespace copse::engine
