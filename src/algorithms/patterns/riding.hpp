// Blocks whose lengths only their givers and their takers know (docs/decisions/one-way.md). They go one way: nobody tells all ranks
// how long they are.
#pragma once

#include <functional>
#include <span>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Gives each taker its block. Short blocks for ranks of this node ride together with this rank's publication, in the order of the
// takers. Longer ones are read where they lie, as in KNEM's scatter (KNEM IV.B). A taker on another node gets a message, which
// says how long it is.
void give_one_way(plan::Builder& builder, std::span<const int> takers, const std::function<plan::Range(int taker)>& block_for);
// Takes this rank's block from a rank that gives to these ranks before it gives to this one.
void take_one_way(plan::Builder& builder, int giver, plan::Range block, std::span<const int> takers_before);

}  // namespace copse::algorithms
