// The text form of plans.
#include <sstream>

#include "plan/plan.hpp"

namespace copse::plan {
namespace {

void write_range(std::ostream& out, const Range& range) {
  if (range.of == 1) return;
  out << '{' << range.first;
  if (range.count != 1) out << ".." << (range.first + range.count - 1) % range.of;
  out << '/' << range.of << '}';
}

void write_operand(std::ostream& out, const Operand& operand) {
  const int area = operand.area;
  switch (operand.space) {
    case Space::none: out << "nothing"; return;
    case Space::input: out << "input"; break;
    case Space::output: out << "output"; break;
    case Space::scratch: out << "scratch." << area; break;
    case Space::line: out << "line " << operand.rank << '.' << area; break;
    case Space::slot: out << "slot " << operand.rank << '.' << area; break;
    case Space::peer_input: out << "input of " << operand.rank; break;
    case Space::peer_output: out << "output of " << operand.rank; break;
    case Space::peer_scratch: out << "scratch." << area << " of " << operand.rank; break;
    case Space::ride: out << "ride " << operand.rank; break;
  }
  write_range(out, operand.range);
  if (operand.origin != 0 && operand.origin != operand.range.first) out << " from " << operand.origin;
}

void write_delegation(std::ostream& out, const Plan& plan, const Step& step) {
  out << (step.kind == Kind::delegate ? "delegate " : "collect ") << name_of(delegation_of(step, plan.rank));
  if (step.dst.space != Space::none) {
    out << ' ';
    write_operand(out, step.dst);
  }
  if (step.a.space != Space::none) {
    out << (step.dst.space != Space::none ? " = " : " ");
    write_operand(out, step.a);
  }
  out << " among";
  for (const int member : plan.peers_of(step)) out << ' ' << member;
  if (step.peer >= 0) out << " root " << step.peer;
  out << " tag " << int{step.area};
}

}  // namespace

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
  if (when == When::always) return {};
  const std::string what = whose == kEveryone ? "all ride" : std::to_string(whose) + " rides";
  return (when == When::rides ? " if " : " unless ") + what;
}

std::string to_text(const Plan& plan, const Step& step) {
  std::ostringstream out;
  const int area = step.area;
  const std::string portion = step.portion > 0 ? " portion " + std::to_string(step.portion) : "";
  switch (step.kind) {
    case Kind::acquire:
      out << "acquire "
          << (step.dst.space == Space::slot   ? "slot "
              : step.dst.space == Space::ride ? "ride "
                                              : "line ")
          << area << " from";
      for (int peer : plan.peers_of(step)) out << ' ' << peer;
      break;
    case Kind::post: out << "post " << area << portion; break;
    case Kind::publish: out << "publish " << area; break;
    case Kind::await: out << "await " << step.peer << '.' << area << portion; break;
    case Kind::copy:
      out << "copy ";
      write_operand(out, step.dst);
      out << " = ";
      write_operand(out, step.a);
      break;
    case Kind::reduce:
      out << "reduce ";
      write_operand(out, step.dst);
      if (step.dst2.space != Space::none) {
        out << ", ";
        write_operand(out, step.dst2);
      }
      out << " = ";
      write_operand(out, step.a);
      out << " op ";
      write_operand(out, step.b);
      break;
    case Kind::done: out << "done"; break;
    case Kind::await_done: out << "await_done " << step.peer; break;
    case Kind::send:
      out << "send ";
      write_operand(out, step.a);
      out << " to " << step.peer << " tag " << area << portion;
      break;
    case Kind::expect:
    case Kind::receive:
      out << (step.kind == Kind::expect ? "expect " : "receive ");
      write_operand(out, step.dst);
      out << " from " << step.peer << " tag " << area << portion;
      break;
    case Kind::drain: out << "drain " << area; break;
    case Kind::delegate:
    case Kind::collect: write_delegation(out, plan, step); break;
  }
  out << condition_text(step.when, step.whose);
  if (step.last) out << " last";
  if (step.more) out << " more";
  if (step.lag > 0) out << " lag " << int{step.lag};
  return out.str();
}

std::string to_text(const Plan& plan) {
  std::ostringstream out;
  out << "plan rank " << plan.rank << " of " << plan.ranks << " areas " << int{plan.areas} << " scratches " << int{plan.scratches}
      << (plan.one_fragment ? " one-fragment" : "") << (plan.slots ? " slots" : "") << (plan.whole_scratch ? " whole-scratch" : "")
      << (plan.together ? " together" : "");
  if (plan.pack > 1) out << " pack " << plan.pack;
  if (plan.scratch_depth > 1) out << " scratch-depth " << int{plan.scratch_depth};
  out << '\n';
  for (const Section& section : plan.sections) {
    out << (section.loop ? "loop" : "once");
    if (section.turns != Turns::all) out << (section.turns == Turns::last ? " last" : " but last");
    if (section.max_lag > 0) out << " lag " << int{section.max_lag};
    out << '\n';
    for (std::uint32_t i = 0; i < section.count; ++i) out << "  " << to_text(plan, plan.steps[section.first + i]) << '\n';
  }
  return out.str();
}

}  // namespace copse::plan
