// What most files include of the standard library: compiled once a target (CopseTargets.cmake).
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>
