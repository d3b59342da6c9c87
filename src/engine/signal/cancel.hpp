// Threads that are cancelled (pthread_cancel) while they are in Copse.
//
// Many system calls are cancellation points: there a cancelled thread ends, by an unwinding of its stack. Copse makes such
// calls where it must not be left in the middle of its work, and in destructors, where an unwinding would end the program.
// So a cancellation is put off during them.
#pragma once

#include <pthread.h>

namespace copse::engine {

class CancelDeferred {
 public:
  CancelDeferred() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  CancelDeferred(const CancelDeferred &) = delete;
  CancelDeferred &operator=(const CancelDeferred &) = delete;
  ~CancelDeferred() { pthread_setcancelstate(before_, nullptr); }

  // Where the stack may be unwound: ends the thread if it has been cancelled, and had allowed that.
  void cancel_here() {
    pthread_setcancelstate(before_, nullptr);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace copse::engine
