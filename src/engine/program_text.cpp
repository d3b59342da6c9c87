// The text form of programs. It shows what a plan has become on one communicator, with every special case for speed.
#include <cstdint>
#include <sstream>
#include <utility>

#include "engine/loops.hpp"
#include "engine/program.hpp"

namespace copse::engine {
namespace {

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program), pairs_(program.contents.input == plan::Extent::row) {}

  std::string all() {
    write_program();
    write_loops();
    for (const Program::Section& section : program_.sections) {
      out_ << (section.loop ? "loop" : "once");
      if (section.fragments != plan::LoopFragments::all)
        out_ << (section.fragments == plan::LoopFragments::last ? " last" : " but last");
      if (section.max_lag > 0) out_ << " lag " << int{section.max_lag};
      out_ << '\n';
      for (const Op& op : section.ops) write(op);
    }
    return out_.str();
  }

 private:
  void write_program();
  void write_loops();
  void write(const Ref& ref, std::uint32_t blocks);
  void write(const Op& op);
  void write_operands(const Op& op);
  void write_message(const Op& op);
  void write_delegation(const Op& op);
  void write_flags(const Op& op);

  const Program& program_;
  bool pairs_;  // the blocks belong to pairs of ranks
  std::ostringstream out_;
};

void Writer::write_program() {
  out_ << "program of " << program_.ranks << " ranks" << plan::contents_text(program_.contents) << ", scratches "
       << program_.scratches << " of " << program_.scratch_blocks << ", pack " << program_.pack;
  if (program_.scratch_depth > 1) out_ << ", scratch depth " << int{program_.scratch_depth};
  out_ << (program_.scratch_whole ? ", whole scratch" : "") << (program_.scratch_shared ? ", shared scratch" : "")
       << (program_.slots ? ", slots" : "") << (program_.one_fragment ? ", one fragment" : "")
       << (program_.placed ? ", placed" : "") << (program_.together ? ", together" : "")
       << (program_.publishes ? ", publishes" : "");
  const char* before = ", rides: ";
  for (const Program::Ridden& each : program_.rides) {
    out_ << std::exchange(before, ", ");
    write(each.part, each.blocks);
  }
  out_ << '\n';
}

// Says which loop runs calls of this program, by asking the executor's rule about calls that differ in one thing each.
void Writer::write_loops() {
  out_ << "run_whole";
  const char* before = ", but run_steps for ";
  const auto ask = [&](const Call& call, std::size_t stream_from, bool heap_only) {
    const char* const why = why_by_steps(program_, call, stream_from, heap_only);
    if (why != nullptr) out_ << std::exchange(before, ", ") << why;
  };
  const bool empty = program_.contents.input == plan::Extent::none && program_.contents.output == plan::Extent::none;
  Call call;
  call.count = empty ? 0 : 1;
  ask(call, SIZE_MAX, true);
  Call other = call;
  other.count = 2;
  other.fragment_count = 1;
  if (!program_.one_fragment) ask(other, SIZE_MAX, false);
  other = call;
  const Combine users;
  other.combine = &users;
  if (!empty) ask(other, SIZE_MAX, false);
  ask(call, 1, false);
  out_ << '\n';
}

// Writes an operand as a plan does. For blocks, it adds [place and number of further ones], with the number of the buffer's places
// if it has an end, and where the size of a pair's block is found.
void Writer::write(const Ref& ref, std::uint32_t blocks) {
  if (ref.whole && ref.space == plan::Space::scratch) out_ << "whole ";
  out_ << plan::to_text(plan::Operand{ref.space, ref.area, ref.rank, ref.range});
  if (blocks == 0) return;
  out_ << '[' << ref.place;
  if (blocks > 1) out_ << " and " << blocks - 1;
  if (ref.places > 0) out_ << " of " << ref.places;
  const auto ranks = static_cast<std::uint32_t>(program_.ranks);
  if (pairs_) out_ << (ref.pair < ranks ? ", sent " : ", got ") << ref.pair % ranks;
  out_ << ']';
}

void Writer::write_operands(const Op& op) {
  out_ << ' ';
  write(op.dst, op.blocks);
  if (op.dst2.space != plan::Space::none) {
    out_ << ", ";
    write(op.dst2, op.blocks);
  }
  out_ << " = ";
  write(op.a, op.blocks);
  if (op.b.space == plan::Space::none) return;
  out_ << " op ";
  write(op.b, op.blocks);
}

void Writer::write_message(const Op& op) {
  out_ << (op.kind == plan::Kind::send ? " to " : " from ") << op.peer << " tag " << int{op.area} << " message "
       << op.message_number;
  const char* before = ": ";
  const auto part = [&](const Ref& ref, std::uint32_t blocks) {
    out_ << std::exchange(before, ", ");
    write(ref, blocks);
  };
  if (op.kind == plan::Kind::receive && op.dst.space != plan::Space::none) part(op.dst, op.blocks);
  for (const WirePart& each : op.message) part(each.where, each.blocks);
  if (op.begins) out_ << "; begins";
}

void Writer::write_delegation(const Op& op) {
  out_ << ' ' << plan::name_of(op.delegation);
  const char* before = " ";
  for (const Ref* ref : {&op.dst, &op.a}) {
    if (ref->space == plan::Space::none) continue;
    out_ << std::exchange(before, " = ");
    write(*ref, 0);
  }
  if (op.peer >= 0) out_ << " root " << op.peer;
  out_ << " tag " << int{op.area};
}

void Writer::write_flags(const Op& op) {
  out_ << plan::condition_text(op.when, op.whose);
  if (op.portion > 0) out_ << " portion " << op.portion;
  if (op.posts) out_ << "; and posts";
  if (op.publication) out_ << "; takes addresses";
  const bool moves = op.kind == plan::Kind::copy || op.kind == plan::Kind::reduce;
  if (moves && op.plain) out_ << "; plain";
  if (moves && op.block) out_ << "; block";
  if (moves && op.leaves) out_ << "; leaves";
  if (op.last) out_ << "; last";
  if (op.lag > 0) out_ << "; lag " << int{op.lag};
}

void Writer::write(const Op& op) {
  out_ << "  " << plan::name_of(op.kind);
  switch (op.kind) {
    case plan::Kind::acquire:
      out_ << ' ';
      write(op.dst, 0);
      out_ << " from";
      for (const std::int32_t local : op.locals) out_ << ' ' << local;
      break;
    case plan::Kind::post:
    case plan::Kind::publish: out_ << ' ' << int{op.area}; break;
    case plan::Kind::await: out_ << ' ' << op.peer << '.' << int{op.area}; break;
    case plan::Kind::await_done: out_ << ' ' << op.peer; break;
    case plan::Kind::copy:
    case plan::Kind::reduce: write_operands(op); break;
    case plan::Kind::send:
    case plan::Kind::expect:
    case plan::Kind::receive: write_message(op); break;
    case plan::Kind::drain:
    case plan::Kind::collect: out_ << ' ' << int{op.area}; break;
    case plan::Kind::delegate: write_delegation(op); break;
    case plan::Kind::done: break;
  }
  write_flags(op);
  out_ << '\n';
}

}  // namespace

std::string to_text(const Program& program) { return Writer(program).all(); }

}  // namespace copse::engine
