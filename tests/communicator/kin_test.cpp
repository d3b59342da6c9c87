// Communicators that are made among their kin.
#include "communicator/kin_offer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <deque>
#include <numeric>
#include <random>
#include <thread>

#include "../engine/ranks.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;
using communicator::Arguments;
using communicator::Bootstrap;
using communicator::Communicator;
using communicator::Kin;
using communicator::KinOffer;
using communicator::KinWord;
using engine::Outcome;

// The ranks meet on a communicator that they have.
class Over final : public Bootstrap {
 public:
  explicit Over(Communicator& comm) : comm_(comm) {}
  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int ranks() const override { return comm_.ranks(); }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    return comm_.run({.collective = Collective::allgather, .input = mine, .output = all, .count = bytes}) == Outcome::done;
  }

 private:
  Communicator& comm_;
};

// Nothing is measured: a late rank may still read what another rank writes.
choose::Settings unmeasured() {
  choose::Settings settings;
  settings.slots = choose::Stores::cached;
  return settings;
}

struct Made {
  std::unique_ptr<Communicator> comm;
  std::string why;
};

Made make_among(Communicator& comm, std::shared_ptr<Kin> kin) {
  std::unique_ptr<Bootstrap> bootstrap = std::make_unique<Over>(comm);
  const KinOffer offer(std::move(kin));
  const KinWord mine = offer.word();
  std::vector<KinWord> words(static_cast<std::size_t>(comm.ranks()));
  if (!bootstrap->allgather(&mine, words.data(), sizeof mine)) return {nullptr, "not gathered"};
  if (!KinOffer::is_common(words)) return {nullptr, "not all ranks offer the same kin"};
  auto progress = std::make_shared<communicator::Progress>();
  return {Communicator::create_among(offer, words, bootstrap, unmeasured(), progress), "no memory"};
}

std::string sums_are_right(Communicator& comm, std::size_t count, int turn) {
  std::vector<std::int32_t> in(count), out(count);
  std::iota(in.begin(), in.end(), turn + comm.rank());
  engine::Combine combine;
  combine.kernel = kernels::reduce_kernel(COPSE_SUM, COPSE_INT32);
  if (const Outcome outcome = comm.allreduce(in.data(), out.data(), count, 4, combine); outcome != Outcome::done)
    return comm.explain(outcome);
  const int ranks = comm.ranks();
  for (std::size_t i = 0; i < count; ++i)
    if (out[i] != ranks * (turn + static_cast<int>(i)) + ranks * (ranks - 1) / 2) return "wrong element " + std::to_string(i);
  return {};
}

// Calls that let the root run ahead of the others.
std::string broadcasts_are_right(Communicator& comm, std::size_t bytes, int turn) {
  std::vector<unsigned char> data(bytes);
  for (int i = 0; i < 20; ++i) {
    const auto value = static_cast<unsigned char>(turn + i);
    std::fill(data.begin(), data.end(), comm.rank() == turn % comm.ranks() ? value : 0);
    if (comm.broadcast(data.data(), bytes, turn % comm.ranks()) != Outcome::done) return "a broadcast fails";
    if (data.front() != value || data.back() != value) return "a broadcast is wrong";
  }
  return {};
}

// Communicators come and go. Each rank keeps those that are over for a while of its own.
std::string come_and_go(Communicator& first) {
  std::mt19937 same(7), own(static_cast<unsigned>(first.rank()));
  std::deque<std::unique_ptr<Communicator>> live, over;
  for (int turn = 0; turn < 120; ++turn) {
    if (live.size() < 6 && same() % 2 == 0) {
      Communicator& from = live.empty() ? first : *live[same() % live.size()];
      Made made = make_among(from, first.kin());
      if (!made.comm) return made.why;
      live.push_back(std::move(made.comm));
    }
    for (const auto& comm : live) {
      const std::size_t sizes[] = {1, 300, 30000};
      std::string wrong = sums_are_right(*comm, sizes[same() % std::size(sizes)], turn);
      if (wrong.empty()) wrong = broadcasts_are_right(*comm, same() % 2 == 0 ? 8 : 3000, turn);
      if (!wrong.empty()) return "turn " + std::to_string(turn) + ": " + wrong;
    }
    if (!live.empty() && same() % 3 == 0) {
      over.push_back(std::move(live.front()));
      live.pop_front();
    }
    while (!over.empty() && own() % 2 == 0) over.pop_front();
  }
  return sums_are_right(first, 300, 0);
}

TEST(Kin, ComeAndGo) {
  choose::Settings late = unmeasured();
  late.first_ticket = (std::uint64_t{1} << 48) - 300;
  for (const Kind kind : kKinds) {
    for (const int ranks : {2, 3}) {
      EXPECT_EQ(run_ranks(kind, ranks, unmeasured(), come_and_go), "") << name_of(kind);
      EXPECT_EQ(run_ranks(kind, ranks, late, come_and_go), "") << name_of(kind);
    }
  }
}

int plots_free(const Kin& kin) {
  std::uint64_t ticket = 0;
  int free = 0;
  for (const std::uint64_t word : kin.plots.free_ones(ticket)) free += std::popcount(word);
  return free;
}

TEST(Kin, ATakenPlotIsFreeAgain) {
  EXPECT_EQ(run_ranks(Kind::processes, 3, unmeasured(),
                      [](Communicator& first) -> std::string {
                        int most = 0;
                        for (int turn = 0; turn < 50; ++turn) {
                          Made made = make_among(first, first.kin());
                          if (!made.comm) return made.why;
                          if (std::string wrong = sums_are_right(*made.comm, 1, turn); !wrong.empty()) return wrong;
                          made.comm.reset();
                          if (turn == 4) most = plots_free(*first.kin());  // ranks that were late may have taken another one
                        }
                        return plots_free(*first.kin()) == most ? "" : "plots are lost";
                      }),
            "");
}

TEST(Kin, APlotWhereARankGaveUpIsNotTakenAgain) {
  EXPECT_EQ(run_ranks(Kind::processes, 2, unmeasured(),
                      [](Communicator& first) -> std::string {
                        Made made = make_among(first, first.kin());
                        if (!made.comm) return made.why;
                        if (first.rank() == 1) made.comm->give_up();
                        made.comm.reset();
                        for (int turn = 0; turn < 8; ++turn) {
                          made = make_among(first, first.kin());
                          if (!made.comm) return made.why;
                          if (std::string wrong = sums_are_right(*made.comm, 300, turn); !wrong.empty()) return wrong;
                        }
                        return {};
                      }),
            "");
}

// A plot that was never used has no pages. So the first communicator that ends leaves its own to the next one.
TEST(Kin, PagesAreLeftToTheNext) {
  EXPECT_EQ(run_ranks(Kind::processes, 2, unmeasured(),
                      [](Communicator& first) -> std::string {
                        communicator::Plots& plots = first.kin()->plots;
                        for (int turn = 0; turn < 3; ++turn) {
                          Made made = make_among(first, first.kin());
                          if (!made.comm) return made.why;
                          if (std::string wrong = sums_are_right(*made.comm, 300, turn); !wrong.empty()) return wrong;
                          if (!plots.keeps_pages()) return "a plot without pages counts as one that has kept them";
                          made.comm.reset();
                          if (first.barrier() != Outcome::done) return "no barrier";
                          if (plots.keeps_pages()) return "the plot has given its pages back";
                        }
                        return {};
                      }),
            "");
}

// What a rank noted 2^31 tickets ago in the same memory looks like a note of a call to come. Whoever has refused a call looks for
// such notes.
TEST(Kin, NotesOfLongAgoAreForgotten) {
  EXPECT_EQ(run_ranks(Kind::processes, 2, unmeasured(),
                      [](Communicator& first) -> std::string {
                        Made made = make_among(first, first.kin());
                        if (!made.comm) return made.why;
                        for (int call = 0; call < 4; ++call)
                          if (std::string wrong = sums_are_right(*made.comm, 1, call); !wrong.empty()) return wrong;
                        made.comm.reset();
                        if (first.broadcast(nullptr, 0, 0) != Outcome::done || first.barrier() != Outcome::done)
                          return "no barrier";
                        // As if others had made that many calls meanwhile.
                        communicator::Plots& plots = first.kin()->plots;
                        std::uint64_t ticket = 0;
                        const auto free = plots.free_ones(ticket);
                        const int number = std::countr_zero(free[0]);
                        static_cast<void>(plots.take(number));
                        plots.give_back(number, ticket + (std::uint64_t{1} << 31) + 8, true);
                        made = make_among(first, first.kin());
                        if (!made.comm) return made.why;
                        Communicator& comm = *made.comm;
                        if (first.rank() == 0) {
                          comm.refuse(comm.pass(true));
                        } else {
                          if (comm.barrier() != Outcome::refused) return "a barrier without the other rank is over";
                          std::this_thread::sleep_for(std::chrono::milliseconds(100));
                        }
                        for (int call = 0; call < 3; ++call)
                          if (std::string wrong = sums_are_right(comm, 1, call); !wrong.empty()) return wrong;
                        return {};
                      }),
            "");
}

TEST(Kin, AllRanksMustOfferThem) {
  EXPECT_EQ(run_ranks(Kind::processes, 3, unmeasured(),
                      [](Communicator& first) -> std::string {
                        const bool offers = first.rank() != 1;
                        const Made made = make_among(first, offers ? first.kin() : nullptr);
                        return made.comm ? "a communicator was made" : sums_are_right(first, 1, 1);
                      }),
            "");
}

TEST(Kin, OneThreadAtATimeHoldsThem) {
  EXPECT_EQ(run_ranks(Kind::processes, 2, std::vector<choose::Settings>(2, unmeasured()),
                      [](Communicators comms) -> std::string {
                        auto kin = comms[1]->kin();
                        const KinOffer held(kin);
                        if (make_among(*comms[0], kin).comm) return "kin that another thread holds were offered";
                        return {};
                      }),
            "");
}

}  // namespace
}  // namespace copse::test
