// Recognises the operators that the kernels know, and calls the user's own.
#include "operators.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include "engine/kernels/kernels.hpp"
#include "handle_table.hpp"
#include "real.hpp"

namespace copse::mpi {
namespace {

HandleTable<copse_op, 5> predefined;
Raw null_op = 0, replace_op = 0, no_op = 0;

// Memory for `count` elements of a type with gaps. Element 0 is placed so that all elements lie inside.
class Elements {
 public:
  Elements(const Datatype& type, std::size_t count) {
    const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(count - 1) * type.extent;
    const std::ptrdiff_t low = std::min<std::ptrdiff_t>(0, last) + type.true_extent.lb;
    const std::ptrdiff_t high = std::max<std::ptrdiff_t>(0, last) + type.true_extent.lb + type.true_extent.bytes;
    constexpr std::ptrdiff_t align = 64;  // the user's function may rely on the alignment of element 0
    const std::ptrdiff_t before = ((-low % align) + align) % align;
    // The memory is value-initialised because the user's function may read the gaps.
    memory_ = std::make_unique<char[]>(static_cast<std::size_t>(high - low + before + 2 * align));
    auto base = reinterpret_cast<std::uintptr_t>(memory_.get());
    base = (base + align - 1) / align * align + static_cast<std::uintptr_t>((low % align + align) % align);
    first_ = reinterpret_cast<char*>(base - static_cast<std::uintptr_t>(low));
  }
  [[nodiscard]] void* first() const { return first_; }

 private:
  std::unique_ptr<char[]> memory_;
  char* first_;
};

}  // namespace

void prepare_operators() {
#define COPSE_MPI_OP(name) predefined.insert(raw_of(MPI_##name), COPSE_##name);
  COPSE_OPS(COPSE_MPI_OP)
#undef COPSE_MPI_OP
  null_op = raw_of(MPI_OP_NULL);
  replace_op = raw_of(MPI_REPLACE);
  no_op = raw_of(MPI_NO_OP);
}

bool operator_of(Raw raw, Operator& found) {
  found.handle = handle<MPI_Op>(raw);
  const Raw clean = raw_of(found.handle);
  if (const copse_op* op = predefined.find(clean)) {
    found.predefined = true;
    found.op = *op;
    return true;
  }
  if (clean == 0 || clean == null_op || clean == replace_op || clean == no_op || builtin(found.handle)) return false;
  int commutes = 0;
  if (real().Op_commutative_(found.handle, &commutes) != MPI_SUCCESS) return false;
  found.commutative = commutes != 0;
  return true;
}

void UserReduction::apply(void* self, const void* in, void* inout, std::size_t count) {
  auto& here = *static_cast<UserReduction*>(self);
  // Elements without extent overlap, so they go one by one. MPI_Reduce_local's count is an int.
  const std::size_t most = here.type->extent == 0 ? 1 : std::numeric_limits<int>::max();
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(most, count - done), place = done * here.type->size;
    const int error = here.apply_few(static_cast<const char*>(in) + place, static_cast<char*>(inout) + place, now);
    if (here.error == MPI_SUCCESS) here.error = error;
    done += now;
  }
}

// A C++ exception of the user's function ends here: it must not leave the MPI's code and Copse's call half done. If
// there is no memory for the elements, that is an error of the same kind. (no_sanitize: when a cancelled thread
// unwinds, there is no exception object, so the reference to it is null.)
__attribute__((no_sanitize("null"))) int UserReduction::apply_few(const char* in, char* inout, std::size_t count) const {
  const int n = static_cast<int>(count);
  try {
    if (type->dense) return real().Reduce_local_(in, inout, n, type->given, op);
    const Elements left(*type, count), right(*type, count);
    int error = unpack(*type, in, left.first(), count);
    if (error == MPI_SUCCESS) error = unpack(*type, inout, right.first(), count);
    if (error == MPI_SUCCESS) error = real().Reduce_local_(left.first(), right.first(), n, type->given, op);
    return error == MPI_SUCCESS ? pack(*type, right.first(), count, inout) : error;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const abi::__forced_unwind&) {  // from the cancellation of a thread
    throw;
  } catch (...) {
    return MPI_ERR_OTHER;
  }
}

std::string describe(const Operator& op, const Datatype& type) {
  return std::string(op.predefined ? kernels::op_name(op.op) : "a user's operator") + " of " +
         (type.reducible != COPSE_TYPE_COUNT ? kernels::type_name(type.reducible) : "a user's type");
}

}  // namespace copse::mpi
