// The text form of programs. It shows what a plan has become on one communicator, with every special case for speed.
#include <sstream>

#include "engine/program.hpp"

namespace copse::engine {
namespace {

const char* name_of(plan::Space space) {
  switch (space) {
    case plan::Space::none: return "nothing";
    case plan::Space::input: return "input";
    case plan::Space::output: return "output";
    case plan::Space::scratch: return "scratch";
    case plan::Space::line: return "line";
    case plan::Space::slot: return "slot";
    case plan::Space::peer_input: return "input of";
    case plan::Space::peer_output: return "output of";
    case plan::Space::peer_scratch: return "scratch of";
    case plan::Space::ride: return "ride";
  }
  return "?";
}

const char* name_of(plan::Kind kind) {
  switch (kind) {
    case plan::Kind::acquire: return "acquire";
    case plan::Kind::post: return "post";
    case plan::Kind::publish: return "publish";
    case plan::Kind::await: return "await";
    case plan::Kind::copy: return "copy";
    case plan::Kind::reduce: return "reduce";
    case plan::Kind::done: return "done";
    case plan::Kind::await_done: return "await_done";
    case plan::Kind::send: return "send";
    case plan::Kind::expect: return "expect";
    case plan::Kind::receive: return "receive";
    case plan::Kind::drain: return "drain";
    case plan::Kind::delegate: return "delegate";
    case plan::Kind::collect: return "collect";
  }
  return "?";
}

// Writes a part of a message as {first..last/parts}, and blocks as [place and number of further ones], with the number of the
// buffer's places if it has an end.
void write(std::ostream& out, const Ref& ref, std::uint32_t blocks) {
  out << name_of(ref.space);
  if (ref.rank >= 0) out << ' ' << ref.rank;
  if (ref.space == plan::Space::line || ref.space == plan::Space::slot || ref.space == plan::Space::scratch) out << '.' << ref.area;
  if (blocks > 0) {
    out << '[' << ref.place;
    if (blocks > 1) out << " and " << blocks - 1;
    if (ref.places > 0) out << " of " << ref.places;
    out << ']';
  } else if (ref.range.of != 1) {
    out << '{' << ref.range.first;
    if (ref.range.count != 1) out << ".." << ref.range.first + ref.range.count - 1;
    out << '/' << ref.range.of << '}';
  }
}

void write_operands(std::ostream& out, const Op& op) {
  out << ' ';
  write(out, op.dst, op.blocks);
  if (op.dst2.space != plan::Space::none) {
    out << ", ";
    write(out, op.dst2, op.blocks);
  }
  out << " = ";
  write(out, op.a, op.blocks);
  if (op.b.space == plan::Space::none) return;
  out << " op ";
  write(out, op.b, op.blocks);
}

void write_message(std::ostream& out, const Op& op) {
  out << (op.kind == plan::Kind::send ? " to " : " from ") << op.peer << " area " << int{op.area} << " message "
      << op.message_number;
  if (op.kind == plan::Kind::receive && op.dst.space != plan::Space::none) {
    out << ", to ";
    write(out, op.dst, op.blocks);
  }
  for (const WirePart& part : op.message) {
    out << " (";
    write(out, part.where, part.blocks);
    out << ')';
  }
}

void write_delegation(std::ostream& out, const Op& op) {
  out << ' ' << plan::name_of(op.delegation) << ' ' << int{op.area};
  if (op.peer >= 0) out << " root " << op.peer;
  for (const Ref* ref : {&op.dst, &op.a}) {
    if (ref->space == plan::Space::none) continue;
    out << (ref == &op.dst ? " to " : " from ");
    write(out, *ref, 0);
  }
}

void write_flags(std::ostream& out, const Op& op) {
  out << plan::condition_text(op.when, op.whose);
  if (op.portion > 0) out << " portion " << op.portion;
  if (op.posts) out << "; and posts";
  if (op.publication) out << "; takes addresses";
  const bool moves = op.kind == plan::Kind::copy || op.kind == plan::Kind::reduce;
  if (moves && op.plain) out << "; plain";
  if (moves && op.block) out << "; block";
  if (moves && op.leaves) out << "; leaves";
  if (op.last) out << "; last";
  if (op.lag > 0) out << "; lag " << int{op.lag};
}

void write(std::ostream& out, const Op& op) {
  out << "  " << name_of(op.kind);
  switch (op.kind) {
    case plan::Kind::acquire:
      out << (op.slot ? " slot " : op.ride ? " ride " : " line ") << int{op.area} << " from";
      for (const std::int32_t local : op.locals) out << ' ' << local;
      break;
    case plan::Kind::post:
    case plan::Kind::publish: out << ' ' << int{op.area}; break;
    case plan::Kind::await: out << ' ' << op.peer << '.' << int{op.area}; break;
    case plan::Kind::await_done: out << ' ' << op.peer; break;
    case plan::Kind::copy:
    case plan::Kind::reduce: write_operands(out, op); break;
    case plan::Kind::send:
    case plan::Kind::expect:
    case plan::Kind::receive: write_message(out, op); break;
    case plan::Kind::drain:
    case plan::Kind::collect: out << ' ' << int{op.area}; break;
    case plan::Kind::delegate: write_delegation(out, op); break;
    case plan::Kind::done: break;
  }
  write_flags(out, op);
  out << '\n';
}

}  // namespace

std::string to_text(const Program& program) {
  std::ostringstream out;
  out << "program of " << program.ranks << " ranks, scratches " << program.scratches << " of " << program.scratch_blocks
      << ", pack " << program.pack
      << (program.scratch_depth > 1 ? ", scratch depth " + std::to_string(program.scratch_depth) : std::string())
      << (program.scratch_whole ? ", whole scratch" : "") << (program.slots ? ", slots" : "")
      << (program.one_fragment ? ", one fragment" : "") << (program.together ? ", together" : "")
      << (program.publishes ? ", publishes" : "");
  for (const Program::Ridden& each : program.rides) {
    out << (&each == program.rides.data() ? ", rides: " : ", ");
    write(out, each.part, each.blocks);
  }
  out << '\n';
  for (const Program::Section& section : program.sections) {
    out << (section.loop ? "loop" : "once");
    if (section.turns != plan::Turns::all) out << (section.turns == plan::Turns::last ? " last" : " but last");
    if (section.max_lag > 0) out << " lag " << int{section.max_lag};
    out << '\n';
    for (const Op& op : section.ops) write(out, op);
  }
  return out.str();
}

}  // namespace copse::engine
