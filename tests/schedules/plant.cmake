# Copies a source with planted faults: cmake -DSOURCE=.. -DTARGET=.. -P plant.cmake. Each fault is dormant until a test
# names it (planted.hpp). If the source no longer has a text, the build ends, and the fault must be planted anew.
file(READ ${SOURCE} text)
get_filename_component(name ${SOURCE} NAME)

function(plant file fault old new)
  if(NOT file STREQUAL name)
    return()
  endif()
  string(FIND "${text}" "${old}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${SOURCE} has changed: '${fault}' can no longer be planted where it says: ${old}\n"
                        "Plant it anew in tests/schedules/plant.cmake.")
  endif()
  string(REPLACE "PLANTED" "copse::schedules::planted(\"${fault}\")" new "${new}")
  string(REPLACE "${old}" "${new}" text "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

plant(executor.cpp "addresses posted before they are written"
  "  operands_.publish(call, op.ring[ticket & signals_.mask()].payload)"
  "  if (PLANTED) signals_.post(op.ring, ticket, 0);\n  operands_.publish(call, op.ring[ticket & signals_.mask()].payload)")
plant(signals.cpp "a ring acquired a ticket early"
  "const std::uint64_t previous = ticket - depth" "const std::uint64_t previous = ticket - depth - (PLANTED ? 1 : 0)")
plant(signals.cpp "only the first rank is waited for before memory of an earlier call is written"
  "if (rank == here_.me) continue" "if (rank == here_.me || (PLANTED && rank > 0)) continue")
plant(signals.cpp "the news of an end before the word"
  "return came || ready() ?" "return came || (!PLANTED && ready()) ?")
plant(signals.cpp "the news of an end before the word"
  "return news == Outcome::done || ready()"
  "return news == Outcome::done || (!PLANTED && ready())")
plant(executor.cpp "progress posted before the last fragment is read"
  "op.ring->pass(loop ? fragment.ticket : last())"
  "op.ring->pass((loop ? fragment.ticket : last()) + (PLANTED ? 1 : 0))")

plant(refusals.cpp "a call left while others are in it" "outcome = wait(std::ref(out), rank)" "if (!PLANTED) outcome = wait(std::ref(out), rank)")
plant(refusals.cpp "the next call begun while others are in the refused one" "(last != 0 && last >= number - 1)"
  "PLANTED || (last != 0 && last >= number - 1)")
plant(refusals.cpp "the ticket of whoever refused first" "last != 0 && first > latest" "last != 0 && (PLANTED ? latest == 0 || first < latest : first > latest)")
plant(refusals.cpp "a refusal taken back before the next call is noted"
  "  return Outcome::done;\n"
  "  if (PLANTED) mine.last.store(0, std::memory_order_release);\n  return Outcome::done;\n")
plant(refusals.cpp "a refusal that covers what comes behind it" "is_of(number_)) return" "is_of(number_ - (PLANTED ? 1 : 0))) return")
plant(refusals.cpp "a call left without posting progress" ".pass(last);" ".pass(PLANTED ? last - 1 : last);")

plant(progress.cpp "a turn given back before the list is right"
  "changes = task.under_way() == over" "changes = task.under_way() == over; if (PLANTED) give_back(task)")
plant(progress.cpp "nobody is woken for what is new"
  "if (helped()) Mover::here().wake();"
  "if (helped() && !PLANTED) Mover::here().wake();")
plant(progress.cpp "nobody is roused for what is new"
  "else if (watched()) Mover::here().rouse();"
  "else if (watched() && !PLANTED) Mover::here().rouse();")
plant(progress.cpp "removed without waiting for the turn" "  take(task);\n}\n\nbool Progress::join_mover"
  "  if (!PLANTED) take(task);\n}\n\nbool Progress::join_mover")
plant(progress.cpp "over, and left in the list"
  "        std::erase(tasks_, &task);\n      } else"
  "        if (!PLANTED) std::erase(tasks_, &task);\n      } else")
plant(mover.cpp "woken without the lock"
  "while (rest_.load() >= least) {"
  "while (rest_.load() >= least) {\n    if (PLANTED) return wanted_.notify_all();")
plant(mover.cpp "asleep only once it has looked"
  "    rest_.store(Rest::sleeps);\n    bool woken = true;\n    const bool helps = any(&Client::helped);"
  "    const bool some = any(&Client::helped);\n    rest_.store(Rest::sleeps);\n    bool woken = true;\n    const bool helps = PLANTED ? some : any(&Client::helped);")

plant(shared_bootstrap.cpp "a round read before all have posted"
  "if (!wait_all(&Board::posted, round_)) break"
  "if (!PLANTED && !wait_all(&Board::posted, round_)) break")
plant(shared_bootstrap.cpp "a round written before all have read the last"
  "if (!wait_all(&Board::read, round_ - 1)) break"
  "if (!PLANTED && !wait_all(&Board::read, round_ - 1)) break")
plant(shared_bootstrap.cpp "posted before it is written" "std::memcpy(board.pinned,"
  "if (PLANTED) board.posted.store(round_, std::memory_order_release);\n      std::memcpy(board.pinned,")
plant(shared_bootstrap.cpp "gone before its word is looked at again" "broken_ = !seen && !there();"
  "broken_ = !seen && (PLANTED || !there());")

plant(rides.cpp "a block taken from the place of the next one in its ride"
  "const std::size_t place = ref.place + number" "const std::size_t place = ref.place + number + (PLANTED ? 1 : 0)")
plant(rides.cpp "a block that ends where it begins in its ride"
  "end_of(table, place + 1)" "end_of(table, place + (PLANTED ? 0 : 1))")
plant(rides.cpp "the ends of blocks written one place late"
  "table + (op.dst.place + i) * sizeof end" "table + (op.dst.place + i + (PLANTED ? 1 : 0)) * sizeof end")
plant(operands.cpp "a value that does not ride, not counted"
  "stayed_ += theirs.ride == Addresses::kStays" "stayed_ += !PLANTED && theirs.ride == Addresses::kStays")
plant(jobs.cpp "all sizes taken from one letter" "executor_->told_by(other)" "executor_->told_by(PLANTED ? 0 : other)")

plant(lanes.cpp "a lane free before all have given it back" "mine[i % bytes] &= all[i]"
  "if (!PLANTED) mine[i % bytes] &= all[i]")

file(WRITE ${TARGET} "#include \"planted.hpp\"\n#line 1 \"${SOURCE}\"\n${text}")
