// Words that no rank of this version says are refused and never cause a crash. The fuzzers test the same for longer.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <random>

#include "communicator/card.hpp"
#include "engine/reach/process.hpp"
#include "hostile.hpp"

namespace copse::test {
namespace {

// Takes each seed unchanged, and then with bytes changed, removed and added, at random but always in the same way.
void try_all(std::string (*read)(std::string_view), int turns) {
  const char* const sweep = std::getenv("TEST_SWEEP");
  if (sweep != nullptr && std::string_view(sweep) == "full") turns *= 50;
  std::mt19937 random(1);
  const std::vector<std::string> seeds = hostile_seeds();
  for (const std::string& seed : seeds) ASSERT_EQ(read(seed), "");
  for (int turn = 0; turn < turns; ++turn) {
    std::string bytes = seeds[random() % seeds.size()];
    if (random() % 2 == 0) bytes += seeds[random() % seeds.size()];
    for (auto changes = random() % 8; changes > 0 && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 8));
    ASSERT_EQ(read(bytes), "") << "turn " << turn;
  }
}

TEST(Hostile, Handshakes) { try_all(read_as_handshake, 20000); }
TEST(Hostile, CardsAndOffers) { try_all(make_with_words, 300); }
TEST(Hostile, WordsOfKin) { try_all(make_among_kin_with_words, 300); }
TEST(Hostile, Invitations) { try_all(read_as_invitation, 20000); }
TEST(Hostile, TextsAboutAProcess) {
  try_all(read_as_status, 20000);
  const std::string text = "Name:\tx\nNStgid:\t7\t1\nNSpid:\t7\t1\nNSpgid:\t0\t0\n";
  const std::size_t told_at = text.find("NSpgid");
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes)
    EXPECT_EQ(engine::ids_in(std::string_view(text).substr(0, bytes)), bytes < told_at ? 0 : 2) << bytes;
}
TEST(Hostile, Announcements) { try_all(compare_with_words, 300); }
TEST(Hostile, ACollectiveThatIsNone) {
  for (const char byte : {'\xff', '\x7f'})
    EXPECT_NE(difference_from_words(std::string{0, 0, 0, 3} + std::string(4, byte))
                  .find("rank 1 calls something that this rank does not know"),
              std::string::npos);
}
TEST(Hostile, ARankOfAnotherBuild) {
  constexpr std::size_t kPlace = offsetof(communicator::Card, build);
  int refused = 0;
  for (const char byte : {'\0', '\xff'}) {  // one of them may be what stands there
    const std::string change{0, static_cast<char>(kPlace >> 8), static_cast<char>(kPlace & 255), 0, byte};
    refused += refusal_after(change).find("rank 1 runs another build of Copse than rank 0") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(refused, 1);
  EXPECT_EQ(refusal_after(""), "");
}
TEST(Hostile, Boards) { try_all(gather_on_boards, 2000); }

}  // namespace
}  // namespace copse::test
