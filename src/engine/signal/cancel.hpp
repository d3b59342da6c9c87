// Threads that are cancelled (pthread_cancel) while they are in Copse.
//
// Many system calls are cancellation points. There, a cancelled thread ends by unwinding its stack. Copse makes such calls
// where it must not be left in the middle of its work, and in destructors, where unwinding would end the program. So
// cancellation is deferred during these calls.
#pragma once

#include <pthread.h>

namespace copse::engine {

class CancelDeferred {
 public:
  CancelDeferred() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  CancelDeferred(const CancelDeferred&) = delete;
  CancelDeferred& operator=(const CancelDeferred&) = delete;
  ~CancelDeferred() { pthread_setcancelstate(before_, nullptr); }

  // Ends the thread if it has been cancelled and had allowed that. This is for places where the stack may be unwound.
  void cancel_here() {
    pthread_setcancelstate(before_, nullptr);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace copse::engine
