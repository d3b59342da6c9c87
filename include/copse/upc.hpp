// Typed arrays of shared memory for C++17, a thin layer over <copse/upc.h>.
//
//     upc::shared_array<double, 4> a(100);             // shared [4] double a[100], allocated by all threads together
//     a[7] = 1.5;                                      // any thread reads and writes any element of its node,
//     a.store(7, a.load(8));                           // and like this of all nodes
//     a.for_each_mine([](std::size_t i, double& x) { x = i; });   // upc_forall (...; &a[i])
//     upc::shared_ptr<double, 4> p = a.begin() + 3;    // a pointer-to-shared, with UPC's arithmetic
//     upc_all_reduceD(sum.raw(), a.raw(), UPC_ADD, a.size(), a.block, nullptr, 0);
//
// A block size of 0 is the indefinite one: all elements lie on thread 0. Elements are not initialised. Errors are told as in
// <copse/upc.h>.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "copse/upc.h"

namespace upc {

// A pointer-to-shared with UPC's arithmetic (6.4.2). It is a value, and may itself lie in shared memory.
template <class T, std::size_t B = 1>
class shared_ptr {
 public:
  static_assert(std::is_trivially_copyable_v<T>, "shared memory holds what may be copied as bytes");
  shared_ptr() : at_(upc_null()) {}
  explicit shared_ptr(upc_shared at) : at_(at) {}

  // The element itself, if it has affinity to a thread of this node; otherwise that is an error. Only get() is null then.
  T& operator*() const { return *static_cast<T*>(copse_upc_at(at_)); }
  T* operator->() const { return &**this; }
  T& operator[](std::ptrdiff_t i) const { return *(*this + i); }
  [[nodiscard]] T* get() const { return static_cast<T*>(upc_cast(at_)); }
  // Reads and writes an element of any thread.
  [[nodiscard]] T load() const {
    T value;
    upc_memget(&value, at_, sizeof value);
    return value;
  }
  void store(const T& value) const { upc_memput(at_, &value, sizeof value); }

  shared_ptr& operator+=(std::ptrdiff_t elements) {
    at_ = upc_add(at_, elements, sizeof(T), B);
    return *this;
  }
  shared_ptr& operator-=(std::ptrdiff_t elements) { return *this += -elements; }
  shared_ptr& operator++() { return *this += 1; }
  shared_ptr& operator--() { return *this -= 1; }
  friend shared_ptr operator+(shared_ptr p, std::ptrdiff_t elements) { return p += elements; }
  friend shared_ptr operator-(shared_ptr p, std::ptrdiff_t elements) { return p -= elements; }
  friend std::ptrdiff_t operator-(shared_ptr p, shared_ptr q) { return upc_sub(p.at_, q.at_, sizeof(T), B); }
  friend bool operator==(shared_ptr p, shared_ptr q) { return upc_equal(p.at_, q.at_) != 0; }
  friend bool operator!=(shared_ptr p, shared_ptr q) { return !(p == q); }
  // As the specification says, by the sign of the difference (6.4.2).
  friend bool operator<(shared_ptr p, shared_ptr q) { return p - q < 0; }
  friend bool operator>(shared_ptr p, shared_ptr q) { return q < p; }
  friend bool operator<=(shared_ptr p, shared_ptr q) { return !(q < p); }
  friend bool operator>=(shared_ptr p, shared_ptr q) { return !(p < q); }
  explicit operator bool() const { return upc_is_null(at_) == 0; }

  [[nodiscard]] int thread() const { return at_.thread; }
  [[nodiscard]] std::size_t phase() const { return at_.phase; }
  [[nodiscard]] upc_shared raw() const { return at_; }

 private:
  upc_shared at_;
};

// shared [B] T a[n]. To make one and to destroy one is collective: every thread does both, in the same order. Without memory for it
// the constructor throws std::bad_alloc, on all threads.
template <class T, std::size_t B = 1>
class shared_array {
 public:
  using pointer = shared_ptr<T, B>;
  static constexpr std::size_t block = B;

  explicit shared_array(std::size_t elements) : elements_(elements), begin_(allocated(elements)) {
    if (elements > 0 && !begin_) throw std::bad_alloc();
  }
  shared_array(shared_array&& other) noexcept
      : elements_(std::exchange(other.elements_, 0)), begin_(std::exchange(other.begin_, pointer())) {}
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;
  shared_array& operator=(shared_array&&) = delete;
  ~shared_array() {
    if (begin_) upc_all_free(begin_.raw());
  }

  [[nodiscard]] std::size_t size() const { return elements_; }
  [[nodiscard]] pointer begin() const { return begin_; }
  [[nodiscard]] pointer end() const { return begin_ + static_cast<std::ptrdiff_t>(elements_); }
  T& operator[](std::size_t i) const { return *(begin_ + static_cast<std::ptrdiff_t>(i)); }
  [[nodiscard]] T load(std::size_t i) const { return (begin_ + static_cast<std::ptrdiff_t>(i)).load(); }
  void store(std::size_t i, const T& value) const { (begin_ + static_cast<std::ptrdiff_t>(i)).store(value); }
  [[nodiscard]] int thread_of(std::size_t i) const {
    return B == 0 ? 0 : static_cast<int>(i / kWidth % static_cast<std::size_t>(THREADS));
  }

  // Calls body(i, element) for each element that has affinity to this thread, in the order of the array.
  template <class Body>
  void for_each_mine(Body&& body) const {
    const std::size_t width = B == 0 ? elements_ : B, stride = width * static_cast<std::size_t>(THREADS);
    for (std::size_t first = static_cast<std::size_t>(MYTHREAD) * width; first < elements_; first += stride) {
      T* const here = &(*this)[first];
      for (std::size_t i = first; i < first + width && i < elements_; ++i) body(i, here[i - first]);
    }
  }

  [[nodiscard]] upc_shared raw() const { return begin_.raw(); }

 private:
  static constexpr std::size_t kWidth = B == 0 ? 1 : B;
  static pointer allocated(std::size_t elements) {
    constexpr std::size_t kMost = static_cast<std::size_t>(-1) / sizeof(T);  // more bytes than a size can hold are not to be had
    if constexpr (B == 0) return pointer(upc_all_alloc(1, elements > kMost ? static_cast<std::size_t>(-1) : elements * sizeof(T)));
    else return pointer(upc_all_alloc(elements / B + (elements % B != 0 ? 1 : 0), B * sizeof(T)));
  }

  std::size_t elements_;
  pointer begin_;
};

}  // namespace upc
