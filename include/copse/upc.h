/* UPC's shared memory and collectives for every C and C++ compiler.
 *
 * This follows the UPC Language and Library Specifications 1.3; section numbers are theirs. A program is a function that
 * copse_upc_run calls once on each UPC thread. UPC threads are threads of one process, several processes, or threads
 * in several processes, on one machine or several. The environment decides, when the program starts:
 *
 *     copse run --upc-threads 8 ./app                          COPSE_UPC_THREADS=8 ./app
 *     copse run --upc-threads 8 --upc-processes 4 ./app        COPSE_UPC_THREADS=8 COPSE_UPC_PROCESSES=4 ./app
 *     copse run mpirun -n 8 ./app
 *
 * UPC threads of one process share its global variables; the word upc_private before a variable gives each its own.
 *
 * Where an error is found, one line on stderr says which thread, function and argument are wrong, and what was required, and the
 * program ends with status 1. With COPSE_CHECK=1, arguments that the specification restricts are checked on all threads.
 * Functions that are not inline may be called only by UPC threads, inside copse_upc_run. */
#ifndef COPSE_UPC_H
#define COPSE_UPC_H

#include <stddef.h>

#include "copse/copse.h"

#ifdef __cplusplus
extern "C" {
#define upc_private thread_local
#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L
#define upc_private _Thread_local
#else
#define upc_private __thread
#endif

/* --- Threads (6.3) ---------------------------------------------------------------------------------------------- */

/* Calls program(argc, argv) on every UPC thread, and returns when all have returned. What comes before and after this call
 * runs once. Returns the first result of a thread, in the order of threads, that is not 0; or 1 if the threads could not be
 * made (a line on stderr says why); or 0. The end of `program` is a barrier. If there are several processes, they are forked
 * here, so the process should have no other threads yet. `argc` and `argv` are only passed on. */
typedef int (*copse_upc_program)(int argc, char** argv);
COPSE_API int copse_upc_run(int argc, char** argv, copse_upc_program program);

/* How many UPC threads there are, and which of them calls. Outside copse_upc_run: 1 and 0. */
COPSE_API int copse_upc_threads(void);
COPSE_API int copse_upc_mythread(void);
#define THREADS copse_upc_threads()
#define MYTHREAD copse_upc_mythread()

/* Writes out all streams and ends all threads (7.2.1). The program's exit status is `status`. Under an MPI's launcher, what other
 * processes have not written out may be lost. */
COPSE_API void upc_global_exit(int status);

/* --- Pointers to shared memory (6.4.2, 7.2.3) --------------------------------------------------------------------- *
 *
 * A pointer-to-shared is a value. It means the same on every thread and may itself lie in shared memory. Arithmetic
 * takes what a UPC compiler knows from the type: the size of an element in bytes, and the block size in elements.
 * A block size of 0 is the indefinite one: all elements lie on one thread. The null pointer is all zero bits. */
typedef struct upc_shared {
  size_t address; /* bytes from the beginning of the thread's part of shared memory; 0 only if the pointer is null */
  size_t phase;   /* elements from the beginning of the block */
  int thread;     /* the thread to which the object has affinity */
} upc_shared;

#define UPC_INDEFINITE ((size_t)0)

static inline upc_shared upc_null(void) {
  upc_shared null = {0, 0, 0};
  return null;
}
static inline int upc_is_null(upc_shared p) { return p.address == 0; }

/* 7.2.3.1 to 7.2.3.4: the thread, the phase (in elements), the address, and the pointer with phase 0. */
static inline size_t upc_threadof(upc_shared p) { return (size_t)p.thread; }
static inline size_t upc_phaseof(upc_shared p) { return p.phase; }
static inline size_t upc_addrfield(upc_shared p) { return p.address; }
static inline upc_shared upc_resetphase(upc_shared p) {
  p.phase = 0;
  return p;
}

/* The quotient, rounded down. `by` is positive. */
static inline ptrdiff_t copse_upc_floor(ptrdiff_t value, ptrdiff_t by) { return value / by - (value % by < 0 ? 1 : 0); }

/* Moves a pointer by `elements`, which may be negative (6.4.2). Each element has `bytes` bytes. */
static inline upc_shared upc_add(upc_shared p, ptrdiff_t elements, size_t bytes, size_t block) {
  const ptrdiff_t size = (ptrdiff_t)bytes, width = (ptrdiff_t)block, threads = THREADS;
  ptrdiff_t place, blocks, rows, phase;
  if (block == UPC_INDEFINITE) {
    p.address += (size_t)(elements * size);
    p.phase = 0;
    return p;
  }
  place = (ptrdiff_t)p.phase + elements;
  blocks = copse_upc_floor(place, width);
  phase = place - blocks * width;
  rows = copse_upc_floor(p.thread + blocks, threads);
  p.address += (size_t)((rows * width + phase - (ptrdiff_t)p.phase) * size);
  p.phase = (size_t)phase;
  p.thread = (int)(p.thread + blocks - rows * threads);
  return p;
}

/* Returns how many elements `p` lies behind `q`: upc_add(q, that number, ...) equals p. Both point into one array (6.4.2). */
static inline ptrdiff_t upc_sub(upc_shared p, upc_shared q, size_t bytes, size_t block) {
  const ptrdiff_t apart = (ptrdiff_t)(p.address - q.address) / (ptrdiff_t)bytes;
  const ptrdiff_t phases = (ptrdiff_t)p.phase - (ptrdiff_t)q.phase, width = (ptrdiff_t)block;
  if (block == UPC_INDEFINITE) return apart;
  return ((apart - phases) / width * THREADS + (p.thread - q.thread)) * width + phases;
}

/* Tells whether two pointers point to the same object. Phases are not compared (6.4.2). */
static inline int upc_equal(upc_shared p, upc_shared q) {
  return p.address == q.address && (p.thread == q.thread || upc_is_null(p));
}

/* Returns how many of the `total` bytes of an array have affinity to `thread`, if its blocks of `bytes` bytes begin on
 * thread 0 (7.2.3.5). If `bytes` is 0, all have affinity to thread 0. */
static inline size_t upc_affinitysize(size_t total, size_t bytes, size_t thread) {
  const size_t threads = (size_t)THREADS;
  size_t rows, rest, before;
  if (bytes == 0) return thread == 0 ? total : 0;
  rows = total / bytes / threads;
  rest = total - rows * bytes * threads;
  before = thread * bytes;
  rest = rest > before ? rest - before : 0;
  return rows * bytes + (rest < bytes ? rest : bytes);
}

/* Returns where this thread can load and store what `p` points to. (Castability, 1.3.) It is null for the null pointer, and for
 * what has affinity to a thread on another node. The address means nothing to threads of other processes. It is good for the
 * whole of what has affinity to that thread. */
COPSE_API void* upc_cast(upc_shared p);

/* Which memory with affinity to `thread` upc_cast can reach, as the specification's castability library says it: all that the
 * three allocators return, if the thread is on the caller's node, and otherwise nothing. */
typedef struct upc_thread_info_t {
  int guaranteedCastable, probablyCastable;
} upc_thread_info_t;
#define UPC_CASTABLE_ALL_ALLOC 1
#define UPC_CASTABLE_GLOBAL_ALLOC 2
#define UPC_CASTABLE_ALLOC 4
#define UPC_CASTABLE_STATIC 8
#define UPC_CASTABLE_ALL 15
COPSE_API int copse_upc_castable(size_t thread); /* 1 or 0; for upc_thread_info */
static inline upc_thread_info_t upc_thread_info(size_t thread) {
  const int all = UPC_CASTABLE_ALL_ALLOC | UPC_CASTABLE_GLOBAL_ALLOC | UPC_CASTABLE_ALLOC;
  upc_thread_info_t info;
  info.guaranteedCastable = copse_upc_castable(thread) ? all : 0;
  info.probablyCastable = info.guaranteedCastable;
  return info;
}

/* Element `i` of an array, as a variable: UPC_AT(double, 4, a, i) = 1.0 is a[i] = 1.0 for shared [4] double *a. If the element has
 * affinity to a thread on another node, that is an error: UPC_GET and UPC_PUT reach it. */
#define UPC_AT(type, block, array, i) (*(type*)copse_upc_at(upc_add((array), (ptrdiff_t)(i), sizeof(type), (size_t)(block))))
COPSE_API void* copse_upc_at(upc_shared p); /* for UPC_AT: upc_cast, which must work */

/* Reads and writes element `i` of an array, on whatever thread and node it lies: UPC_GET(double, 4, a, i) is a[i], and
 * UPC_PUT(double, 4, a, i, 1.0) is a[i] = 1.0, for shared [4] double *a. */
#define UPC_GET(type, block, array, i)                                                                           \
  (__extension__({                                                                                               \
    type copse_upc_value;                                                                                        \
    upc_memget(&copse_upc_value, upc_add((array), (ptrdiff_t)(i), sizeof(type), (size_t)(block)), sizeof(type)); \
    copse_upc_value;                                                                                             \
  }))
#define UPC_PUT(type, block, array, i, value)                                                                    \
  do {                                                                                                           \
    const type copse_upc_given = (value);                                                                        \
    upc_memput(upc_add((array), (ptrdiff_t)(i), sizeof(type), (size_t)(block)), &copse_upc_given, sizeof(type)); \
  } while (0)

/* --- Shared memory (7.2.2) ----------------------------------------------------------------------------------------- *
 *
 * COPSE_UPC_HEAP is how much memory each thread has at most for arrays, and as much again for upc_alloc. Memory is charged
 * when it is touched, and lies where it is first touched. It is not set to zero. All results have phase 0 and are aligned
 * to 64 bytes. If no bytes are asked for, or if so many cannot be had, the result is null. Under COPSE_CHECK
 * the latter is an error. */

/* Allocates shared [bytes] char[blocks * bytes], which begins on thread 0. Collective: every thread calls with the same
 * arguments and gets the same pointer (7.2.2.2). upc_global_alloc does the same for the one thread that calls it (7.2.2.1). */
COPSE_API upc_shared upc_all_alloc(size_t blocks, size_t bytes);
COPSE_API upc_shared upc_global_alloc(size_t blocks, size_t bytes);

/* Allocates shared [] char[bytes] with affinity to the calling thread (7.2.2.3). */
COPSE_API upc_shared upc_alloc(size_t bytes);

/* Frees what one of the three has returned; any thread may call it (7.2.2.4). Null is ignored. upc_all_free is collective,
 * and frees once all threads have called it (7.2.2.5). */
COPSE_API void upc_free(upc_shared p);
COPSE_API void upc_all_free(upc_shared p);

/* Copies or sets `bytes` bytes (7.2.5). Each shared operand is one piece of the memory of the thread that it has affinity to.
 * Operands do not overlap. These are relaxed accesses: barriers, locks and upc_fence order them. */
COPSE_API void upc_memcpy(upc_shared dst, upc_shared src, size_t bytes);
COPSE_API void upc_memget(void* dst, upc_shared src, size_t bytes);
COPSE_API void upc_memput(upc_shared dst, const void* src, size_t bytes);
COPSE_API void upc_memset(upc_shared dst, int byte, size_t bytes);

/* --- Synchronisation ------------------------------------------------------------------------------------------------ */

/* The barrier (6.6.1). upc_notify says that this thread has come, and upc_wait waits until all have; what a thread does between
 * the two, the others need not wait for. upc_barrier is both. Between upc_notify and upc_wait, no thread may call a collective
 * function. Where a value is given, all threads that give one must give the same, in notify and wait alike; otherwise it is an
 * error, which names two threads and their values. */
COPSE_API void upc_barrier(void);
COPSE_API void upc_notify(void);
COPSE_API void upc_wait(void);
COPSE_API void upc_barrier_value(int value);
COPSE_API void upc_notify_value(int value);
COPSE_API void upc_wait_value(int value);

/* Orders this thread's accesses to shared memory before and after it (6.6.1). */
COPSE_API void upc_fence(void);

/* Locks (7.2.4). A lock is a value, like a pointer-to-shared. Whoever gets a lock sees all that was written before it was
 * released. To lock what this thread holds, and to unlock what it does not hold, are errors. upc_lock_attempt returns 1 if it got
 * the lock, and 0 at once otherwise. upc_lock_free may be called by any thread, also for a lock that the caller holds. The
 * functions with `all` are collective. */
typedef struct upc_lock_t {
  upc_shared at;
} upc_lock_t;
COPSE_API upc_lock_t upc_all_lock_alloc(void);
COPSE_API upc_lock_t upc_global_lock_alloc(void);
COPSE_API void upc_lock(upc_lock_t lock);
COPSE_API int upc_lock_attempt(upc_lock_t lock);
COPSE_API void upc_unlock(upc_lock_t lock);
COPSE_API void upc_lock_free(upc_lock_t lock);
COPSE_API void upc_all_lock_free(upc_lock_t lock);

/* --- Collectives ---------------------------------------------------------------------------------------------------- *
 *
 * They are those of <upc_collective.h> in the Required Library Specifications, under Relocalization Operations and Computational
 * Operations. Numbers such as C 4.2.1 are the sections of the UPC Collective Operations Specifications 1.0, from which these come.
 *
 * Every thread calls with the same arguments (they are single-valued), flags, operator and function included. What is written
 * must not overlap what is read. `bytes` is 1 or more. A pointer that must have affinity to thread 0 counts as having phase 0.
 *
 * Errors end the program with a line on stderr. Always found: a null pointer, a root's thread that does not exist, a perm that
 * does not hold every thread once, and a call between upc_notify and upc_wait. With COPSE_CHECK=1, also: threads that make
 * different calls or give different arguments, another affinity than stated here, a phase that lies outside the block, a `bytes`
 * or `elements` of 0, memory that is not shared memory, overlap, flags that exclude one another, and an operator that is not
 * defined for the type.
 *
 * Flags are one of the IN and one of the OUT flags (Synchronization Options). 0, or a half that is missing, means ALLSYNC:
 * data is touched only after all threads have entered, and a thread returns only when all accesses to data are over. With MYSYNC,
 * data of a thread is touched only after that thread has entered, and the thread returns only when all accesses to its own data
 * are over; that costs two barriers less. With NOSYNC, data is touched from the entry of the first thread on, and until the last
 * thread returns. Then a call that only moves data waits for nobody, unless its algorithm passes data on from thread to thread;
 * upc_all_permute reads its permutation as with MYSYNC. */
typedef int upc_flag_t;
#define UPC_IN_ALLSYNC 1
#define UPC_IN_MYSYNC 2
#define UPC_IN_NOSYNC 4
#define UPC_OUT_ALLSYNC 8
#define UPC_OUT_MYSYNC 16
#define UPC_OUT_NOSYNC 32

/* C 4.2.1. src, on any thread, is copied to block t of dst, for every thread t. dst is
 * shared [bytes] char[bytes * THREADS] and begins on thread 0. */
COPSE_API void upc_all_broadcast(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
/* C 4.2.2. Block t of src, which lies whole on any one thread, is copied to block t of dst, on thread t. dst begins on
 * thread 0. */
COPSE_API void upc_all_scatter(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
/* C 4.2.3. Block t of src, on thread t, is copied to block t of dst, which lies whole on any one thread. src begins on
 * thread 0. */
COPSE_API void upc_all_gather(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
/* C 4.2.4. Block t of src, on thread t, is copied to block t of every thread's part of dst. dst is
 * shared [bytes * THREADS] char[bytes * THREADS * THREADS]; both begin on thread 0. */
COPSE_API void upc_all_gather_all(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
/* C 4.2.5. Block i of thread t's part of src is copied to block t of thread i's part of dst. Both are
 * shared [bytes * THREADS] char[bytes * THREADS * THREADS] and begin on thread 0. */
COPSE_API void upc_all_exchange(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags);
/* C 4.2.6. Block t of src, on thread t, is copied to block perm[t] of dst, on thread perm[t]. perm is shared [1] int[THREADS] and
 * holds every thread once. All three begin on thread 0. */
COPSE_API void upc_all_permute(upc_shared dst, upc_shared src, upc_shared perm, size_t bytes, upc_flag_t flags);

/* Operators. The bitwise ones are not for floating types. The logical ones give 0 or 1, of any type. UPC_FUNC calls the
 * caller's function, in any order of operands; UPC_NONCOMM_FUNC calls it in the order of the array. Both take functions that are
 * associative. Otherwise `func` is ignored. */
typedef long upc_op_t;
#define UPC_ADD (1L << 0)
#define UPC_MULT (1L << 1)
#define UPC_AND (1L << 2)
#define UPC_OR (1L << 3)
#define UPC_XOR (1L << 4)
#define UPC_LOGAND (1L << 5)
#define UPC_LOGOR (1L << 6)
#define UPC_MIN (1L << 7)
#define UPC_MAX (1L << 8)
#define UPC_FUNC (1L << 16)
#define UPC_NONCOMM_FUNC (1L << 17)

/* The types of reductions: COPSE_UPC_TYPES(X) is X(letter, type) for each. */
#define COPSE_UPC_TYPES(X) \
  X(C, signed char)        \
  X(UC, unsigned char)     \
  X(S, short)              \
  X(US, unsigned short)    \
  X(I, int)                \
  X(UI, unsigned)          \
  X(L, long)               \
  X(UL, unsigned long)     \
  X(F, float)              \
  X(D, double)             \
  X(LD, long double)

/* C 4.3.2 and 4.3.3. upc_all_reduceT and upc_all_prefix_reduceT, for each T of the types. src is
 * shared [block] TYPE[elements], from src's thread and phase on. If `block` is 0, all of it lies on src's thread. `elements` is 1
 * or more.
 *
 * reduce: *dst = src[0] op src[1] op ... op src[elements - 1]. dst is one object on any thread.
 * prefix_reduce: dst[i] = src[0] op ... op src[i], for every i. dst has the thread, the phase and the block size of src.
 *
 * The order in which numbers are added depends on the arguments, THREADS, where the threads run, and the tuning table. If all of
 * these are the same, the same call gives the same bits. */
#define COPSE_UPC_REDUCTIONS(letter, type)                                                                                 \
  COPSE_API void upc_all_reduce##letter(upc_shared dst, upc_shared src, upc_op_t op, size_t elements, size_t block,        \
                                        type (*func)(type, type), upc_flag_t flags);                                       \
  COPSE_API void upc_all_prefix_reduce##letter(upc_shared dst, upc_shared src, upc_op_t op, size_t elements, size_t block, \
                                               type (*func)(type, type), upc_flag_t flags);
COPSE_UPC_TYPES(COPSE_UPC_REDUCTIONS)
#undef COPSE_UPC_REDUCTIONS

#ifdef __cplusplus
}
#endif

#endif
