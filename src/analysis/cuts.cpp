// How ranges cut a message into atoms.
#include "analysis/cuts.hpp"

namespace copse::analysis {

Cuts::Cuts(std::span<const plan::Plan* const> plans, int fragments) {
  std::uint32_t of_loop = 1, of_once = 1;
  bool data_in_loop = false, data_in_once = false;
  for (const plan::Plan* plan : plans) {
    for (const plan::Section& section : plan->sections) {
      for (std::uint32_t i = 0; i < section.count; ++i) {
        const plan::Step& step = plan->steps[section.first + i];
        if (step.kind == plan::Kind::acquire) continue;
        for (const plan::Operand* operand : {&step.dst, &step.dst2, &step.a, &step.b}) {
          if (operand->space == plan::Space::none) continue;
          (section.loop ? data_in_loop : data_in_once) = true;
          const std::uint32_t of = operand->range.of;
          std::uint32_t& known = section.loop ? of_loop : of_once;
          if (of == 1 || of == known) continue;
          if (known != 1 && clash_.empty()) {
            clash_ =
                "cut into " + std::to_string(known) + " and into " + std::to_string(of) + " chunks, whose boundaries need not meet";
          }
          known = of;
        }
      }
    }
  }
  const std::uint32_t blocks = plans.front()->contents.blocks;
  if (blocks > 0) {
    parts_ = blocks;
    if (data_in_loop) fragments_ = static_cast<std::uint32_t>(fragments);
    if (data_in_loop && data_in_once && fragments > 1) clash_ = "cut into fragments and also moved as a whole";
    for (const std::uint32_t of : {of_loop, of_once})
      if (of != 1 && of != blocks) clash_ = "made of " + std::to_string(blocks) + " blocks, and cut into " + std::to_string(of);
    return;
  }
  if (data_in_loop && fragments > 1) {
    fragments_ = static_cast<std::uint32_t>(fragments);
    if (of_once != 1 && clash_.empty()) clash_ = "cut into fragments and, as a whole, into " + std::to_string(of_once) + " chunks";
    parts_ = of_loop;
    return;
  }
  if (of_loop != 1 && of_once != 1 && of_loop != of_once && clash_.empty()) {
    clash_ =
        "cut into " + std::to_string(of_loop) + " and into " + std::to_string(of_once) + " chunks, whose boundaries need not meet";
  }
  parts_ = of_loop != 1 ? of_loop : of_once;
}

}  // namespace copse::analysis
