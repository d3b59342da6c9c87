// Ranks that may say anything.
#include "hostile.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "communicator/card.hpp"
#include "communicator/common_memory.hpp"
#include "communicator/communicator.hpp"
#include "communicator/desk.hpp"
#include "communicator/handshake.hpp"
#include "communicator/kin_offer.hpp"
#include "communicator/progress.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "engine/reach/process.hpp"

namespace copse::test {
namespace {

using namespace communicator;

// One rank of two. The other rank says what this one says, apart from the changes. If it is the first rank, it has also looked at
// its machine.
class Hostile final : public Bootstrap {
 public:
  Hostile(std::string_view changes, int rank, int quiet_rounds) : changes_(changes), rank_(rank), round_(-quiet_rounds) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return 2; }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    auto* const words = static_cast<std::byte*>(all);
    for (int rank = 0; rank < 2; ++rank) std::memcpy(words + static_cast<std::size_t>(rank) * bytes, mine, bytes);
    if (bytes == sizeof(CommonMemory::Offer) && rank_ == 1) {
      CommonMemory::Offer offer;
      offer.facts.online = 2;
      std::memcpy(words, &offer, sizeof offer);
    }
    if (round_++ >= 0) change(words + static_cast<std::size_t>(1 - rank_) * bytes, bytes);
    return true;
  }

 private:
  void change(std::byte* words, std::size_t bytes) const {
    std::string_view left = changes_;
    const auto number = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(left[i])); };
    while (left.size() > 4) {
      const std::size_t place = (number(1) << 8 | number(2)) % bytes;
      const std::size_t count = std::min({number(3) % 32 + 1, left.size() - 4, bytes - place});
      if (number(0) % 4 == static_cast<std::size_t>(round_ - 1) % 4) std::memcpy(words + place, left.data() + 4, count);
      left.remove_prefix(4 + count);
    }
  }

  std::string_view changes_;
  int rank_, round_;
};

constexpr int kRoundsOfMaking = 3;  // in the rounds before, the other rank says what it should

bool one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
}

choose::Settings quick_settings() {
  choose::Settings settings;
  settings.slots = choose::Stores::cached;  // no trial, because the other rank would not come
  return settings;
}

}  // namespace

std::string read_as_handshake(std::string_view bytes) {
  const Hello mine = make_hello(0, 4);
  Hello hello;
  if (read_hello(bytes, hello) == Reading::whole) {
    const std::string why = refusal_of(hello, mine, getpid());
    if (!one_line(why)) return "a refusal with other than letters: " + why;
    const bool fits = hello.rank >= 1 && hello.rank < 4 && hello.ranks == 4 && hello.job == mine.job && hello.host == mine.host &&
                      hello.build == mine.build && hello.pid == getpid();
    if (why.empty() != fits) return "taken in: " + why;
    if (refusal_of(hello, mine, 0).empty()) return "taken in from another PID namespace";
  } else if (read_hello(bytes, hello) == Reading::more && bytes.size() >= sizeof(Hello)) {
    return "waits for more than a message";
  }
  Answer answer;
  if (read_answer(bytes, answer) == Reading::whole) {
    const std::string why = refusal_of(answer, mine, getpid());
    if (!one_line(why)) return "a refusal with other than letters: " + why;
    if (why.empty() && (answer.refused != 0 || answer.host != mine.host || answer.pid != getpid())) return "believed";
    if (refusal_of(answer, mine, 0).empty()) return "believed in another PID namespace";
  } else if (read_answer(bytes, answer) == Reading::more && bytes.size() >= sizeof(Answer)) {
    return "waits for more than a message";
  }
  return {};
}

std::string make_with_words(std::string_view bytes) {
  for (const int rank : {0, 1}) {
    std::string why;
    const auto comm = Communicator::create(std::make_unique<Hostile>(bytes, rank, 0), nullptr, quick_settings(), why);
    if (!comm && why.empty()) return "a refusal without a reason";
    if (!comm && rank == 0 && bytes.empty()) return "refused, though nothing is changed: " + why;
  }
  return {};
}

std::string make_among_kin_with_words(std::string_view bytes) {
  std::string why;
  const auto first = Communicator::create(std::make_unique<Hostile>("", 0, 0), nullptr, quick_settings(), why);
  if (!first) return "refused, though nothing is changed: " + why;
  for (int turn = 0; turn < 2; ++turn) {  // the first makes plots, the second finds some
    const KinOffer offer(first->kin());
    std::unique_ptr<Bootstrap> bootstrap = std::make_unique<Hostile>(bytes, 0, 0);
    const KinWord mine = offer.word();
    std::array<KinWord, 2> words;
    bootstrap->allgather(&mine, words.data(), sizeof mine);
    const bool common = KinOffer::is_common(words);
    const auto comm =
        common ? Communicator::create_among(offer, words, bootstrap, quick_settings(), std::make_shared<Progress>()) : nullptr;
    if (!comm && bytes.empty()) return "no communicator, though nothing is changed";
    if (!comm && !bootstrap) return "neither a communicator nor the bootstrap";
  }
  return {};
}

std::string read_as_invitation(std::string_view bytes) {
  const auto invitation = read_invitation(bytes);
  if (!invitation) return {};
  if (bytes.size() != sizeof(Invitation)) return "an invitation of another size";
  if (invitation->is_goodbye()) return invitation->helpers == 0 && invitation->rank == 0 ? "" : "a goodbye with numbers";
  if (invitation->rank < 1 || invitation->rank >= invitation->ranks) return "a rank that there is not";
  if (invitation->helpers < 1 || invitation->rank < invitation->ranks - invitation->helpers) return "a rank that is no helper";
  if (invitation->streams != 1 && invitation->streams != choose::kServedStreams) return "a number of streams that no face asks for";
  if (std::find(invitation->meeting.begin(), invitation->meeting.end(), 0) == invitation->meeting.end()) return "an endless name";
  return {};
}

std::string read_as_status(std::string_view bytes) {
  const std::ptrdiff_t ids = engine::ids_in(bytes);
  return ids >= 0 && ids <= std::count(bytes.begin(), bytes.end(), '\t') ? "" : "ids that do not stand there";
}

std::string refusal_after(std::string_view bytes) {
  std::string why;
  const auto comm = Communicator::create(std::make_unique<Hostile>(bytes, 0, 0), nullptr, quick_settings(), why);
  return why;
}

std::string difference_from_words(std::string_view bytes) {
  std::string why;
  const auto comm = Communicator::create(std::make_unique<Hostile>(bytes, 0, kRoundsOfMaking), nullptr, quick_settings(), why);
  if (!comm) return why;
  Arguments arguments;
  arguments.collective = algorithms::Collective::barrier;
  return comm->compare(arguments, "nothing");
}

std::string compare_with_words(std::string_view bytes) {
  if (const std::string said = difference_from_words(bytes); !one_line(said)) return "other than letters: " + said;
  std::string why;
  const auto comm = Communicator::create(std::make_unique<Hostile>(bytes, 0, kRoundsOfMaking), nullptr, quick_settings(), why);
  if (!comm) return why;
  Arguments arguments;
  std::vector<Block> blocks(2, Block{8, 0});
  arguments.collective = algorithms::Collective::alltoall;
  arguments.ragged = true;
  arguments.element_bytes = 1;
  arguments.input_blocks = arguments.output_blocks = blocks.data();
  const std::string said = comm->compare(arguments, "");
  if (!one_line(said)) return "other than letters: " + said;
  return {};
}

std::string gather_on_boards(std::string_view bytes) {
  constexpr int kRanks = 3;
  std::vector<std::uint64_t> memory(board_bytes(kRanks) / 8 + 16);
  void* boards = memory.data();
  std::size_t room = memory.size() * 8;
  boards = std::align(64, board_bytes(kRanks), boards, room);
  std::memcpy(boards, bytes.data(), std::min(bytes.size(), board_bytes(kRanks)));
  const auto bootstrap = meet_in_memory(boards, 1, kRanks, Deadline::after(0));
  std::vector<std::byte> mine(1000), all(kRanks * mine.size());
  bool gathered = false;
  for (int round = 0; round < 2; ++round) gathered |= bootstrap->allgather(mine.data(), all.data(), mine.size());
  if (bytes.empty() && gathered) return "gathered from ranks that have said nothing";
  return {};
}

std::vector<std::string> hostile_seeds() {
  const auto bytes_of = [](const auto& value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  Invitation invitation;
  invitation.rank = 3, invitation.ranks = 4, invitation.helpers = 2;
  std::vector<std::string> seeds{bytes_of(make_hello(1, 4)),
                                 bytes_of(make_answer("")),
                                 bytes_of(make_answer("no")),
                                 bytes_of(invitation),
                                 "Groups:\t1 2\nNSpid:\t7\t1\nNSpgid:\t0\t0\n",
                                 ""};
  // Changes each eight bytes of a card, and of what follows it, to values that may do harm.
  for (const std::uint64_t word :
       {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0x7fffffff}, std::uint64_t{0x7ff8000000000001}})
    for (const char round : {0, 1, 2})
      for (std::size_t place = 0; place < std::min<std::size_t>(sizeof(Card), 192); place += 8)
        seeds.push_back(std::string{round, static_cast<char>(place >> 8), static_cast<char>(place), 7} + bytes_of(word));
  return seeds;
}

}  // namespace copse::test
