// The sizes and names of types and operators.
#include <algorithm>
#include <cctype>

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

bool same_name(std::string_view upper, std::string_view any) {
  return std::equal(upper.begin(), upper.end(), any.begin(), any.end(),
                    [](char u, char c) { return u == std::toupper(static_cast<unsigned char>(c)); });
}

template <class E, std::size_t N>
std::optional<E> parse(const char* const (&names)[N], std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (same_name(names[i], name)) return static_cast<E>(i);
  }
  return std::nullopt;
}

bool in_range(copse_type type) { return static_cast<std::size_t>(type) < COPSE_TYPE_COUNT; }
bool in_range(copse_op op) { return static_cast<std::size_t>(op) < COPSE_OP_COUNT; }

}  // namespace

std::size_t type_size(copse_type type) noexcept { return in_range(type) ? kTypeSizes[type] : 0; }
bool is_exact(copse_type type) noexcept { return in_range(type) && kExact[type]; }
const char* type_name(copse_type type) noexcept { return in_range(type) ? kTypeNames[type] : "?"; }
const char* op_name(copse_op op) noexcept { return in_range(op) ? kOpNames[op] : "?"; }
std::optional<copse_type> parse_type(std::string_view name) noexcept { return parse<copse_type>(kTypeNames, name); }
std::optional<copse_op> parse_op(std::string_view name) noexcept { return parse<copse_op>(kOpNames, name); }

}  // namespace copse::kernels
