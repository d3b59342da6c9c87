// Starts a program's UPC threads, and waits until they have ended.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "communicator/card.hpp"
#include "communicator/flush.hpp"
#include "launch.hpp"
#include "meeting.hpp"
#include "topology/binding.hpp"

namespace copse::upc {
namespace {

using choose::Settings;

// In the barrier's plan, a thread posts one line and reads the others'. Copse tries no other ways in the barrier's calls, because
// these need more rounds.
Settings for_barrier(Settings settings) {
  std::string why;
  settings.forced = {choose::forced_in(algorithms::Collective::allgather, "flat:line", why).value()};
  settings.learn = choose::Learn::never;
  return settings;
}

// Binds as the MPI face does, by blocks of threads, so that what a thread touches first lies near it (NUMACol 3).
void bind(const Settings& settings, int thread, int threads) {
  try {
    const auto policy = topology::binding_policy_from(settings.bind, "COPSE_BIND");
    if (settings.topology.empty() && topology::needless_here(policy).empty())
      topology::bind_this_thread(communicator::this_machine(), policy, thread, threads);
  } catch (const std::exception&) {
    return;  // the program can run without it
  }
}

// Runs the program on one UPC thread. Returns its result.
int run_thread(const Segment& segment, const Settings& settings, const Program& program, int number) {
  Thread thread;
  thread.me = number;
  thread.threads = segment.threads();
  thread.check = settings.check;
  thread.segment = &segment;
  thread.barrier.all.resize(static_cast<std::size_t>(thread.threads));
  if (const auto here = static_cast<int>(segment.places().here().size()); here > 1)
    bind(settings, segment.places().among_node(number), here);
  thread.settings = &settings;
  std::string why_not;
  try {
    thread.progress = std::make_shared<communicator::Progress>();
    thread.stride = stride_of(thread);
    thread.data = meet(thread, {segment.boards(0), 0}, settings, why_not);
    if (thread.data) thread.barrier.among = meet(thread, {segment.boards(1), 1}, for_barrier(settings), why_not);
  } catch (const std::exception& error) {  // the other threads would wait for this one
    fail(thread, "the start of the UPC threads", error.what());
  }
  if (!thread.barrier.among) return number == 0 ? say(why_not) : 1;
  be(&thread);
  // An exception of the program ends it: there is nobody to catch it for all threads.
  const int status = [&]() noexcept { return program.run(program.argc, program.argv); }();
  if (thread.barrier.notified)
    fail(thread, "the end of the program", "comes between upc_notify and upc_wait; required: upc_wait first (6.6.1)");
  last_barrier();
  if (const std::string wrong = thread.data->save_lessons(); !wrong.empty()) say(wrong);
  be(nullptr);
  return status;
}

}  // namespace

int say(const std::string& why) {
  std::fprintf(stderr, "copse: %s\n", why.c_str());
  return 1;
}

void run_threads(const Segment& segment, const Settings& settings, const Program& program, Places::Run run) {
  const auto one = [&](int thread) { segment.status_of(thread).store(run_thread(segment, settings, program, thread)); };
  std::vector<std::thread> others;
  try {
    for (int thread = run.first + 1; thread < run.end; ++thread) others.emplace_back(one, thread);
  } catch (const std::exception& error) {  // those that were made wait for the others, and cannot be joined
    say("UPC thread " + std::to_string(run.first + 1 + static_cast<int>(others.size())) + " cannot be made: " + error.what() +
        "; set COPSE_UPC_THREADS to less, or raise the limit on processes (ulimit -u)");
    end_program(segment, 1);
  }
  cpu_set_t usable;
  const bool known = pthread_getaffinity_np(pthread_self(), sizeof usable, &usable) == 0;
  one(run.first);
  if (known) pthread_setaffinity_np(pthread_self(), sizeof usable, &usable);  // what the program does next may use them all
  for (std::thread& other : others) other.join();
}

int result_of(const Segment& segment, Places::Run run) {
  for (int thread = run.first; thread < run.end; ++thread)
    if (const auto status = static_cast<int>(segment.status_of(thread).load())) return status;
  return 0;
}

namespace {

// Sent to a process that must end, so that what it has printed is not lost.
const int kWriteOut = SIGRTMAX - 2;
void write_out_and_end(int) {
  std::fflush(nullptr);
  _exit(0);
}

// The program may ignore SIGCHLD. Then the system would tell nobody how a process ended.
class HearOfChildren {
 public:
  HearOfChildren() {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &before_);
  }
  ~HearOfChildren() { restore(); }
  HearOfChildren(const HearOfChildren&) = delete;
  HearOfChildren& operator=(const HearOfChildren&) = delete;
  void restore() const { sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_{};
};

// The processes of a program, as the process that has forked them sees them.
class Processes {
 public:
  explicit Processes(const Segment& segment) : segment_(segment) {}
  void add(pid_t pid, int first_thread) { running_.push_back({pid, first_thread}); }

  // Ends the processes that still run, because they might wait for a process that has ended. They have a second to write out their
  // streams.
  void kill_all() {
    for (const Running& one : running_) kill(one.pid, kWriteOut);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!running_.empty() && std::chrono::steady_clock::now() < end) {
      std::erase_if(running_, [](const Running& one) { return waitpid(one.pid, nullptr, WNOHANG) != 0; });
      if (!running_.empty()) std::this_thread::sleep_for(kNap);
    }
    for (const Running& one : running_) kill(one.pid, SIGKILL);
    for (const Running& one : running_) waitpid(one.pid, nullptr, 0);
    running_.clear();
  }

  // Waits until all processes have returned from the program. If a process ends in another way, for instance by exit(), the whole
  // program ends.
  void wait_all() {
    while (!running_.empty()) {
      const auto ended = std::find_if(running_.begin(), running_.end(), [this](const Running& one) { return has_ended(one); });
      if (ended == running_.end()) {
        std::this_thread::sleep_for(kNap);
        continue;
      }
      const Running one = *ended;
      running_.erase(ended);
      if (status_ != 0 || segment_.status_of(one.first_thread).load() == Segment::kRunning) end(one.pid);
    }
  }

 private:
  struct Running {
    pid_t pid;
    int first_thread;
  };
  static constexpr std::chrono::milliseconds kNap{2};

  bool has_ended(const Running& one) {
    const pid_t ended = waitpid(one.pid, &status_, WNOHANG);
    if (ended < 0) {  // other code in this process has already taken its status
      status_ = 0;
      if (segment_.status_of(one.first_thread).load() != Segment::kRunning) return true;
      say("process " + std::to_string(one.pid) +
          " of the UPC threads has ended, and nobody knows how; the others are ended as well");
      status_ = W_EXITCODE(1, 0);
    }
    return ended != 0;
  }
  [[noreturn]] void end(pid_t pid) {
    const int status = status_;
    int result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), expected = Ending::kNot;
    const bool first = segment_.ending().status.compare_exchange_strong(expected, result);
    if (!first) result = expected;
    if (first && WIFSIGNALED(status))
      say("process " + std::to_string(pid) + " of the UPC threads was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
          strsignal(WTERMSIG(status)) + "); the others are ended as well");
    kill_all();
    end_program(segment_, result);
  }

  const Segment& segment_;
  std::vector<Running> running_;
  int status_ = 0;  // of the process that has ended last
};

// Runs each process of the program in a fork of this one, which only waits for them.
int run_processes(Segment& segment, const Settings& settings, const Program& program) {
  Processes processes(segment);
  const HearOfChildren hear;
  std::fflush(nullptr);  // what is buffered now would be written by each of them
  const pid_t parent = getpid();
  const auto first_of = [&](int process) { return first_thread_of(settings.upc_threads, settings.upc_processes, process); };
  for (int process = 0; process < settings.upc_processes; ++process) {
    const pid_t pid = fork();
    if (pid < 0) {
      const int error = errno;
      processes.kill_all();
      return say("process " + std::to_string(process) + " of the UPC threads cannot be made: " + std::strerror(error) +
                 "; set COPSE_UPC_PROCESSES to less");
    }
    if (pid > 0) {
      processes.add(pid, first_of(process));
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    hear.restore();
    struct sigaction write_out{};
    write_out.sa_handler = write_out_and_end;
    sigaction(kWriteOut, &write_out, nullptr);
    if (!segment.map())
      _exit(say("a process of the UPC threads cannot map their shared memory: " + std::string(engine::memory_trouble(errno))));
    run_threads(segment, settings, program, {first_of(process), first_of(process + 1)});
    std::fflush(nullptr);
    _exit(0);
  }
  processes.wait_all();
  return 0;
}

int run_all(const Program& program) {
  if (self() != nullptr) return say("copse_upc_run: called by a UPC thread; required: one call, outside of UPC threads");
  std::string why;
  const auto settings = choose::read_settings(environ, why);
  if (!settings) return say(why);
  if (const auto result = run_under_mpi(*settings, program)) return *result;
  if (why = communicator::file_mistake(*settings); !why.empty()) return say(why);
  if (settings->upc_processes > settings->upc_threads)
    return say("COPSE_UPC_PROCESSES is " + std::to_string(settings->upc_processes) +
               "; required: at most COPSE_UPC_THREADS, which is " + std::to_string(settings->upc_threads));
  const Places places(settings->upc_threads);
  const auto segment = Segment::make(places, settings->upc_heap == 0 ? Segment::most_half(places) : settings->upc_heap, why);
  if (!segment) return say(why);
  if (settings->upc_processes == 1) {
    run_threads(*segment, *settings, program, places.of_this_process());
  } else if (const int failed = run_processes(*segment, *settings, program)) {
    return failed;
  }
  return result_of(*segment, places.of_this_process());
}

}  // namespace
}  // namespace copse::upc

extern "C" {

int copse_upc_run(int argc, char** argv, copse_upc_program program) {
  try {
    return copse::upc::run_all({argc, argv, program});
  } catch (const std::exception& error) {
    return copse::upc::say(error.what());
  }
}

int copse_upc_threads(void) { return copse::upc::self() == nullptr ? 1 : copse::upc::self()->threads; }
int copse_upc_mythread(void) { return copse::upc::self() == nullptr ? 0 : copse::upc::self()->me; }

void upc_global_exit(int status) {
  const copse::upc::Thread& thread = copse::upc::here("upc_global_exit");
  copse::communicator::flush_streams();
  copse::upc::end_program(*thread.segment, status);
}

}  // extern "C"
