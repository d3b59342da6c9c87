// Recognises dense datatypes: small ones by packing them, large ones by how they were made.
#include "dense.hpp"

#include <algorithm>
#include <vector>

#include "real.hpp"

namespace copse::mpi {
namespace {

constexpr std::size_t kTriedBytes = std::size_t{64} << 20;

// Returns an element's bytes of data if they fill its span, from its address to the next element's. Otherwise it returns 0.
std::size_t filled_bytes(MPI_Datatype type) {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  if (real().Type_size_x_(type, &size) != MPI_SUCCESS || real().Type_get_extent_x_(type, &lb, &extent) != MPI_SUCCESS ||
      real().Type_get_true_extent_x_(type, &true_lb, &true_extent) != MPI_SUCCESS) {
    return 0;
  }
  return size > 0 && true_lb == 0 && extent == size && true_extent == size ? static_cast<std::size_t>(size) : 0;
}

// Returns whether packing is the identity. A dense size is not enough, as a type may hold its parts in another order.
// So this packs bytes that contain their own positions.
bool packs_to_itself(MPI_Datatype type, std::size_t size, MPI_Comm comm) {
  std::vector<unsigned char> place(size), packed(size);
  for (unsigned shift = 0; shift < 32 && (size - 1) >> shift != 0; shift += 8) {
    for (std::size_t i = 0; i < size; ++i) place[i] = static_cast<unsigned char>(i >> shift);
    int position = 0;
    if (real().Pack_(place.data(), 1, type, packed.data(), static_cast<int>(size), &position, comm) != MPI_SUCCESS ||
        place != packed) {
      return false;
    }
  }
  return true;
}

// How a type was made. If it was made with large counts, the MPI answers only through the large-count functions.
struct Envelope {
  MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  int combiner = MPI_UNDEFINED;

  explicit Envelope(MPI_Datatype type) {
    if (real().Type_get_envelope_c != nullptr) {
      real().Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner);
      return;
    }
    int few_integers = 0, few_addresses = 0, few_types = 0;
    real().Type_get_envelope_(type, &few_integers, &few_addresses, &few_types, &combiner);
    integers = few_integers;
    addresses = few_addresses;
    types = few_types;
  }
  [[nodiscard]] bool predefined() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
  }
};

// What a type was made of. The type must not be predefined.
class Contents {
 public:
  Contents(MPI_Datatype type, const Envelope& envelope) : types_(static_cast<std::size_t>(envelope.types)) {
    std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
    std::vector<MPI_Count> large_counts(static_cast<std::size_t>(envelope.large_counts));
    if (real().Type_get_contents_c != nullptr) {
      real().Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large_counts, envelope.types,
                                 integers.data(), addresses.data(), large_counts.data(), types_.data());
    } else {
      real().Type_get_contents_(type, static_cast<int>(integers.size()), static_cast<int>(addresses.size()),
                                static_cast<int>(types_.size()), integers.data(), addresses.data(), types_.data());
    }
    numbers_.assign(integers.begin(), integers.end());
    numbers_.insert(numbers_.end(), addresses.begin(), addresses.end());
    numbers_.insert(numbers_.end(), large_counts.begin(), large_counts.end());
  }
  ~Contents() {
    for (MPI_Datatype type : types_)
      if (!Envelope(type).predefined()) real().Type_free_(&type);
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  [[nodiscard]] const std::vector<MPI_Datatype>& types() const { return types_; }
  // The integers, addresses and large counts. Their number and order do not depend on whether the type was made with
  // large counts.
  [[nodiscard]] const std::vector<MPI_Count>& numbers() const { return numbers_; }

 private:
  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Count> numbers_;
};

// Looks only at the constructors that serve to count beyond an int.
bool is_made_dense(MPI_Datatype type) {
  if (filled_bytes(type) == 0) return false;
  const Envelope envelope(type);
  if (envelope.predefined()) return true;
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_STRUCT: break;
    default: return false;
  }
  const Contents contents(type, envelope);
  const std::vector<MPI_Datatype>& types = contents.types();
  if (!std::all_of(types.begin(), types.end(), is_made_dense)) return false;
  // A vector that fills its span has no gaps. Its blocks cannot run backwards either, for they would then begin below
  // the vector's address.
  if (envelope.combiner != MPI_COMBINER_STRUCT) return true;
  const auto *const lengths = contents.numbers().data() + 1, *const places = lengths + types.size();
  MPI_Count end = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (places[i] != end) return false;
    end += lengths[i] * static_cast<MPI_Count>(filled_bytes(types[i]));
  }
  return true;
}

}  // namespace

bool is_dense(MPI_Datatype type, MPI_Comm comm) {
  const std::size_t size = filled_bytes(type);
  return size > 0 && (size <= kTriedBytes ? packs_to_itself(type, size, comm) : is_made_dense(type));
}

}  // namespace copse::mpi
