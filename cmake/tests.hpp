// What every test includes: compiled once for all of them (CopseTargets.cmake).
#include <gtest/gtest.h>

#include "standard.hpp"
