// Runs the kernels on the host: every thread of a cluster of blocks (mostly one block) is a fiber,
// barriers switch between them. Clusters run in turn.
//
// For tests of the very source that NVRTC compiles, on machines without a GPU. The order in which
// fibers resume is varied by GIRIH_EMULATION_SEED,
// so that a missing barrier shows as a wrong result.
#pragma once
// Headers of C, and no more of C++ than what is below: a kernel is a text of its own for each plan,
// and <algorithm>, <cmath> and <vector> would take a third of the time that most take to compile.
#include <fenv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define FUNCTION inline __attribute__((always_inline))
#define CONSTANT_FUNCTION constexpr
#define __global__
#define __device__
#define __forceinline__
#define __constant__ static const
#define __launch_bounds__(...)
#define __shared__ static
#define __cluster_dims__(...)
#define DYNAMIC_SHARED(name) uint4* name = emulation::shared_memory[emulation::rank()].data()
// A C entry point that takes the arguments by address.
#define EXPORT(kernel, arguments) EXPORT_CLUSTER(kernel, arguments, 1)
#define EXPORT_CLUSTER(kernel, arguments, cluster)                                                 \
    extern "C" int launch_##kernel(                                                                \
        const void* a, unsigned blocks, unsigned threads, unsigned bytes) {                        \
        return emulation::launch(                                                                  \
            [](const void* p) { kernel(*(const arguments*)p); }, a, blocks, threads, bytes,        \
            cluster);                                                                              \
    }

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct double2 {
    double x, y;
};
struct dim3 {
    unsigned x;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
extern "C" double fma(double, double, double);
extern "C" double nearbyint(double);
// Rounds down.
inline double __fma_rd(double a, double b, double c) {
    int before = fegetround();
    fesetround(FE_DOWNWARD);
    volatile double x = a, y = b, z = c;
    volatile double sum = fma(x, y, z);
    fesetround(before);
    return sum;
}

namespace emulation {
// So many elements, which need no constructor; it grows and is never given back.
template<class T>
struct Array {
    T* items = nullptr;
    size_t room = 0;
    T* data() { return items; }
    T& operator[](size_t i) { return items[i]; }
    // New elements are zeros.
    void grow(size_t count) {
        if (count <= room) return;
        items = (T*)realloc((void*)items, count * sizeof(T));
        if (!items) abort();
        memset((void*)(items + room), 0, (count - room) * sizeof(T));
        room = count;
    }
    void fill(size_t count, T value) {
        grow(count);
        for (size_t i = 0; i < count; i++) items[i] = value;
    }
};

const size_t STACK = 256 * 1024;

// Where a fiber goes on. `swapcontext` asks the system for the mask of signals each time, which
// takes longer than what fibers do in between; where we know how, registers are all we change.
#if defined(__x86_64__)
typedef void* Context;
// What a call must leave as it was lies on the stack that it leaves.
__attribute__((naked, noinline)) inline void change(Context*, Context) {
    asm("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
        "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
        "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}
inline void change_to(Context& from, Context& to) { change(&from, to); }
inline void begin(Context& context, char* stack, void (*run)()) {
    // Six registers, where to begin, and no caller: aligned as at the entry of a function.
    void** top = (void**)(((uintptr_t)stack + STACK) & ~(uintptr_t)15) - 8;
    memset(top, 0, 8 * sizeof(void*));
    top[6] = (void*)run;
    context = top;
}
#else
typedef ucontext_t Context;
inline void change_to(Context& from, Context& to) { swapcontext(&from, &to); }
inline void begin(Context& context, char* stack, void (*run)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, run, 0);
}
#endif

struct Fiber {
    Context context;
    char* stack;
    bool done = false;
    int barrier = -1;
    unsigned generation = 0;
    unsigned cluster_generation = 0;
};
struct Barrier {
    int arrived = 0;
    unsigned generation = 0;
};
inline Context scheduler;
inline Array<Fiber> fibers;
inline int current = 0;
inline Array<Barrier> barriers;
inline Array<Array<uint4>> shared_memory; // of each block of the cluster
inline unsigned cluster_size = 1, threads_of_block = 1;
inline void (*body)(const void*) = nullptr;
inline const void* arguments = nullptr;

// Which block of the cluster runs now.
inline unsigned rank() { return (unsigned)current / threads_of_block; }

inline bool arrive(Barrier& barrier, int count) {
    if (++barrier.arrived < count) return false;
    barrier.arrived = 0;
    barrier.generation++;
    return true;
}

// Suspends this fiber until barrier `id` has left `generation`.
inline void suspend(int id, unsigned generation) {
    Fiber& self = fibers[current];
    if (barriers[id].generation != generation) return;
    self.barrier = id;
    self.generation = generation;
    change_to(self.context, scheduler);
}

// Barrier 0 is that of the cluster. Each block has 16 of the hardware (the first is __syncthreads)
// and one a warp.
inline int own_barrier(int id) {
    return 1 + (int)rank() * (16 + (int)(threads_of_block + 31) / 32) + id;
}

inline void wait(int id, int count) {
    int own = own_barrier(id);
    unsigned generation = barriers[own].generation;
    if (!arrive(barriers[own], count)) suspend(own, generation);
}

inline void run() {
    body(arguments);
    fibers[current].done = true;
    change_to(fibers[current].context, scheduler);
}
} // namespace emulation

inline dim3 threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { emulation::wait(0, (int)blockDim.x); }
inline void __syncwarp() { emulation::wait(16 + (int)threadIdx.x / 32, 32); }
template<int count>
inline void named_barrier(int id) {
    emulation::wait(id, count);
}
inline unsigned cluster_rank() { return emulation::rank(); }
inline void cluster_arrive() {
    emulation::fibers[emulation::current].cluster_generation = emulation::barriers[0].generation;
    emulation::arrive(
        emulation::barriers[0], (int)(emulation::cluster_size * emulation::threads_of_block));
}
inline void cluster_arrive_relaxed() { cluster_arrive(); }
inline void cluster_wait() {
    emulation::suspend(0, emulation::fibers[emulation::current].cluster_generation);
}
// Pushed values arrive at once; waiting for them is a barrier of the cluster.
typedef unsigned long long Inbox;
inline void inbox_open(Inbox*) {}
inline void inbox_expect(Inbox*, unsigned) {}
inline void inbox_wait(Inbox*, unsigned) {
    cluster_arrive();
    cluster_wait();
}
template<class T>
inline void push(T* own, Inbox*, unsigned rank, T value) {
    char* start = (char*)emulation::shared_memory[emulation::rank()].data();
    *(T*)((char*)emulation::shared_memory[rank].data() + ((char*)own - start)) = value;
}

// As in cuda/lib/platform.cuh. Threads of a warp show each other what they hold, in two places by
// turns: nobody can be a call further than those who still read. `Left` is the type of the bytes of
// the left.
template<class Left>
inline void multiply_bytes_of(int (&sums)[4], uint4 left, unsigned low, unsigned high) {
    struct Held {
        unsigned char left[2][32],
            right[32]; // rows g and g + 8, of which a thread fills a part; a column, likewise
    };
    static Held held[2][1024 / 32][8];
    static bool turns[1024];
    Held* warp = held[turns[threadIdx.x] ^= true][threadIdx.x / 32];
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    memcpy(&warp[g].left[0][4 * t], &left.x, 4);
    memcpy(&warp[g].left[1][4 * t], &left.y, 4);
    memcpy(&warp[g].left[0][16 + 4 * t], &left.z, 4);
    memcpy(&warp[g].left[1][16 + 4 * t], &left.w, 4);
    memcpy(&warp[g].right[4 * t], &low, 4);
    memcpy(&warp[g].right[16 + 4 * t], &high, 4);
    __syncwarp();
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 32; k++)
            sums[i] += (Left)warp[g].left[i / 2][k] * warp[2 * t + i % 2].right[k];
    }
}
inline void multiply_bytes(int (&sums)[4], uint4 left, unsigned low, unsigned high) {
    multiply_bytes_of<signed char>(sums, left, low, high);
}
inline void multiply_unsigned_bytes(int (&sums)[4], uint4 left, unsigned low, unsigned high) {
    multiply_bytes_of<unsigned char>(sums, left, low, high);
}

inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
inline unsigned long long multiply_add(unsigned long long sum, unsigned a, unsigned b) {
    return sum + (unsigned long long)a * b;
}
inline unsigned add(unsigned a, unsigned b) { return a + b; }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    uint64_t bytes = ((uint64_t)high << 32) | low;
    unsigned y = 0;
    for (int i = 0; i < 4; i++)
        y |= (unsigned)((bytes >> (8 * ((selector >> (4 * i)) & 7))) & 0xff) << (8 * i);
    return y;
}
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; i++) y |= ((x >> i) & 1) << (31 - i);
    return y;
}
template<class T>
inline T min(T a, T b) {
    return a < b ? a : b;
}
template<class T>
inline T __ldg(const T* p) {
    return *p;
}
inline unsigned least_sum(unsigned x, unsigned y) { return x + y < x ? x + y : x; }
inline unsigned hidden(unsigned x) { return x; }
template<class T>
inline T load_shared_limb(const T* p) {
    return *p;
}
template<class T>
inline void store_limb(T* p, T v) {
    *p = v;
}
inline void wait_for_earlier_launches() {}
inline void let_later_launches_start() {}
template<class T>
inline T load_key(const T* p) {
    return *p;
}
template<class T>
inline T load_key_now(const T* p) {
    return *p;
}
inline void prefetch_l2(const void*, unsigned) {}
inline void copy_ahead(void* to, const void* from) { memcpy(to, from, 16); }
inline void end_copies() {}
template<int left>
inline void wait_copies() {}
template<class T>
inline void atomicAdd(T* to, T value) {
    *to += value;
}
inline double __hiloint2double(int high, int low) {
    uint64_t bits = ((uint64_t)(uint32_t)high << 32) | (uint32_t)low;
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
inline int __double2hiint(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return (int)(uint32_t)(bits >> 32);
}
inline int __double2loint(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return (int)(uint32_t)bits;
}
inline double __longlong_as_double(long long bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
inline long long __double_as_longlong(double x) {
    long long bits;
    memcpy(&bits, &x, 8);
    return bits;
}
inline long long __double2ll_rn(double x) { return (long long)nearbyint(x); }

namespace emulation {
// Runs `blocks` blocks of `threads` threads of `kernel` with `bytes` of dynamic shared memory,
// `cluster` of them together; 0, or 1 for a barrier that some threads never reach.
inline int launch(
    void (*kernel)(const void*), const void* argument, unsigned blocks, unsigned threads,
    unsigned bytes, unsigned cluster) {
    body = kernel;
    arguments = argument;
    blockDim = {threads};
    gridDim = {blocks};
    cluster_size = cluster;
    threads_of_block = threads;
    const char* text = getenv("GIRIH_EMULATION_SEED");
    uint64_t seed = text ? strtoull(text, nullptr, 10) : 0,
             state = seed * 2862933555777941757ull + 3037000493ull;
    const unsigned together = cluster * threads;
    for (unsigned first_block = 0; first_block < blocks; first_block += cluster) {
        shared_memory.grow(cluster);
        const uint4 nothing = {0xdeadbeefu, 0xdeadbeefu, 0xdeadbeefu, 0xdeadbeefu};
        for (unsigned block = 0; block < cluster; block++)
            shared_memory[block].fill(bytes / 16 + 1, nothing);
        barriers.fill(1 + cluster * (16 + (threads + 31) / 32), Barrier{});
        fibers.grow(together);
        for (unsigned t = 0; t < together; t++) {
            Fiber& f = fibers[t];
            f.done = false;
            f.barrier = -1;
            if (!f.stack) f.stack = (char*)malloc(STACK);
            if (!f.stack) abort();
            begin(f.context, f.stack, run);
        }
        unsigned left = together;
        while (left > 0) {
            bool moved = false;
            unsigned first = 0;
            bool backwards = false;
            if (seed != 0) {
                state = state * 6364136223846793005ull + 1442695040888963407ull;
                first = (unsigned)(state >> 33) % together;
                backwards = (state >> 62) & 1;
            }
            for (unsigned k = 0; k < together; k++) {
                unsigned t = backwards ? (first + together - k) % together : (first + k) % together;
                Fiber& f = fibers[t];
                if (f.done || (f.barrier >= 0 && barriers[f.barrier].generation == f.generation))
                    continue;
                f.barrier = -1;
                current = (int)t;
                threadIdx = {t % threads};
                blockIdx = {first_block + t / threads};
                change_to(scheduler, f.context);
                moved = true;
                if (f.done) left--;
            }
            if (!moved) return 1;
        }
    }
    return 0;
}
} // namespace emulation
