// Reads the MPI's datatypes: which of them the kernels can reduce, and how to pack those that are not dense.
#include "datatypes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "dense.hpp"
#include "engine/kernels/kernels.hpp"
#include "handle_table.hpp"
#include "progress.hpp"
#include "real.hpp"

namespace copse::mpi {
namespace {

auto& predefined = *new HandleTable<Datatype, 8>;  // at most half full; never destroyed (session.hpp)
auto& of_type = *new std::map<copse_type, MPI_Datatype>;  // the first of each
int keyval = 0;                       // the attribute of types that holds their Datatype
// The communicator for packing. It returns errors, and they become errors of the collective call, which calls the error
// handler of the call's own communicator.
MPI_Comm quiet{};

constexpr std::uint16_t bits(std::initializer_list<copse_op> ops) {
  unsigned set = 0;
  for (const copse_op op : ops) set |= 1u << op;
  return static_cast<std::uint16_t>(set);
}
constexpr std::uint16_t kArithmetic = bits({COPSE_SUM, COPSE_PROD}), kOrder = bits({COPSE_MIN, COPSE_MAX}),
                        kLogical = bits({COPSE_LAND, COPSE_LOR, COPSE_LXOR}), kBitwise = bits({COPSE_BAND, COPSE_BOR, COPSE_BXOR}),
                        kLocation = bits({COPSE_MINLOC, COPSE_MAXLOC});

enum class Kind : std::uint8_t { C_INTEGER, OTHER_INTEGER, FLOATING, LOGICAL, COMPLEX, BYTE, PAIR, INTEGER_PAIR, DATA };

constexpr std::uint16_t operators_of(Kind kind) {
  switch (kind) {
    case Kind::C_INTEGER: return kArithmetic | kOrder | kLogical | kBitwise;
    case Kind::OTHER_INTEGER: return kArithmetic | kOrder | kBitwise;
    case Kind::FLOATING: return kArithmetic | kOrder;
    case Kind::LOGICAL: return kLogical;
    case Kind::COMPLEX: return kArithmetic;
    case Kind::BYTE: return kBitwise;
    case Kind::PAIR:
    case Kind::INTEGER_PAIR: return kLocation;
    case Kind::DATA: break;
  }
  return 0;
}

// Returns the type of that kind and size, or COPSE_TYPE_COUNT if Copse has none (quadruple precision, 16-byte
// integers).
copse_type by_size(Kind kind, std::size_t size) {
  const auto among = [size](std::initializer_list<copse_type> types) {
    for (const copse_type type : types)
      if (kernels::type_size(type) == size) return type;
    return COPSE_TYPE_COUNT;
  };
  switch (kind) {
    case Kind::C_INTEGER:
    case Kind::OTHER_INTEGER: return among({COPSE_INT8, COPSE_INT16, COPSE_INT32, COPSE_INT64});
    case Kind::FLOATING: return among({COPSE_FLOAT16, COPSE_FLOAT, COPSE_DOUBLE});
    case Kind::LOGICAL: return among({COPSE_LOGICAL8, COPSE_LOGICAL16, COPSE_LOGICAL32, COPSE_LOGICAL64});
    case Kind::COMPLEX: return among({COPSE_COMPLEX_FLOAT16, COPSE_COMPLEX_FLOAT, COPSE_COMPLEX_DOUBLE});
    case Kind::PAIR: return among({COPSE_FLOAT_FLOAT, COPSE_DOUBLE_DOUBLE});
    case Kind::INTEGER_PAIR: return among({COPSE_INT_INT});
    case Kind::BYTE:
    case Kind::DATA: break;
  }
  return COPSE_TYPE_COUNT;
}

void insert(MPI_Datatype handle, Kind kind, copse_type type) {
  if (handle == MPI_Datatype{} || handle == MPI_DATATYPE_NULL) return;  // this MPI does not have it
  MPI_Count asked = 0;
  if (type == COPSE_TYPE_COUNT || kind == Kind::PAIR)
    if (real().Type_size_x_(handle, &asked) != MPI_SUCCESS) return;
  const auto size = static_cast<std::size_t>(asked);
  if (type == COPSE_TYPE_COUNT) {
    type = by_size(kind, size);
    if (type == COPSE_TYPE_COUNT && kind != Kind::DATA) return;
  }
  const std::size_t extent = type == COPSE_TYPE_COUNT ? size : kernels::type_size(type);
  Datatype known;
  known.handle = known.given = handle;
  known.reducible = type;
  known.operators = operators_of(kind);
  known.extent = known.true_extent.bytes = static_cast<std::ptrdiff_t>(extent);
  known.size = kind == Kind::PAIR ? size : extent;  // padding is not data
  known.dense = known.size == extent;
  predefined.insert(raw_of(handle), known);
  if (type != COPSE_TYPE_COUNT) of_type.try_emplace(type, handle);
}

std::unique_ptr<Datatype> examine(MPI_Datatype handle) {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  char nothing = 0;
  int position = 0;
  // Packing no elements makes the MPI check that the type is committed.
  if (real().Type_size_x_(handle, &size) != MPI_SUCCESS || real().Type_get_extent_x_(handle, &lb, &extent) != MPI_SUCCESS ||
      real().Type_get_true_extent_x_(handle, &true_lb, &true_extent) != MPI_SUCCESS ||
      real().Pack_(&nothing, 0, handle, &nothing, 1, &position, quiet) != MPI_SUCCESS || size < 0) {
    return nullptr;
  }
  auto type = std::make_unique<Datatype>();
  type->handle = type->given = handle;
  type->derived = true;
  type->size = static_cast<std::size_t>(size);
  type->extent = extent;
  type->true_extent = {true_lb, true_extent};
  type->dense = is_dense(handle, quiet);
  return type;
}

int never_copy(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int forget(MPI_Datatype, int, void* value, void*) {
  detail::types_freed.fetch_add(1, std::memory_order_relaxed);
  delete static_cast<Datatype*>(value);
  return MPI_SUCCESS;
}

constexpr std::size_t kPackedMost = std::numeric_limits<int>::max();  // MPI_Pack takes sizes as int

std::size_t elements_at_once(const Datatype& type) {
  return type.size == 0 ? kPackedMost : std::max<std::size_t>(1, kPackedMost / type.size);
}

}  // namespace

void prepare_datatypes() {
#define TYPE(handle, kind, type) insert((MPI_Datatype)(handle), Kind::kind, COPSE_##type);
#define COPSE_BY_SIZE COPSE_TYPE_COUNT
#include "datatypes.def"
#undef COPSE_BY_SIZE
#undef TYPE
  real().Type_create_keyval_(never_copy, forget, &keyval, nullptr);
  real().Comm_split_(MPI_COMM_SELF, 0, 0, &quiet);
  real().Comm_set_errhandler_(quiet, MPI_ERRORS_RETURN);
}

MPI_Datatype datatype_for(copse_type type) {
  const auto found = of_type.find(type);
  return found == of_type.end() ? MPI_DATATYPE_NULL : found->second;
}

void finish_datatypes() {
  // A session may outlive MPI_Finalize and start its persistent requests, which pack.
  if (!requests_known()) real().Comm_free_(&quiet);
}

const Datatype* datatype_of(Raw raw) {
  const auto type = handle<MPI_Datatype>(raw);
  if (const Datatype* known = predefined.find(raw_of(type))) return known;
  if (type == MPI_DATATYPE_NULL) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (real().Type_get_attr_(type, keyval, static_cast<void*>(&value), &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) return static_cast<const Datatype*>(value);
  // Two threads may meet a type at the same time. Without the lock the second thread's attribute would delete the
  // first's, while the first thread packs with it.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (real().Type_get_attr_(type, keyval, static_cast<void*>(&value), &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) return static_cast<const Datatype*>(value);
  auto examined = examine(type);
  if (!examined || real().Type_set_attr_(type, keyval, examined.get()) != MPI_SUCCESS) return nullptr;
  return examined.release();
}

// Makes a contiguous type of one element. A duplicate would call the program's functions that copy its attributes.
std::shared_ptr<const Datatype> kept(const Datatype& type) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (auto known = type.copy.lock()) return known;
  auto copy = std::make_unique<Datatype>(type);
  if (real().Type_contiguous_(1, type.handle, &copy->handle) != MPI_SUCCESS || real().Type_commit_(&copy->handle) != MPI_SUCCESS) {
    return nullptr;
  }
  const std::shared_ptr<const Datatype> made(copy.release(), [](const Datatype* unused) {
    MPI_Datatype handle = unused->handle;
    real().Type_free_(&handle);
    delete unused;
  });
  type.copy = made;
  return made;
}

namespace {

// The type of a buffer at MPI_BOTTOM holds absolute addresses. Some MPIs (MPICH 4.0) accept such a buffer in every call
// except MPI_Pack and MPI_Unpack. So these two get another base, and a type that is moved back by as much.
class Absolute {
 public:
  explicit Absolute(const Datatype& type) : moved_(type) {
    int one = 1;
    MPI_Aint back = -kBase;
    error_ = real().Type_create_hindexed_(1, &one, &back, type.handle, &moved_.handle);
    made_ = error_ == MPI_SUCCESS;
    if (made_) error_ = real().Type_commit_(&moved_.handle);
  }
  ~Absolute() {
    if (made_) real().Type_free_(&moved_.handle);
  }
  Absolute(const Absolute&) = delete;
  Absolute& operator=(const Absolute&) = delete;

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const Datatype& type() const { return moved_; }
  static void* base() { return reinterpret_cast<void*>(kBase); }

 private:
  static constexpr std::intptr_t kBase = 4096;
  Datatype moved_;
  int error_ = MPI_SUCCESS;
  bool made_ = false;
};

// A type of so many bytes. An int could not count them.
class Bytes {
 public:
  explicit Bytes(std::size_t bytes) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    for (std::size_t at = 0; at < bytes; at += kPart) {
      lengths.push_back(static_cast<int>(std::min(kPart, bytes - at)));
      places.push_back(static_cast<MPI_Aint>(at));
    }
    error_ = real().Type_create_hindexed_(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &handle_);
    made_ = error_ == MPI_SUCCESS;
    if (made_) error_ = real().Type_commit_(&handle_);
  }
  ~Bytes() {
    if (made_) real().Type_free_(&handle_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] MPI_Datatype handle() const { return handle_; }

 private:
  static constexpr std::size_t kPart = std::size_t{1} << 30;
  MPI_Datatype handle_{};
  int error_ = MPI_SUCCESS;
  bool made_ = false;
};

// Copies one element that is too large for MPI_Pack and MPI_Unpack. Not every MPI has MPI_Pack_c, but with every MPI
// this process can gather from itself.
int copy_large(const void* from, MPI_Datatype from_type, void* to, MPI_Datatype to_type) {
  return real().Allgather_(from, 1, from_type, to, 1, to_type, quiet);
}
int pack_large(const void* from, const Datatype& type, void* to) {
  const Bytes bytes(type.size);
  return bytes.error() != MPI_SUCCESS ? bytes.error() : copy_large(from, type.handle, to, bytes.handle());
}
int unpack_large(const void* from, const Datatype& type, void* to) {
  const Bytes bytes(type.size);
  return bytes.error() != MPI_SUCCESS ? bytes.error() : copy_large(from, bytes.handle(), to, type.handle);
}

}  // namespace

namespace {

// These move some elements between a buffer and their packed form. A single element may be larger than MPI_Pack can say.
using Move = int (*)(const Datatype& type, char* buffer, char* packed, std::size_t count);
int pack_some(const Datatype& type, char* buffer, char* packed, std::size_t count) {
  int position = 0;
  return type.size > kPackedMost ? pack_large(buffer, type, packed)
                                 : real().Pack_(buffer, static_cast<int>(count), type.handle, packed,
                                                static_cast<int>(count * type.size), &position, quiet);
}
int unpack_some(const Datatype& type, char* buffer, char* packed, std::size_t count) {
  int position = 0;
  return type.size > kPackedMost ? unpack_large(packed, type, buffer)
                                 : real().Unpack_(packed, static_cast<int>(count * type.size), &position, buffer,
                                                  static_cast<int>(count), type.handle, quiet);
}

int move_all(const Datatype& type, void* buffer, void* packed, std::size_t count, Move move) {
  if (buffer == nullptr) {
    const Absolute absolute(type);
    return absolute.error() != MPI_SUCCESS ? absolute.error() : move_all(absolute.type(), Absolute::base(), packed, count, move);
  }
  const std::size_t most = elements_at_once(type);
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(most, count - done);
    char* const at = static_cast<char*>(buffer) + static_cast<std::ptrdiff_t>(done) * type.extent;
    if (const int error = move(type, at, static_cast<char*>(packed) + done * type.size, now); error != MPI_SUCCESS) return error;
    done += now;
  }
  return MPI_SUCCESS;
}

}  // namespace

int pack(const Datatype& type, const void* buffer, std::size_t count, void* packed) {
  return move_all(type, const_cast<void*>(buffer), packed, count, pack_some);
}

int unpack(const Datatype& type, const void* packed, void* buffer, std::size_t count) {
  return move_all(type, buffer, const_cast<void*>(packed), count, unpack_some);
}

}  // namespace copse::mpi
