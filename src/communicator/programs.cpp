// Builds plans, and compiles them into programs.
#include "communicator/programs.hpp"

#include <algorithm>

namespace copse::communicator {
namespace {

constexpr std::size_t kPermutedKept = 64;

}  // namespace

engine::Program Programs::prepare(const choose::Decision& decision, int root, algorithms::Permutation permutation,
                                  plan::Modes modes) const {
  algorithms::Request request;
  request.rank = group_->rank;
  request.ranks = group_->ranks;
  request.helpers = group_->settings.helpers;
  request.root = root;
  request.permutation = permutation;
  request.graph = &group_->graph;
  request.carrier = decision.carrier;
  request.radix = decision.radix;
  request.modes = modes;
  request.places = &group_->kin->conditions.places;
  return executor_->prepare(decision.algorithm->plan(request));
}

const engine::Program& Programs::of(const choose::Decision& decision, int root, plan::Modes modes) {
  const auto key = std::make_tuple(decision.algorithm, decision.carrier, decision.radix, root, number_of(modes));
  auto at = programs_.find(key);
  if (at == programs_.end()) at = programs_.emplace(key, prepare(decision, root, {}, modes)).first;
  return at->second;
}

const engine::Program& Programs::permuted(const choose::Decision& decision, const int* entries, bool settled, plan::Modes modes) {
  const algorithms::Permutation permutation{entries, static_cast<std::size_t>(group_->ranks)};
  const auto at = std::find_if(permuted_.begin(), permuted_.end(), [&](const Permuted& each) {
    return each.algorithm == decision.algorithm && each.carrier == decision.carrier && each.radix == decision.radix &&
           each.modes == modes &&
           std::equal(permutation.begin(), permutation.end(), each.permutation.begin(), each.permutation.end());
  });
  if (at != permuted_.end()) {
    permuted_.splice(permuted_.begin(), permuted_, at);
    return at->program;
  }
  while (permuted_.size() >= kPermutedKept && settled) permuted_.pop_back();
  return permuted_
      .emplace_front(Permuted{decision.algorithm,
                              decision.carrier,
                              decision.radix,
                              modes,
                              {permutation.begin(), permutation.end()},
                              prepare(decision, 0, permutation, modes)})
      .program;
}

void Programs::forget() {
  permuted_.clear();
  programs_.clear();
}

}  // namespace copse::communicator
