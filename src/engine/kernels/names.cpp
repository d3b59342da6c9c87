// The sizes and names of types and operators.
#include <type_traits>

#include "engine/kernels/elements.hpp"
#include "engine/kernels/kernels.hpp"

namespace copse::kernels {
namespace {

#define COPSE_SIZE_(name, c_type, type_class) sizeof(c_type),
constexpr std::size_t kTypeSizes[] = {COPSE_TYPES(COPSE_SIZE_)};
#undef COPSE_SIZE_

#define COPSE_EXACT_(name, c_type, type_class) std::is_integral_v<c_type>,
constexpr bool kExact[] = {COPSE_TYPES(COPSE_EXACT_)};
#undef COPSE_EXACT_

#define COPSE_TYPE_NAME_(name, c_type, type_class) #name,
constexpr const char* kTypeNames[] = {COPSE_TYPES(COPSE_TYPE_NAME_)};
#undef COPSE_TYPE_NAME_

#define COPSE_OP_NAME_(name) #name,
constexpr const char* kOpNames[] = {COPSE_OPS(COPSE_OP_NAME_)};
#undef COPSE_OP_NAME_

bool in_range(copse_type type) { return static_cast<std::size_t>(type) < COPSE_TYPE_COUNT; }
bool in_range(copse_op op) { return static_cast<std::size_t>(op) < COPSE_OP_COUNT; }

}  // namespace

std::size_t type_size(copse_type type) noexcept { return in_range(type) ? kTypeSizes[type] : 0; }
bool is_exact(copse_type type) noexcept { return in_range(type) && kExact[type]; }
const char* type_name(copse_type type) noexcept { return in_range(type) ? kTypeNames[type] : "?"; }
const char* op_name(copse_op op) noexcept { return in_range(op) ? kOpNames[op] : "?"; }

}  // namespace copse::kernels
