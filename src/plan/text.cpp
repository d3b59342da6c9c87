// The text form of plans.
#include <sstream>
#include <utility>

#include "plan/plan.hpp"

namespace copse::plan {
namespace {

const char* name_of(Extent extent) {
  switch (extent) {
    case Extent::none: return "none";
    case Extent::message: return "message";
    case Extent::own: return "own";
    case Extent::all: return "all";
    case Extent::row: return "row";
    case Extent::column: return "column";
  }
  return "?";
}

// Writes which chunks they are, and with which chunk the line, slot or scratch begins. Numbers go on behind the last chunk, where
// the first one follows.
void write_chunks(std::ostream& out, const Range& range, std::uint32_t origin) {
  if (range == Range{} && origin == 0) return;
  out << '{' << range.first;
  if (range.count != 1) out << ".." << range.first + range.count - 1;
  out << '/' << range.of;
  if (origin != 0) out << " from " << origin;
  out << '}';
}

void write_operand(std::ostream& out, const Operand& operand) {
  const Space space = operand.space;
  const int area = operand.area, rank = operand.rank;
  switch (space) {
    case Space::none: out << "nothing"; break;
    case Space::input: out << "input"; break;
    case Space::output: out << "output"; break;
    case Space::scratch: out << "scratch." << area; break;
    case Space::line: out << "line " << rank << '.' << area; break;
    case Space::slot: out << "slot " << rank << '.' << area; break;
    case Space::peer_input: out << "input of " << rank; break;
    case Space::peer_output: out << "output of " << rank; break;
    case Space::peer_scratch: out << "scratch." << area << " of " << rank; break;
    case Space::ride: out << "ride " << rank; break;
  }
  write_chunks(out, operand.range, operand.origin);
  // What is left has one value in every right plan.
  const bool unnamed = space == Space::none || space == Space::input || space == Space::output;
  const bool published = space == Space::peer_input || space == Space::peer_output || space == Space::ride;
  if ((unnamed && area != 0) || (published && area != kPublishArea)) out << " area " << area;
  if ((unnamed || space == Space::scratch) && rank != -1) out << " rank " << rank;
}

// Writes the fields that any step may have, and those that no right step of its kind has.
void write_rest(std::ostream& out, const Plan& plan, const Step& rest) {
  if (rest.area != 0) out << " area " << int{rest.area};
  if (rest.peer != -1) out << " peer " << rest.peer;
  const std::pair<const char*, const Operand&> operands[] = {
      {" dst ", rest.dst}, {" dst2 ", rest.dst2}, {" a ", rest.a}, {" b ", rest.b}};
  for (const auto& [name, operand] : operands) {
    if (operand == Operand{}) continue;
    out << name;
    write_operand(out, operand);
  }
  if (rest.peers_count > 0) out << " peers";
  for (const std::int32_t peer : plan.peers_of(rest)) out << ' ' << peer;
  if (rest.portion > 0) out << " portion " << rest.portion;
  out << condition_text(rest.when, rest.whose) << (rest.last ? " last" : "") << (rest.more ? " more" : "");
  if (rest.lag > 0) out << " lag " << int{rest.lag};
}

void write_step(std::ostream& out, const Plan& plan, const Step& step) {
  Step rest = step;  // the fields that are not written yet
  const auto area = [&rest] { return int{std::exchange(rest.area, std::uint8_t{0})}; };
  const auto peer = [&rest] { return std::exchange(rest.peer, -1); };
  const auto operand = [&out](const char* before, Operand& which) {
    out << before;
    write_operand(out, std::exchange(which, {}));
  };
  const auto peers = [&](const char* before) {
    out << before;
    for (const std::int32_t each : plan.peers_of(step)) out << ' ' << each;
    rest.peers_count = 0;
  };
  out << name_of(step.kind);
  switch (step.kind) {
    case Kind::acquire:
      operand(" ", rest.dst);
      if (area() != step.dst.area) out << " area " << int{step.area};
      peers(" from");
      break;
    case Kind::post:
    case Kind::publish:
    case Kind::drain: out << ' ' << area(); break;
    case Kind::await: out << ' ' << peer() << '.' << area(); break;
    case Kind::copy:
      operand(" ", rest.dst);
      operand(" = ", rest.a);
      break;
    case Kind::reduce:
      operand(" ", rest.dst);
      if (step.dst2.space != Space::none) operand(", ", rest.dst2);
      operand(" = ", rest.a);
      operand(" op ", rest.b);
      break;
    case Kind::done: break;
    case Kind::await_done: out << ' ' << peer(); break;
    case Kind::send:
    case Kind::expect:
    case Kind::receive:
      operand(" ", step.kind == Kind::send ? rest.a : rest.dst);
      out << (step.kind == Kind::send ? " to " : " from ") << peer() << " tag " << area();
      break;
    case Kind::delegate:
    case Kind::collect:
      out << ' ' << name_of(delegation_of(step, plan.rank));
      if (step.dst.space != Space::none) operand(" ", rest.dst);
      if (step.a.space != Space::none) operand(step.dst.space != Space::none ? " = " : " ", rest.a);
      peers(" among");
      if (step.peer >= 0) out << " root " << peer();
      out << " tag " << area();
      break;
  }
  write_rest(out, plan, rest);
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::acquire: return "acquire";
    case Kind::post: return "post";
    case Kind::publish: return "publish";
    case Kind::await: return "await";
    case Kind::copy: return "copy";
    case Kind::reduce: return "reduce";
    case Kind::done: return "done";
    case Kind::await_done: return "await_done";
    case Kind::send: return "send";
    case Kind::expect: return "expect";
    case Kind::receive: return "receive";
    case Kind::drain: return "drain";
    case Kind::delegate: return "delegate";
    case Kind::collect: return "collect";
  }
  return "?";
}

const char* name_of(Delegation delegation) {
  switch (delegation) {
    case Delegation::barrier: return "barrier";
    case Delegation::broadcast: return "broadcast";
    case Delegation::reduce: return "reduce";
    case Delegation::allreduce: return "allreduce";
  }
  return "?";
}

std::string condition_text(When when, std::int32_t whose) {
  if (when == When::always) return whose == -1 ? std::string() : " whose " + std::to_string(whose);
  const std::string what = whose == kEveryone ? "all ride" : std::to_string(whose) + " rides";
  return (when == When::rides ? " if " : " unless ") + what;
}

std::string contents_text(const Contents& contents) {
  if (contents == Contents{}) return {};
  const std::string held = std::string(" ") + name_of(contents.input) + " to " + name_of(contents.output);
  return contents.blocks == 0 ? held : held + " of " + std::to_string(contents.blocks) + " blocks";
}

std::string to_text(const Operand& operand) {
  std::ostringstream out;
  write_operand(out, operand);
  return out.str();
}

std::string to_text(const Plan& plan, const Step& step) {
  std::ostringstream out;
  write_step(out, plan, step);
  return out.str();
}

std::string to_text(const Plan& plan) {
  std::ostringstream out;
  out << "plan rank " << plan.rank << " of " << plan.ranks << " areas " << int{plan.areas} << " scratches " << int{plan.scratches}
      << (plan.one_fragment ? " one-fragment" : "") << (plan.slots ? " slots" : "") << (plan.whole_scratch ? " whole-scratch" : "")
      << (plan.together ? " together" : "") << (plan.placed ? " placed" : "");
  if (plan.pack != 1) out << " pack " << plan.pack;
  if (plan.scratch_depth != 1) out << " scratch-depth " << int{plan.scratch_depth};
  out << contents_text(plan.contents) << '\n';
  for (const Section& section : plan.sections) {
    out << (section.loop ? "loop" : "once");
    if (section.fragments != LoopFragments::all) out << (section.fragments == LoopFragments::last ? " last" : " but last");
    if (section.max_lag > 0) out << " lag " << int{section.max_lag};
    out << '\n';
    for (std::uint32_t i = 0; i < section.count; ++i) {
      out << "  ";
      write_step(out, plan, plan.steps[section.first + i]);
      out << '\n';
    }
  }
  return out.str();
}

}  // namespace copse::plan
