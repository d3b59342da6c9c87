// Sessions of a program that does not have all ranks (MPI-4.1 11.3). A session knows nothing of MPI_COMM_WORLD, in which helpers
// are found. So this library initialises the world model when the program opens its first session, and the program does not notice.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <vector>

#include "world_library.hpp"

namespace copse::mpi {
namespace {

// Never destroyed: a program may call MPI late (session.hpp). The MPI asks its own MPI_Initialized while a thread has the mutex.
struct Model {
  std::recursive_mutex mutex;
  bool is_hidden = false;  // this library has initialised the world model, not the program
  bool begun = false, over = false;  // what the program would have done to it
  int sessions = 0;  // that are open
  pid_t process = -1;  // that has initialised it
};
auto& model = *new Model;

constinit Behind initialized("MPI_Initialized"), finalized("MPI_Finalized"), init_thread("MPI_Init_thread"),
    query_thread("MPI_Query_thread"), finalize("MPI_Finalize"), group_of_set("MPI_Group_from_session_pset"),
    group_incl("MPI_Group_incl"), group_size("MPI_Group_size"), group_translate("MPI_Group_translate_ranks"),
    group_free("MPI_Group_free"), info_set("MPI_Info_set");

bool tells(Behind& question, const void* caller) {
  int flag = 0;
  return call(question, caller, &flag) == MPI_SUCCESS && flag != 0;
}

// The helpers end when the program does: until then, it may open more sessions, or initialise the world model itself. A program
// that ends in the middle of MPI ends as it would without this library. A forked child has nothing to finalise.
void finalise_at_the_end() {
  const bool in_the_middle = model.sessions > 0 || model.begun != model.over;
  if (!in_the_middle && model.process == getpid() && !tells(finalized, nullptr)) call(finalize, nullptr);
}

// A rank that becomes a helper does not return from this.
void initialise_in_secret(const void* caller) {
  const std::lock_guard lock(model.mutex);
  if (model.is_hidden || world_view() == nullptr || tells(initialized, caller) || tells(finalized, caller)) return;
  int provided = 0;
  model.is_hidden = call(init_thread, caller, static_cast<int*>(nullptr), static_cast<char***>(nullptr), MPI_THREAD_MULTIPLE,
                         &provided) == MPI_SUCCESS;
  if (!model.is_hidden) return;
  model.process = getpid();
  std::atexit(finalise_at_the_end);
}

int open_session(Behind& behind, const void* caller, Raw info, Raw handler, void* session) {
  initialise_in_secret(caller);
  const int result = call(behind, caller, info, handler, session);
  const std::lock_guard lock(model.mutex);
  if (result == MPI_SUCCESS) ++model.sessions;
  return result;
}

int close_session(Behind& behind, const void* caller, void* session) {
  const int result = call(behind, caller, session);
  const std::lock_guard lock(model.mutex);
  if (result == MPI_SUCCESS) --model.sessions;
  return result;
}

// Tells whether the program is to believe that it does these things to the world model itself.
bool is_hidden_from(const void* caller) {
  const std::lock_guard lock(model.mutex);
  return model.is_hidden && !world_view()->is_in_mpi(caller);
}

int begin_world(const void* caller, int* provided) {
  const std::lock_guard lock(model.mutex);
  model.begun = true;
  int level = 0;
  return call(query_thread, caller, provided == nullptr ? &level : provided);
}

int end_world() {
  const std::lock_guard lock(model.mutex);
  model.over = true;
  return MPI_SUCCESS;
}

int tell(bool Model::* what, int* flag) {
  const std::lock_guard lock(model.mutex);
  *flag = model.*what ? 1 : 0;
  return MPI_SUCCESS;
}

int size_of(MPI_Group group, const void* caller) {
  int size = 0;
  call(group_size, caller, group, &size);
  return size;
}

// Leaves the program's ranks in a group of the session. Some process sets have helpers.
int leave_out_helpers(const void* caller, Raw session, MPI_Group& group) {
  const WorldView* const view = world_view();
  if (view == nullptr || view->count == 0) return MPI_SUCCESS;
  MPI_Group all{}, kept{};
  if (const int error = call(group_of_set, caller, session, "mpi://WORLD", &all); error != MPI_SUCCESS) return error;
  std::vector<int> ranks(static_cast<std::size_t>(size_of(group, caller))), there(ranks.size()), ours;
  std::iota(ranks.begin(), ranks.end(), 0);
  call(group_translate, caller, group, static_cast<int>(ranks.size()), ranks.data(), all, there.data());
  call(group_free, caller, &all);
  for (const int rank : ranks)
    if (std::find(view->members, view->members + view->count, there[static_cast<std::size_t>(rank)]) != view->members + view->count)
      ours.push_back(rank);
  const int result = call(group_incl, caller, group, static_cast<int>(ours.size()), ours.data(), &kept);
  if (result != MPI_SUCCESS) return result;
  call(group_free, caller, &group);
  group = kept;
  return MPI_SUCCESS;
}

int group_of(Behind& behind, const void* caller, Raw session, const char* set, MPI_Group* group) {
  const int result = call(behind, caller, session, set, group);
  return result == MPI_SUCCESS ? leave_out_helpers(caller, session, *group) : result;
}

int describe(Behind& behind, const void* caller, Raw session, const char* set, MPI_Info* info) {
  MPI_Group group{};
  const int result = call(behind, caller, session, set, info);
  if (result != MPI_SUCCESS || group_of(group_of_set, caller, session, set, &group) != MPI_SUCCESS) return result;
  char ranks[16];
  std::snprintf(ranks, sizeof ranks, "%d", size_of(group, caller));
  call(group_free, caller, &group);
  return call(info_set, caller, *info, "mpi_size", static_cast<const char*>(ranks));
}

}  // namespace

extern "C" {
COPSE_STANDS_BEFORE(_Session_init, (Raw info, Raw handler, void* session),
                    return open_session(behind, caller, info, handler, session);)
COPSE_STANDS_BEFORE(_Session_finalize, (void* session), return close_session(behind, caller, session);)
COPSE_STANDS_BEFORE(_Init, (int* argc, char*** argv),
                    return is_hidden_from(caller) ? begin_world(caller, nullptr) : call(behind, caller, argc, argv);)
COPSE_STANDS_BEFORE(_Init_thread, (int* argc, char*** argv, int level, int* provided),
                    return is_hidden_from(caller) ? begin_world(caller, provided)
                                                  : call(behind, caller, argc, argv, level, provided);)
COPSE_STANDS_BEFORE(_Finalize, (), return is_hidden_from(caller) ? end_world() : call(behind, caller);)
COPSE_STANDS_BEFORE(_Initialized, (int* flag),
                    return is_hidden_from(caller) ? tell(&Model::begun, flag) : call(behind, caller, flag);)
COPSE_STANDS_BEFORE(_Finalized, (int* flag), return is_hidden_from(caller) ? tell(&Model::over, flag) : call(behind, caller, flag);)
COPSE_STANDS_BEFORE(_Group_from_session_pset, (Raw session, const char* set, MPI_Group* group),
                    return group_of(behind, caller, session, set, group);)
COPSE_STANDS_BEFORE(_Session_get_pset_info, (Raw session, const char* set, MPI_Info* info),
                    return describe(behind, caller, session, set, info);)
}

}  // namespace copse::mpi
