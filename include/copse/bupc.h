/* Berkeley UPC's extensions, for every C and C++ compiler: semaphores, transfers that signal, collectives of values, reductions
 * whose result every thread gets, teams, and how far threads are apart. They build on <copse/upc.h>, and errors are told as
 * there. */
#ifndef COPSE_BUPC_H
#define COPSE_BUPC_H

#include "copse/upc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Semaphores ----------------------------------------------------------------------------------------------------- *
 *
 * A semaphore is a value, like a lock. It counts from 0. Each of these functions implies a upc_fence, so whoever has waited sees
 * what was written before the post. The order in which waiting threads go on is not defined.
 *
 * The flags promise how it will be used: BOOLEAN for a count of at most 1, SPRODUCER and SCONSUMER for one thread that posts
 * and one that waits. 0 promises nothing: INTEGER, MPRODUCER, MCONSUMER. */
typedef struct bupc_sem_t {
  upc_shared at;
} bupc_sem_t;
#define BUPC_SEM_INTEGER 0
#define BUPC_SEM_BOOLEAN 1
#define BUPC_SEM_MPRODUCER 0
#define BUPC_SEM_SPRODUCER 2
#define BUPC_SEM_MCONSUMER 0
#define BUPC_SEM_SCONSUMER 4

/* Makes a semaphore with affinity to the calling thread. bupc_sem_free may be called by any thread, when no thread waits. */
COPSE_API bupc_sem_t bupc_sem_alloc(int flags);
COPSE_API void bupc_sem_free(bupc_sem_t sem);

/* post adds 1 or `count`. wait returns once it has taken 1 or `count`, all at once. try takes them and returns 1, or returns 0 at
 * once if there are not so many. To post a boolean semaphore that is 1 already, and to post it or wait for it by more than 1, are
 * errors. */
COPSE_API void bupc_sem_post(bupc_sem_t sem);
COPSE_API void bupc_sem_postN(bupc_sem_t sem, size_t count);
COPSE_API void bupc_sem_wait(bupc_sem_t sem);
COPSE_API void bupc_sem_waitN(bupc_sem_t sem, size_t count);
COPSE_API int bupc_sem_try(bupc_sem_t sem);
COPSE_API int bupc_sem_tryN(bupc_sem_t sem, size_t count);

/* upc_memput, and then bupc_sem_postN. dst and sem have affinity to one thread. `async` lets the call return while src is still
 * being read; here it is not. */
COPSE_API void bupc_memput_signal(upc_shared dst, const void* src, size_t bytes, bupc_sem_t sem, size_t count);
COPSE_API void bupc_memput_signal_async(upc_shared dst, const void* src, size_t bytes, bupc_sem_t sem, size_t count);

/* --- How far threads are apart -------------------------------------------------------------------------------------- *
 *
 * VERYNEAR: they share a last-level cache. NEAR: they share a NUMA region. FAR: they share a machine. VERYFAR: they do not. What
 * a thread shares is known if it is bound (COPSE_BIND); otherwise two threads of a machine are FAR. */
#define BUPC_THREADS_SAME 0
#define BUPC_THREADS_VERYNEAR 100
#define BUPC_THREADS_NEAR 200
#define BUPC_THREADS_FAR 300
#define BUPC_THREADS_VERYFAR 400
COPSE_API int bupc_thread_distance(int thread, int other);

/* --- Teams ---------------------------------------------------------------------------------------------------------- *
 *
 * A team is some of the UPC threads, which have numbers of their own in it, from 0 on. BUPC_TEAM_ALL is all of them. Each function
 * is called by all threads of its team, in the same order.
 *
 * bupc_team_split makes a team of all threads of `parent` that give the same color. They are in the order of
 * `order` and, where it is the same, of their numbers in the parent. */
typedef struct bupc_team* bupc_team_t;
#define BUPC_TEAM_ALL ((bupc_team_t)0)
COPSE_API bupc_team_t bupc_team_split(bupc_team_t parent, int color, int order);
COPSE_API void bupc_team_free(bupc_team_t team);
COPSE_API int bupc_team_rank(bupc_team_t team);
COPSE_API int bupc_team_size(bupc_team_t team);
COPSE_API void bupc_team_barrier(bupc_team_t team);

/* As upc_all_broadcast and its like, among the threads of the team. Where those speak of thread t, these speak of the team's
 * t-th; a pointer names a thread by its number among all. So an array of upc_all_alloc serves, which has the same address on every
 * thread: block t lies at this address, on the team's t-th thread, whatever thread the
 * pointer names. */
COPSE_API void bupc_team_broadcast(bupc_team_t team, upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
COPSE_API void bupc_team_scatter(bupc_team_t team, upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
COPSE_API void bupc_team_gather(bupc_team_t team, upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
COPSE_API void bupc_team_gather_all(bupc_team_t team, upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
COPSE_API void bupc_team_exchange(bupc_team_t team, upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
COPSE_API void bupc_team_permute(bupc_team_t team, upc_shared dst, upc_shared src, upc_shared perm, size_t bytes, upc_flag_t flags);

/* --- Reductions whose result every thread gets ---------------------------------------------------------------------- *
 *
 * bupc_all_reduce_allT, for each T of the types: as upc_all_reduceT, but block t of dst gets the result, on every thread t. dst is
 * shared [1] TYPE[THREADS] and begins on thread 0. bupc_team_reduceT, bupc_team_prefix_reduceT and
 * bupc_team_reduce_allT do it among the threads of a team. */
#define COPSE_BUPC_REDUCE_ALL(letter, type)                                                                                      \
  COPSE_API void bupc_all_reduce_all##letter(upc_shared dst, upc_shared src, upc_op_t op, size_t elements, size_t block,         \
                                             type (*func)(type, type), upc_flag_t flags);                                        \
  COPSE_API void bupc_team_reduce_all##letter(bupc_team_t team, upc_shared dst, upc_shared src, upc_op_t op, size_t elements,    \
                                              size_t block, type (*func)(type, type), upc_flag_t flags);                         \
  COPSE_API void bupc_team_reduce##letter(bupc_team_t team, upc_shared dst, upc_shared src, upc_op_t op, size_t elements,        \
                                          size_t block, type (*func)(type, type), upc_flag_t flags);                             \
  COPSE_API void bupc_team_prefix_reduce##letter(bupc_team_t team, upc_shared dst, upc_shared src, upc_op_t op, size_t elements, \
                                                 size_t block, type (*func)(type, type), upc_flag_t flags);
COPSE_UPC_TYPES(COPSE_BUPC_REDUCE_ALL)
#undef COPSE_BUPC_REDUCE_ALL

/* --- Collectives of values (Bonachea) ------------------------------------------------------------------------------- *
 *
 * Every thread gives a value and gets one; nobody allocates shared memory. TYPE is any type that may be copied as bytes; for
 * reductions it is a type of numbers. `root` and `op` are the same on all threads. A value is an expression that converts to TYPE.
 *
 *   TYPE  bupc_allv_reduce(TYPE, value, root, op)         the values of all threads, combined; the result is root's, others get
 *                                                         something that means nothing. A root of -1: every thread's
 *   TYPE  bupc_allv_reduce_all(TYPE, value, op)           the same with root -1
 *   TYPE  bupc_allv_prefix_reduce(TYPE, value, op)        the values of threads 0 to MYTHREAD, combined
 *   TYPE  bupc_allv_broadcast(TYPE, value, root)          root's value
 *   TYPE  bupc_allv_scatter(TYPE, root, values)           values[MYTHREAD] of root, which has a TYPE[THREADS]; others may give NULL
 *   TYPE* bupc_allv_gather(TYPE, value, root, to)         to[t] = value of thread t, on root; returns `to`. Others may give NULL
 *   TYPE* bupc_allv_gather_all(TYPE, value, to)           the same on every thread whose `to` is not NULL
 *   TYPE  bupc_allv_permute(TYPE, value, thread)          the value of the thread that has named this one. Every thread is named
 *                                                         once
 *
 * They synchronise as IN_MYSYNC | OUT_MYSYNC. op is one of UPC_ADD to UPC_MAX. The same reduction of
 * the same values on the same placement gives the same bits. */

/* What the macros below call. Each returns a result that lasts until the thread's next call of one of them. `type` is the place
 * of the type in COPSE_UPC_TYPES. */
COPSE_API const void* copse_allv_reduce(int type, const void* value, int root, upc_op_t op);
COPSE_API const void* copse_allv_prefix_reduce(int type, const void* value, upc_op_t op);
COPSE_API const void* copse_allv_broadcast(size_t bytes, const void* value, int root);
COPSE_API const void* copse_allv_scatter(size_t bytes, int root, const void* values);
COPSE_API void* copse_allv_gather(size_t bytes, const void* value, int root, void* to);
COPSE_API void* copse_allv_gather_all(size_t bytes, const void* value, void* to);
COPSE_API const void* copse_allv_permute(size_t bytes, const void* value, int thread);

#ifdef __cplusplus
} /* extern "C" */

#include <cstring>
#include <type_traits>

namespace copse_allv {

/* Returns the place of T in COPSE_UPC_TYPES. An integer type that is not in the list counts as the one of its size and sign. */
template <class T>
constexpr int number_of() {
  static_assert(std::is_arithmetic<T>::value, "reductions are for types of numbers");
  int number = 0;
#define COPSE_ALLV_COMPARE(letter, type)           \
  if (std::is_same<T, type>::value) return number; \
  ++number;
  COPSE_UPC_TYPES(COPSE_ALLV_COMPARE)
  number = 0;
#undef COPSE_ALLV_COMPARE
#define COPSE_ALLV_COMPARE(letter, type)                                                                                     \
  if (std::is_integral<type>::value && sizeof(T) == sizeof(type) && std::is_signed<T>::value == std::is_signed<type>::value) \
    return number;                                                                                                           \
  ++number;
  COPSE_UPC_TYPES(COPSE_ALLV_COMPARE)
#undef COPSE_ALLV_COMPARE
  return number;
}

template <class T>
constexpr bool is_reducible() {
  int types = 0;
#define COPSE_ALLV_COUNT(letter, type) ++types;
  COPSE_UPC_TYPES(COPSE_ALLV_COUNT)
#undef COPSE_ALLV_COUNT
  return !std::is_same<T, bool>::value && number_of<T>() < types;
}

template <class T>
T read(const void* result) {
  static_assert(std::is_trivially_copyable<T>::value, "values are copied as bytes");
  alignas(T) unsigned char bytes[sizeof(T)];  // the result may be aligned for less than a T
  std::memcpy(bytes, result, sizeof(T));
  return *reinterpret_cast<const T*>(bytes);
}
template <class T>
T reduce(T value, int root, upc_op_t op) {
  static_assert(is_reducible<T>(), "reductions are for the types in COPSE_UPC_TYPES");
  return read<T>(copse_allv_reduce(number_of<T>(), &value, root, op));
}
template <class T>
T prefix_reduce(T value, upc_op_t op) {
  static_assert(is_reducible<T>(), "reductions are for the types in COPSE_UPC_TYPES");
  return read<T>(copse_allv_prefix_reduce(number_of<T>(), &value, op));
}
template <class T>
T broadcast(T value, int root) {
  return read<T>(copse_allv_broadcast(sizeof(T), &value, root));
}
template <class T>
T scatter(int root, const T* values) {
  return read<T>(copse_allv_scatter(sizeof(T), root, values));
}
template <class T>
T* gather(T value, int root, T* to) {
  return static_cast<T*>(copse_allv_gather(sizeof(T), &value, root, to));
}
template <class T>
T* gather_all(T value, T* to) {
  return static_cast<T*>(copse_allv_gather_all(sizeof(T), &value, to));
}
template <class T>
T permute(T value, int thread) {
  return read<T>(copse_allv_permute(sizeof(T), &value, thread));
}

} /* namespace copse_allv */

#define bupc_allv_reduce(TYPE, value, root, op) (::copse_allv::reduce<TYPE>((value), (root), (op)))
#define bupc_allv_prefix_reduce(TYPE, value, op) (::copse_allv::prefix_reduce<TYPE>((value), (op)))
#define bupc_allv_broadcast(TYPE, value, root) (::copse_allv::broadcast<TYPE>((value), (root)))
#define bupc_allv_scatter(TYPE, root, values) (::copse_allv::scatter<TYPE>((root), (values)))
#define bupc_allv_gather(TYPE, value, root, to) (::copse_allv::gather<TYPE>((value), (root), (to)))
#define bupc_allv_gather_all(TYPE, value, to) (::copse_allv::gather_all<TYPE>((value), (to)))
#define bupc_allv_permute(TYPE, value, thread) (::copse_allv::permute<TYPE>((value), (thread)))

#else

#define COPSE_ALLV_NUMBER(letter, type) COPSE_ALLV_##letter,
enum { COPSE_UPC_TYPES(COPSE_ALLV_NUMBER) };
#define COPSE_ALLV_CASE(letter, type) \
  type:                               \
  COPSE_ALLV_##letter,
#define COPSE_ALLV_TYPE(TYPE)                                                             \
  _Generic((TYPE)0,                                                                       \
      COPSE_UPC_TYPES(COPSE_ALLV_CASE) char: (char)-1 < 0 ? COPSE_ALLV_C : COPSE_ALLV_UC, \
      long long: COPSE_ALLV_L,                                                            \
      unsigned long long: COPSE_ALLV_UL)
#define COPSE_ALLV_VALUE(TYPE, value) ((const void*)(TYPE[1]){(value)})
/* The next such call overwrites the result, and both may be arguments of one function. So it is copied at once. */
#define COPSE_ALLV_COPY(TYPE, result)                                                \
  (__extension__({                                                                   \
    union {                                                                          \
      unsigned char bytes[sizeof(TYPE)];                                             \
      TYPE value;                                                                    \
    } copse_allv_copy;                                                               \
    __builtin_memcpy(copse_allv_copy.bytes, (result), sizeof copse_allv_copy.bytes); \
    copse_allv_copy.value;                                                           \
  }))

#define bupc_allv_reduce(TYPE, value, root, op) \
  COPSE_ALLV_COPY(TYPE, copse_allv_reduce(COPSE_ALLV_TYPE(TYPE), COPSE_ALLV_VALUE(TYPE, value), (root), (op)))
#define bupc_allv_prefix_reduce(TYPE, value, op) \
  COPSE_ALLV_COPY(TYPE, copse_allv_prefix_reduce(COPSE_ALLV_TYPE(TYPE), COPSE_ALLV_VALUE(TYPE, value), (op)))
#define bupc_allv_broadcast(TYPE, value, root) \
  COPSE_ALLV_COPY(TYPE, copse_allv_broadcast(sizeof(TYPE), COPSE_ALLV_VALUE(TYPE, value), (root)))
#define bupc_allv_scatter(TYPE, root, values) COPSE_ALLV_COPY(TYPE, copse_allv_scatter(sizeof(TYPE), (root), (values)))
#define bupc_allv_gather(TYPE, value, root, to) \
  ((TYPE*)copse_allv_gather(sizeof(TYPE), COPSE_ALLV_VALUE(TYPE, value), (root), (to)))
#define bupc_allv_gather_all(TYPE, value, to) ((TYPE*)copse_allv_gather_all(sizeof(TYPE), COPSE_ALLV_VALUE(TYPE, value), (to)))
#define bupc_allv_permute(TYPE, value, thread) \
  COPSE_ALLV_COPY(TYPE, copse_allv_permute(sizeof(TYPE), COPSE_ALLV_VALUE(TYPE, value), (thread)))

#endif
#define bupc_allv_reduce_all(TYPE, value, op) bupc_allv_reduce(TYPE, value, -1, op)

#endif
