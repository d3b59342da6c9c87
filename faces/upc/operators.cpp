// The operators of the specification and the functions of callers (UPC 1.3).
#include "operators.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/kernels/kernels.hpp"

namespace copse::upc {
namespace {

using kernels::FoldPair;

template <class T>
constexpr copse_type kTypeOf = std::is_same_v<T, float>         ? COPSE_FLOAT
                               : std::is_same_v<T, double>      ? COPSE_DOUBLE
                               : std::is_same_v<T, long double> ? COPSE_LONG_DOUBLE
                               : std::is_signed_v<T>            ? (sizeof(T) == 1   ? COPSE_INT8
                                                                   : sizeof(T) == 2 ? COPSE_INT16
                                                                   : sizeof(T) == 4 ? COPSE_INT32
                                                                                    : COPSE_INT64)
                               : sizeof(T) == 1                 ? COPSE_UINT8
                               : sizeof(T) == 2                 ? COPSE_UINT16
                               : sizeof(T) == 4                 ? COPSE_UINT32
                                                                : COPSE_UINT64;

struct Named {
  upc_op_t op;
  const char* name;
  copse_op kernel;
};
constexpr Named kOperators[] = {{UPC_ADD, "UPC_ADD", COPSE_SUM},
                                {UPC_MULT, "UPC_MULT", COPSE_PROD},
                                {UPC_AND, "UPC_AND", COPSE_BAND},
                                {UPC_OR, "UPC_OR", COPSE_BOR},
                                {UPC_XOR, "UPC_XOR", COPSE_BXOR},
                                {UPC_LOGAND, "UPC_LOGAND", COPSE_LAND},
                                {UPC_LOGOR, "UPC_LOGOR", COPSE_LOR},
                                {UPC_MIN, "UPC_MIN", COPSE_MIN},
                                {UPC_MAX, "UPC_MAX", COPSE_MAX},
                                {UPC_FUNC, "UPC_FUNC", COPSE_OP_COUNT},
                                {UPC_NONCOMM_FUNC, "UPC_NONCOMM_FUNC", COPSE_OP_COUNT}};

const Named* find(upc_op_t op) {
  for (const Named& row : kOperators)
    if (row.op == op) return &row;
  return nullptr;
}

// x op this is x, for every x. Minus zero is the zero that keeps the sign of another.
template <class T>
T neutral(copse_op op) {
  using Limits = std::numeric_limits<T>;
  const bool floating = std::is_floating_point_v<T>;
  switch (op) {
    case COPSE_SUM: return floating ? static_cast<T>(-0.0) : T{0};
    case COPSE_PROD: return T{1};
    case COPSE_BAND: return static_cast<T>(-1);
    case COPSE_MIN: return floating ? Limits::infinity() : Limits::max();
    case COPSE_MAX: return floating ? static_cast<T>(-Limits::infinity()) : Limits::min();
    default: return T{0};
  }
}

template <class T>
class Arithmetic final : public Operator {
 public:
  explicit Arithmetic(copse_op op) : kernels_(kernels::fold_kernels(op, kTypeOf<T>)), none_(neutral<T>(op)) {
    combine_ = engine::predefined(op, kTypeOf<T>);
  }
  [[nodiscard]] std::size_t partial_bytes() const override { return sizeof(T); }
  void set_none(void* partial) const override { std::memcpy(partial, &none_, sizeof(T)); }
  void fold(void* partial, const void* array, std::size_t count) const override { kernels_.all(partial, array, count); }
  void store(void* element, const void* partial) const override { std::memcpy(element, partial, sizeof(T)); }
  void running(void* dst, const void* array, std::size_t count, const void* before) const override {
    kernels_.running(dst, array, count, before);
  }

 private:
  FoldPair kernels_;
  T none_;
};

template <class T>
class Logical final : public Operator {
 public:
  explicit Logical(copse_op op) : kernels_(kernels::fold_kernels(op, kTypeOf<T>)), none_(op == COPSE_LAND ? 1 : 0) {
    const kernels::ReducePair pair = kernels::reduce_kernels(op, COPSE_UINT8);
    combine_ = {.kernel = pair.one, .kernel_two = pair.two, .exact = true};
  }
  [[nodiscard]] std::size_t partial_bytes() const override { return 1; }
  void set_none(void* partial) const override { *static_cast<unsigned char*>(partial) = none_; }
  void fold(void* partial, const void* array, std::size_t count) const override {
    T value;
    kernels_.all(&value, array, count);
    *static_cast<unsigned char*>(partial) = value != 0 ? 1 : 0;
  }
  void store(void* element, const void* partial) const override { put(element, partial); }
  void running(void* dst, const void* array, std::size_t count, const void* before) const override {
    T value;
    if (before != nullptr) put(&value, before);
    kernels_.running(dst, array, count, before == nullptr ? nullptr : &value);
  }

 private:
  static void put(void* element, const void* truth) {
    const auto value = static_cast<T>(*static_cast<const unsigned char*>(truth));
    std::memcpy(element, &value, sizeof value);
  }
  FoldPair kernels_;
  unsigned char none_;
};

template <class T>
class Users final : public Operator {
  struct Partial {
    T value;
    bool there;
  };

 public:
  Users(AnyFunction function, bool commutative) : function_(reinterpret_cast<T (*)(T, T)>(function)) {
    combine_ = {.user = combine_partials, .context = this, .commutative = commutative};
  }
  [[nodiscard]] std::size_t partial_bytes() const override { return sizeof(Partial); }
  void set_none(void* partial) const override { std::memset(partial, 0, sizeof(Partial)); }
  void fold(void* partial, const void* array, std::size_t count) const override {
    const T* const from = static_cast<const T*>(array);
    T value = from[0];
    for (std::size_t i = 1; i < count; ++i) value = function_(value, from[i]);
    set_none(partial);
    *static_cast<Partial*>(partial) = {value, true};
  }
  void store(void* element, const void* partial) const override {
    *static_cast<T*>(element) = static_cast<const Partial*>(partial)->value;
  }
  void running(void* dst, const void* array, std::size_t count, const void* before) const override {
    const T* const from = static_cast<const T*>(array);
    T* const to = static_cast<T*>(dst);
    const auto* const partial = static_cast<const Partial*>(before);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) to[i] = function_(to[i - 1], from[i]);
      else to[i] = partial != nullptr && partial->there ? function_(partial->value, from[i]) : from[i];
    }
  }

 private:
  static void combine_partials(void* context, const void* in, void* inout, std::size_t count) {
    const auto* const left = static_cast<const Partial*>(in);
    auto* const right = static_cast<Partial*>(inout);
    const auto function = static_cast<const Users*>(context)->function_;
    for (std::size_t i = 0; i < count; ++i) {
      if (!left[i].there) continue;
      if (right[i].there) right[i].value = function(left[i].value, right[i].value);
      else right[i] = left[i];
    }
  }

  T (*function_)(T, T);
};

template <class T>
std::unique_ptr<Operator> make(const Named& row, AnyFunction function) {
  if (row.op == UPC_FUNC || row.op == UPC_NONCOMM_FUNC)
    return function == nullptr ? nullptr : std::make_unique<Users<T>>(function, row.op == UPC_FUNC);
  if (kernels::fold_kernels(row.kernel, kTypeOf<T>).all == nullptr) return nullptr;
  if (row.kernel == COPSE_LAND || row.kernel == COPSE_LOR) return std::make_unique<Logical<T>>(row.kernel);
  return std::make_unique<Arithmetic<T>>(row.kernel);
}

struct Type {
  std::size_t bytes;
  bool floating;
  std::unique_ptr<Operator> (*make)(const Named&, AnyFunction);
};
constexpr Type kTypes[] = {
#define TYPE(letter, type) {sizeof(type), std::is_floating_point_v<type>, &make<type>},
    COPSE_UPC_TYPES(TYPE)
#undef TYPE
};

}  // namespace

std::unique_ptr<Operator> make_operator(int type, upc_op_t op, AnyFunction function) {
  const Named* const row = find(op);
  return row == nullptr ? nullptr : kTypes[type].make(*row, function);
}

std::size_t type_bytes(int type) { return kTypes[type].bytes; }
bool is_floating(int type) { return kTypes[type].floating; }
const char* name_of(upc_op_t op) {
  const Named* const row = find(op);
  return row == nullptr ? nullptr : row->name;
}

}  // namespace copse::upc
