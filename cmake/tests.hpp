// The headers that every test includes, compiled once for all tests (CopseTargets.cmake).
#include <gtest/gtest.h>

#include "standard.hpp"
