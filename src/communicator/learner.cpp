// Judges what was tried, and plans what to try next.
#include "communicator/learner.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace copse::communicator {
namespace {

// Another way must be clearly faster, twice, before it runs: times are noisy.
constexpr double kClearly = 0.95;
constexpr int kWins = 2;
constexpr double kGuess = 1.5;  // a way that was never tried is expected to take so many times the current way
constexpr double kMakingNs = 30000;  // a guess: the time to make the ways of a kind of call, or the program of a way
constexpr double kTimingNs = 100;    // the time to time a call
constexpr double kMostOfOne = 20;    // a call of a way costs at most so many times the current way: it may have lost a turn
constexpr double kFar = 2;      // a way that is slower by this is no rival
constexpr std::uint64_t kLongestWindow = 1024, kShortestGlance = 3, kLongestGlance = 256;
constexpr double kForget = 1.1;  // the remembered time of an agreement grows by at most this factor with each agreement
constexpr double kRarely = 1e5;  // calls between agreements, at most
constexpr double kChanged = 1.3;  // if the current way becomes so many times slower or faster, the machine has changed

constexpr std::size_t kEnough = 4, kEnoughOfGlance = 2;  // calls of each way that were timed
constexpr std::size_t kMost = 64;
constexpr int kKindBits = 16;

// Where each word stands. Words whose least value is wanted are negated.
enum Word : std::size_t { kNext, kSpent, kAgreement, kChallenged, kChallengedTime, kTimed, kCurrent, kChallenger, kSlowChallenger };

// Tells which calls of a duel are the challenger's: four in a row, then four of the current way, or the other way round. So each
// way has time to warm up. The order looks random, and is the same on all ranks.
bool challenges(std::uint64_t number) {
  std::uint64_t bits = (number / 8) * 0x9e3779b97f4a7c15u;
  bits ^= bits >> 29;
  bits *= 0xbf58476d1ce4e5b9u;
  return ((bits >> 63) != 0) == (number % 8 < 4);
}

// Returns the value below which `share` of the values lie.
double quantile(std::vector<double> values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

Learner::Subject& Learner::subject(Kind kind) {
  Subject& found = subjects_[kind];
  if (found.ways.empty()) {
    found.ways.resize(static_cast<std::size_t>(std::max(1, ways_(kind))));
    found.window = pace_.window;
  }
  return found;
}

int Learner::way(std::uint64_t number, Kind kind) const {
  if (!is_on_trial(number, kind) || trial_->form == Form::look) return current(kind);
  return trial_->form == Form::glance || challenges(number) ? trial_->challenger : trial_->current;
}

void Learner::took(std::uint64_t number, Kind kind, int way, double ns) {
  if (!is_on_trial(number, kind)) return;
  const std::size_t side = way == trial_->challenger ? 1 : 0;
  const bool warm = trial_->before == way;
  trial_->challenged += static_cast<int>(side);
  if (side == 1) {
    const Subject& of_kind = subjects_.at(kind);
    const double now_ns = of_kind.ways[static_cast<std::size_t>(of_kind.current)].ns;
    trial_->challenged_ns += std::min(ns, kMakingNs + kMostOfOne * now_ns);
  }
  trial_->before = way;
  if (warm && trial_->ns[side].size() < kMost) trial_->ns[side].push_back(ns);
}

// For the time that was spent, and for the time of an agreement, the ranks use the least value that any rank has measured. A rank
// that waits for a late rank measures more, but that wait is no cost.
Learner::Words Learner::words(const std::map<Kind, double>& spent_ns, double last_ns, std::uint64_t number) const {
  Words words;
  words.fill(std::numeric_limits<std::int64_t>::min());
  const auto say = [&words](Word word, double value) { words[word] = static_cast<std::int64_t>(std::min(value, 1e14)); };
  double most = -1, all = 0;
  Kind next = 0;
  for (const auto& [kind, ns] : spent_ns) {
    all += ns;
    const double worth = this->worth(kind, ns, number);
    if (worth <= most) continue;
    most = worth;
    next = kind;
  }
  say(kNext, std::max(0.0, most));
  words[kNext] = (words[kNext] << kKindBits) | next;
  say(kSpent, -all);
  say(kAgreement, -last_ns);
  if (!trial_) return words;
  const auto& [current, challenger] = trial_->ns;
  const bool timed_current = trial_->form != Form::glance, timed_challenger = trial_->form != Form::look;
  say(kChallenged, trial_->challenged);
  say(kChallengedTime, trial_->challenged_ns);
  say(kTimed, -static_cast<double>(std::min(timed_current ? current.size() : kMost, timed_challenger ? challenger.size() : kMost)));
  if (!current.empty()) say(kCurrent, quantile(current, 0.5));
  if (challenger.empty()) return words;
  say(kChallenger, quantile(challenger, trial_->form == Form::glance ? 0 : 0.5));
  say(kSlowChallenger, quantile(challenger, 0.75));
  return words;
}

std::optional<Learner::Change> Learner::agreed(const Words& all, std::uint64_t number) {
  const auto spent_ns = static_cast<double>(-all[kSpent]), agreement_ns = static_cast<double>(-all[kAgreement]);
  agreement_ns_ = agreement_ns_ == 0 ? agreement_ns : std::min(agreement_ns, kForget * agreement_ns_);
  earned_ns_ += pace_.share * spent_ns;
  spent_ns_ += agreement_ns;
  const std::optional<Change> change = judge(all, number);
  const Kind next = static_cast<Kind>(all[kNext] & ((1 << kKindBits) - 1));
  plan(next, spent_ns / static_cast<double>(std::max<std::uint64_t>(1, number - agreed_at_)), number);
  agreed_at_ = number;
  return change;
}

// Learns how long the current way takes now. If that has changed, the machine is another one, and every way is worth a new trial.
void Learner::looked(Subject& subject, double ns, std::uint64_t number) {
  Way& current = subject.ways[static_cast<std::size_t>(subject.current)];
  if (current.ns > 0 && std::max(current.ns, ns) > kChanged * std::min(current.ns, ns))
    for (Way& way : subject.ways) way.not_before = number;
  current.ns = ns;
}

std::optional<Learner::Change> Learner::judge(const Words& all, std::uint64_t number) {
  if (!trial_) return std::nullopt;
  const Trial trial = *std::exchange(trial_, std::nullopt);
  Subject& subject = this->subject(trial.kind);
  const auto challenged = static_cast<double>(std::max<std::int64_t>(0, all[kChallenged]));
  spent_ns_ += kTimingNs * static_cast<double>(trial.end - trial.begin);
  if (trial.form != Form::look) {
    const double way_ns = subject.ways[static_cast<std::size_t>(trial.current)].ns;
    const double took_ns = std::max(static_cast<double>(all[kChallengedTime]), challenged * static_cast<double>(all[kChallenger]));
    spent_ns_ += std::max(0.0, took_ns - challenged * way_ns);
  }
  // The number of timed calls, on the rank that timed the fewest.
  const auto timed = static_cast<std::size_t>(std::max<std::int64_t>(0, -all[kTimed]));
  if (trial.form == Form::duel) subject.share = challenged / static_cast<double>(trial.end - trial.begin);
  if (timed < (trial.form == Form::glance ? kEnoughOfGlance : kEnough)) {
    const std::uint64_t longest = trial.form == Form::glance ? kLongestGlance : kLongestWindow;
    std::uint64_t& window = trial.form == Form::glance ? subject.glance : subject.window;
    if (trial.end - trial.begin >= longest) put_off(trial, number);
    window = std::min(longest, 2 * window);
    return std::nullopt;
  }
  subject.put_off = 0;
  if (trial.form == Form::glance) subject.glance = std::max(kShortestGlance, subject.glance / 2);
  else looked(subject, static_cast<double>(all[kCurrent]), number);
  if (trial.form == Form::look) return std::nullopt;
  const auto ns = static_cast<double>(all[kChallenger]);
  const double current_ns = subject.ways[static_cast<std::size_t>(trial.current)].ns;
  return judge_challenger(trial, ns, static_cast<double>(all[kSlowChallenger]) < current_ns, number);
}

// Leaves a kind alone for a while if its calls come so seldom that the longest trial tells nothing. Otherwise no other kind would
// ever be tried if this one takes the most time.
void Learner::put_off(const Trial& trial, std::uint64_t number) {
  Subject& subject = this->subject(trial.kind);
  subject.not_before = number + (pace_.patience << std::min(subject.put_off++, 3));
}

std::optional<Learner::Change> Learner::judge_challenger(const Trial& trial, double ns, bool is_clear, std::uint64_t number) {
  Subject& subject = this->subject(trial.kind);
  Way &current = subject.ways[static_cast<std::size_t>(trial.current)],
      &challenger = subject.ways[static_cast<std::size_t>(trial.challenger)];
  challenger.ns = ns;
  if (trial.form == Form::glance && ns < kFar * current.ns) return std::nullopt;  // a duel will tell
  ++challenger.tries;
  if (ns >= kClearly * current.ns || !is_clear) {
    challenger.wins = 0;
    challenger.not_before = number + (pace_.patience << std::min(challenger.tries - 1, 3));
    return std::nullopt;
  }
  if (++challenger.wins < kWins) return std::nullopt;
  challenger.wins = 0;
  subject.current = trial.challenger;
  current.not_before = number + pace_.patience;
  current.tries = 0;
  return Change{trial.kind, trial.current, trial.challenger, current.ns, ns};
}

// Returns the form of the next trial. If the time of the current way is not known, nothing can be compared with it, so a look
// comes first. A way that may be far slower gets a glance first.
Learner::Form Learner::form_for(const Subject& subject, int way) {
  const double now_ns = subject.ways[static_cast<std::size_t>(subject.current)].ns,
               ns = subject.ways[static_cast<std::size_t>(way)].ns;
  if (now_ns == 0) return Form::look;
  return ns > 0 && ns < kFar * now_ns ? Form::duel : Form::glance;
}

// Returns how much time it would cost to try a way, as far as that is known.
double Learner::cost_ns(const Subject& subject, int way) {
  const double now_ns = subject.ways[static_cast<std::size_t>(subject.current)].ns,
               known_ns = subject.ways[static_cast<std::size_t>(way)].ns;
  const double more_ns = known_ns > 0 ? std::max(0.0, known_ns - now_ns) : (kGuess - 1) * now_ns;
  switch (form_for(subject, way)) {
    case Form::look: return 0;
    case Form::glance: return (known_ns > 0 ? 0 : kMakingNs) + static_cast<double>(kShortestGlance) * more_ns;
    case Form::duel: break;
  }
  return static_cast<double>(subject.window) * subject.share * more_ns;
}

// Returns the way to try next. Ways that have won come first, then ways that were once faster than the current way is now, and
// then the way that was tried least. The way is tried once enough was earned for it. If cheaper ways went first, it might never be
// tried.
int Learner::next_to_try(const Subject& subject, std::uint64_t number) const {
  int next = -1;
  const auto rank = [&](int of) {
    const Way& each = subject.ways[static_cast<std::size_t>(of)];
    const bool was_faster = each.ns > 0 && each.ns < subject.ways[static_cast<std::size_t>(subject.current)].ns;
    return std::tuple(-each.wins, !was_faster, each.tries);
  };
  for (int i = 0; i < static_cast<int>(subject.ways.size()); ++i) {
    if (i == subject.current || subject.ways[static_cast<std::size_t>(i)].not_before > number) continue;
    if (next < 0 || rank(i) < rank(next)) next = i;
  }
  return next;
}

// Returns how much a trial of calls of this kind would be worth, if these calls have taken `spent_ns`. It is worth more if little
// is known of the way to try, or if that way nearly won before. If there is nothing to try now, a look is worth a little.
double Learner::worth(Kind kind, double spent_ns, std::uint64_t number) const {
  const auto known = subjects_.find(kind);
  if (known == subjects_.end()) return spent_ns;
  const Subject& of_kind = known->second;
  if (of_kind.not_before > number) return 0;
  const int next = next_to_try(of_kind, number);
  if (next < 0) return of_kind.ways.size() > 1 ? spent_ns / 1000 : 0;
  const Way &way = of_kind.ways[static_cast<std::size_t>(next)], &current = of_kind.ways[static_cast<std::size_t>(of_kind.current)];
  const double slower = way.ns > 0 && current.ns > 0 ? std::max(1.0, way.ns / current.ns) : 1;
  return spent_ns / (1 + 4 * way.tries) / (slower * slower * slower * slower);
}

// Plans a trial if there is a way to try for which enough was earned. The ranks agree again when the trial is over. If there is no
// trial, the ranks agree again when the calls until then will have earned twice what an agreement and a look cost. So half of what
// is earned is left for trials. The last calls before that agreement are a look, unless more was spent than earned.
void Learner::plan(Kind kind, double each_ns, std::uint64_t number) {
  const auto known = subjects_.find(kind);
  const double looking_ns =
      agreement_ns_ + kTimingNs * static_cast<double>(known == subjects_.end() ? pace_.window : known->second.window);
  const double calls = 2 * looking_ns / std::max(1e-9, pace_.share * each_ns);
  agree_at_ = number + static_cast<std::uint64_t>(std::clamp(calls, static_cast<double>(pace_.window), kRarely));
  if (known != subjects_.end() && known->second.not_before > number) return;
  if (!is_earned(agreement_ns_) || (known == subjects_.end() && !is_earned(agreement_ns_ + kMakingNs))) return;
  const Subject& subject = this->subject(kind);
  const int challenger = next_to_try(subject, number);
  if (challenger >= 0 && is_earned(agreement_ns_ + cost_ns(subject, challenger))) {
    const Form form = form_for(subject, challenger);
    agree_at_ = number + (form == Form::glance ? subject.glance : subject.window);
    trial_ = Trial{form, kind, subject.current, challenger, number, agree_at_, {}, 0, -1};
    return;
  }
  const std::uint64_t begin = agree_at_ - std::min(subject.window, agree_at_ - number);
  if (subject.ways.size() > 1) trial_ = Trial{Form::look, kind, subject.current, -1, begin, agree_at_, {}, 0, -1};
}

}  // namespace copse::communicator
