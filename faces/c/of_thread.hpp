// A value of each thread's own that calls may use to the very end: the destructors of a program's own objects may call
// when a thread's other objects, and on the main thread that is all of them, have been destroyed.
#pragma once

namespace copse::c {

// `Tag` tells apart values of one type.
template <class Value, class Tag>
class OfThread {
 public:
  static Value &here() {
    if (value == nullptr) {
      value = new Value();
      end.armed = true;  // makes it, so that it is destroyed with the thread
    }
    return *value;
  }

 private:
  struct End {
    bool armed = false;
    ~End() {
      delete value;
      value = nullptr;  // who asks later gets a new one, which stays
    }
  };
  static inline thread_local Value *value = nullptr;
  static inline thread_local End end;
};

}  // namespace copse::c
