// A thread-local value that calls may use to the very end. A program's destructors may make calls after a thread's
// other objects have been destroyed; on the main thread these are all objects.
#pragma once

namespace copse::c {

// `Tag` distinguishes values of the same type.
template <class Value, class Tag>
class OfThread {
 public:
  static Value& here() {
    if (value == nullptr) {
      value = new Value();
      end.armed = true;  // constructs `end`, so that it is destroyed with the thread
    }
    return *value;
  }

 private:
  struct End {
    bool armed = false;
    ~End() {
      delete value;
      value = nullptr;  // a later caller gets a new value, which stays
    }
  };
  static inline thread_local Value* value = nullptr;
  static inline thread_local End end;
};

}  // namespace copse::c
