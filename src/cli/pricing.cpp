// Asks the chooser what could run a call, and the price what it costs.
#include "cli/pricing.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "analysis/variants.hpp"
#include "choose/alternatives.hpp"
#include "choose/chooser.hpp"
#include "cli/input.hpp"
#include "engine/kernels/kernels.hpp"
#include "text/words.hpp"

namespace copse::cli {

std::string with_format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string time_text(double ns) { return ns < 1e4 ? with_format("%.1f ns", ns) : with_format("%.1f us", ns / 1e3); }

std::string name_of(const choose::Decision& decision) {
  return std::string(decision.algorithm->name) + ":" + plan::name_of(decision.carrier) +
         (decision.radix == 2 ? "" : ":" + std::to_string(decision.radix));
}

Reduction reduction_of(const std::string& operation, const std::string& type) {
  std::vector<std::string> operations, types;
  for (int op = 0; op < COPSE_OP_COUNT; ++op) operations.push_back(text::lower(kernels::op_name(static_cast<copse_op>(op))));
  for (int each = 0; each < COPSE_TYPE_COUNT; ++each)
    types.push_back(text::lower(kernels::type_name(static_cast<copse_type>(each))));
  const auto op = static_cast<copse_op>(index_in("--operation", operation, operations));
  const auto element = static_cast<copse_type>(index_in("--type", type, types));
  if (kernels::reduce_kernel(op, element) == nullptr) refuse("the operator " + operation + " is not defined for " + type);
  return {operation, type, kernels::type_size(element)};
}

Pricer::Pricer(const price::Parameters& machine, const choose::Situation& situation, topology::Placement places)
    : machine_(machine), places_(std::make_shared<const topology::Placement>(std::move(places))), situation_(situation) {
  situation_.ranks = static_cast<int>(places_->size());
  situation_.places = places_.get();
  situation_.delegates = situation_.nodes > 1;
  if (situation_.nodes > 1)
    for (const topology::Place& place : *places_) nodes_.push_back(place.at(topology::Level::node));
}

std::vector<choose::Decision> Pricer::ways(const PricedCall& call, std::span<const int> radices,
                                           std::span<const std::size_t> fragments) const {
  const choose::Needs needs = choose::needs_of(call.collective, situation_.ranks, call.reduction.element_bytes, call.strict);
  return choose::candidates(situation_, call.collective, call.bytes, needs, radices, fragments);
}

analysis::Variant Pricer::variant_of(const choose::Decision& way) const {
  analysis::Variant variant;
  variant.row = way.algorithm;
  variant.carrier = way.carrier;
  variant.ranks = situation_.ranks;
  variant.helpers = situation_.helpers;
  variant.places = places_;
  variant.nodes = nodes_;
  const bool is_new = way.radix == variant.radix || analysis::differs(variant, way.radix);
  variant.radix = way.radix;
  if (is_new) variant.plans = analysis::build_plans(variant);
  return variant;
}

price::Price Pricer::price(const PricedCall& call, const choose::Decision& way, const analysis::Variant& variant) const {
  const plan::Rings rings = choose::rings_for(situation_.oversubscribed, situation_.ranks);
  price::Question question;
  question.variant = variant;
  question.bytes = call.bytes;
  const choose::Cut cut = choose::cut(rings.slots, way, call.bytes, 1);
  question.fragment_bytes = cut.fragment_count;
  question.line_depth = static_cast<int>(rings.line_depth);
  if (cut.slot_class >= 0) question.slot_depth = static_cast<int>(rings.slots[static_cast<std::size_t>(cut.slot_class)].depth);
  question.cold = call.cold;
  question.calls = call.calls;
  question.most = call.most;
  question.operation = call.reduction.operation;
  question.type = call.reduction.type;
  question.reach = situation_.direct ? price::Reach::loads : price::Reach::kernel;
  return price::price(question, machine_);
}

price::Price Pricer::price(const PricedCall& call, choose::Decision way) const {
  analysis::Variant variant = variant_of(way);
  if (!variant.plans) {  // the radix means nothing to it
    way.radix = 2;
    variant = variant_of(way);
  }
  return price(call, way, variant);
}

std::vector<Priced> Pricer::all(const PricedCall& call, std::span<const int> radices, const std::string& algorithm) const {
  constexpr std::size_t kFragments[] = {0, 16384, 32768};
  std::vector<Priced> result;
  analysis::Variant variant;
  for (const choose::Decision& way : ways(call, radices, kFragments)) {
    if (!algorithm.empty() && way.algorithm->name != algorithm) continue;
    // Ways that differ by their fragments alone stand together, and have the same plans.
    if (variant.row != way.algorithm || variant.carrier != way.carrier || variant.radix != way.radix) variant = variant_of(way);
    if (variant.plans) result.push_back({way, price(call, way, variant)});
  }
  std::stable_sort(result.begin(), result.end(), [](const Priced& a, const Priced& b) { return a.price.ns < b.price.ns; });
  return result;
}

}  // namespace copse::cli
