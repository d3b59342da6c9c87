// The parts of the standard library that most files include, compiled once per target (CopseTargets.cmake).
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>
