// UPC threads in processes that an MPI has started, on one node or several.
#include <dlfcn.h>

#include <algorithm>
#include <string_view>

#include "communicator/card.hpp"
#include "launch.hpp"

namespace copse::upc {
namespace {

using choose::Settings;
using communicator::Network;

// What every process tells the others, by the network.
template <class T>
std::vector<T> told(Network& mpi, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(mpi.ranks()));
  if (!mpi.allgather(&mine, all.data(), sizeof mine))
    mpi.abort(say("the processes of the UPC threads cannot be gathered by the MPI"));
  return all;
}

bool all_succeed(Network& mpi, bool mine) {
  const std::vector<char> all = told(mpi, static_cast<char>(mine));
  return std::all_of(all.begin(), all.end(), [](char one) { return one != 0; });
}

// Says what is wrong with the numbers of threads and processes. The text is the same on all processes, and empty if nothing is
// wrong.
std::string mistake_in(const Settings& settings, Network& mpi, int threads) {
  struct Numbers {
    int threads, processes;
    std::size_t heap;
    bool operator==(const Numbers&) const = default;
  };
  const std::vector<Numbers> all = told(mpi, Numbers{threads, settings.upc_processes, settings.upc_heap});
  for (const Numbers& each : all)
    if (each != all.front())
      return "process " + std::to_string(&each - all.data()) + " has other COPSE_UPC_ variables than process 0; required: the same";
  if (settings.upc_processes != 1)
    return "COPSE_UPC_PROCESSES is " + std::to_string(settings.upc_processes) + "; required: 1, because the MPI has started " +
           std::to_string(mpi.ranks()) + " processes";
  if (threads < mpi.ranks())
    return "COPSE_UPC_THREADS is " + std::to_string(threads) + "; required: at least the number of the MPI's processes, which is " +
           std::to_string(mpi.ranks());
  if (threads > mpi.ranks() && !mpi.serves_threads())
    return "COPSE_UPC_THREADS is " + std::to_string(threads) + "; required: " + std::to_string(mpi.ranks()) +
           ", one for each process, because the MPI does not serve several threads of a process";
  return {};
}

// Returns the memory of this node, which the node's first process makes. If a process has no such memory, it says why, and the
// result is null on all processes.
std::unique_ptr<Segment> share_segment(Network& mpi, const Places& places, const Settings& settings) {
  const std::vector<std::size_t> most = told(mpi, Segment::most_half(places));
  const std::size_t half = settings.upc_heap != 0 ? settings.upc_heap : *std::min_element(most.begin(), most.end());
  const int maker = places.at(places.here().front()).process;
  std::string why;
  std::unique_ptr<Segment> segment;
  Segment::Offer offer;
  if (maker == mpi.rank()) segment = Segment::make(places, half, why);
  if (segment) offer = segment->offer();
  const std::vector<Segment::Offer> offers = told(mpi, offer);
  const Segment::Offer& made = offers[static_cast<std::size_t>(maker)];
  if (maker != mpi.rank() && made.owner != 0) segment = Segment::join(places, half, made, why);
  if (!why.empty()) say(why);
  if (!all_succeed(mpi, segment != nullptr)) return nullptr;
  segment->started_by(&mpi);
  return segment;
}

}  // namespace

std::optional<int> run_under_mpi(const Settings& settings, const Program& program) {
  const auto make = reinterpret_cast<communicator::NetworkMaker>(dlsym(RTLD_DEFAULT, communicator::kNetworkMaker));
  if (make == nullptr || dlsym(RTLD_DEFAULT, "PMPI_Init") == nullptr) return std::nullopt;
  std::string why;
  Network* const mpi = make(communicator::kNetworkVersion, why);
  if (mpi == nullptr) return say(why);
  if (mpi->ranks() == 1) return std::nullopt;
  const int threads = settings.upc_threads == 1 ? mpi->ranks() : settings.upc_threads;
  if (const std::string mistake = mistake_in(settings, *mpi, threads); !mistake.empty()) return mpi->rank() == 0 ? say(mistake) : 1;
  const std::string wrong_file = communicator::file_mistake(settings);  // files may differ from node to node
  const std::vector<char> wrong = told(*mpi, static_cast<char>(wrong_file.empty() ? 0 : 1));
  if (const auto first = std::find(wrong.begin(), wrong.end(), 1); first != wrong.end())
    return mpi->rank() == first - wrong.begin() ? say(wrong_file) : 1;
  const std::vector<std::uint64_t> hosts = told(*mpi, communicator::host_of(settings, mpi->rank(), mpi->ranks()));
  const Places places(threads, hosts, mpi->rank());
  // Pretended nodes (COPSE_NODES) share memory, so it does not matter what the MPI can do between real nodes.
  if (const std::string_view lack = mpi->why_not_between_nodes(); !lack.empty() && places.on_several_nodes() && settings.nodes == 1)
    return mpi->rank() == 0 ? say("UPC threads on several nodes: " + std::string(lack)) : 1;
  if (places.on_several_nodes() && settings.nodes == 1 && !mpi->serves_threads())
    return mpi->rank() == 0
               ? say("UPC threads on several nodes need an MPI that serves a thread of Copse's beside the program's; required: "
                     "MPI_THREAD_SERIALIZED, or MPI_THREAD_MULTIPLE if the program itself has started the MPI")
               : 1;
  const std::unique_ptr<Segment> segment = share_segment(*mpi, places, settings);
  if (!segment) return 1;
  const bool begun = mpi->begin(segment->network() == nullptr ? std::span<std::byte>() : segment->of_this_process());
  if (!all_succeed(*mpi, begun)) {
    if (!begun) say("the MPI gives no access to the memory of other nodes (MPI_Win_create); required: less COPSE_UPC_HEAP");
    mpi->abort(1);
  }
  const Places::Run own = segment->places().of_this_process();
  run_threads(*segment, settings, program, own);
  const std::vector<int> results = told(*mpi, result_of(*segment, own));
  mpi->end();
  const auto bad = std::find_if(results.begin(), results.end(), [](int result) { return result != 0; });
  return bad == results.end() ? 0 : *bad;
}

}  // namespace copse::upc
