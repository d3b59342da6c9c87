// Posts receives ahead.
#include "plan/ahead.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/overlap.hpp"

namespace copse::plan {
namespace {

constexpr std::ptrdiff_t kAtHead = -1;

struct Message {  // one that the section receives
  std::ptrdiff_t first;  // its first receive
  std::ptrdiff_t after;  // the step after which it is expected, or kAtHead
  Step expect;
  bool in_time = false;  // it is expected in the iteration in which it is received, right before that

  [[nodiscard]] bool at_head() const { return after == kAtHead && !in_time; }
};

bool is_wait(Kind kind) { return kind == Kind::acquire || kind == Kind::await || kind == Kind::await_done; }
bool is_signal(Kind kind) { return kind == Kind::post || kind == Kind::publish; }

class Placing {
 public:
  Placing(const std::vector<Step>& steps, const Exposure& exposure) : steps_(steps), exposure_(exposure) {}

  [[nodiscard]] std::vector<Message> messages() const {
    std::vector<Message> result;
    std::map<std::pair<int, int>, std::vector<std::size_t>> channels;
    std::map<std::pair<int, int>, bool> goes_on;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (step.kind != Kind::receive) continue;
      const std::pair<int, int> channel{step.peer, step.area};
      if (!std::exchange(goes_on[channel], step.more)) {
        channels[channel].push_back(result.size());
        result.push_back(message(static_cast<std::ptrdiff_t>(i)));
      }
    }
    for (const auto& [channel, numbers] : channels) keep_order(numbers, result);
    return result;
  }

 private:
  [[nodiscard]] Message message(std::ptrdiff_t first) const {
    const Step& receive = steps_[static_cast<std::size_t>(first)];
    Message result{first, kAtHead, receive};
    result.expect.kind = Kind::expect;
    result.expect.more = false;
    if (receive.more) result.expect.dst = {};
    if (result.expect.dst.space == Space::none) return result;
    for (result.after = first - 1; result.after > kAtHead; --result.after)
      if (uses(result.after, result.expect.dst)) break;
    return result;
  }

  // Tells whether a step uses that memory, or waits for those who do.
  [[nodiscard]] bool uses(std::ptrdiff_t at, const Operand& place) const {
    const Step& step = steps_[static_cast<std::size_t>(at)];
    const bool exposed = place.space == Space::scratch ? exposure_.scratch : place.space == Space::output && exposure_.buffers;
    if (exposed && (is_wait(step.kind) || is_signal(step.kind))) return true;
    if (step.kind == Kind::drain) {
      return std::any_of(steps_.begin(), steps_.begin() + at, [&](const Step& sent) {
        return sent.kind == Kind::send && sent.area == step.area && overlap(sent.a, place, exposure_.apart);
      });
    }
    for (const Operand* operand : {&step.dst, &step.dst2, &step.a, &step.b})
      if (operand->space != Space::none && overlap(*operand, place, exposure_.apart)) return true;
    return false;
  }

  // Expects the messages of a channel one after the other: all at one point, or each right before it is received.
  static void keep_order(const std::vector<std::size_t>& numbers, std::vector<Message>& all) {
    if (numbers.size() == 1) return;
    std::ptrdiff_t after = kAtHead;
    for (const std::size_t number : numbers) after = std::max(after, all[number].after);
    const bool together = after < all[numbers.front()].first;
    for (const std::size_t number : numbers) {
      Message& message = all[number];
      message.after = together ? after : message.first - 1;
      message.in_time = !together;
    }
  }

  const std::vector<Step>& steps_;
  const Exposure& exposure_;
};

}  // namespace

void expect_messages(std::vector<Step>& steps, bool loop, const Exposure& exposure) {
  std::vector<Message> messages = Placing(steps, exposure).messages();
  if (messages.empty()) return;
  std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return std::pair(a.after, a.in_time) < std::pair(b.after, b.in_time);
  });
  const bool ahead = std::any_of(messages.begin(), messages.end(), [](const Message& each) { return each.at_head(); });
  const int shift = loop && ahead ? kPostedAhead : 0;
  std::vector<Step> result;
  result.reserve(steps.size() + messages.size());
  auto next = messages.begin();
  const auto expect_after = [&](std::ptrdiff_t at) {
    for (; next != messages.end() && next->after == at; ++next) {
      result.push_back(next->expect);
      const int lag = next->in_time ? next->expect.lag + shift : next->at_head() ? 0 : result[result.size() - 2].lag;
      result.back().lag = static_cast<std::uint8_t>(lag);
    }
  };
  expect_after(kAtHead);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    result.push_back(steps[i]);
    result.back().lag = static_cast<std::uint8_t>(steps[i].lag + shift);
    expect_after(static_cast<std::ptrdiff_t>(i));
  }
  steps.swap(result);
}

}  // namespace copse::plan
