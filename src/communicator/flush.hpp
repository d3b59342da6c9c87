// Writing out what the program has printed, before its process ends in the middle of things.
#pragma once

namespace copse::communicator {

// Writes out all streams of the C library, as exit() does. Another thread may sit in a read and hold the lock of its stream. So
// this waits for at most a second.
void flush_streams();

}  // namespace copse::communicator
