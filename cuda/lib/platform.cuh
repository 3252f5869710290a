// The few things that differ between a CUDA compiler and the host emulation (cuda/host/emulation.hpp).
#pragma once

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#ifdef GIRIH_EMULATED
#include "emulation.hpp"
#else

#define FUNCTION __device__ __forceinline__
#define CONSTANT_FUNCTION __host__ __device__ constexpr
#define DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#define EXPORT(kernel, arguments)

// Waits for the `count` threads (a multiple of 32) that use barrier `id` in 1..15.
template <int count> FUNCTION void named_barrier(int id) { asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(count) : "memory"); }

// Key words are read once by a block: they must not push tables out of L1.
FUNCTION uint4 load_key(const uint4* p) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

FUNCTION double2 load_key(const double2* p) {
    double2 v;
    asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
    return v;
}

// As load_key, but issued where it is written: what it returns is wanted much later.
FUNCTION double2 load_key_now(const double2* p) {
    double2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
    return v;
}

FUNCTION void atomic_add(u64* p, u64 x) { atomicAdd(p, x); }

// Asks for `bytes` (a multiple of 16) of global memory to be brought into L2; a hint on sm_90 and above, nothing below.
FUNCTION void prefetch_l2(const void* p, u32 bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes) : "memory");
#endif
}
#endif

template <int value> struct Int {
    static constexpr int v = value;
    CONSTANT_FUNCTION operator int() const { return value; }
};

// A loop over compile-time constants: register arrays stay in registers because every index is a constant.
template <int begin, int end, class Body> FUNCTION void unroll(const Body& body) {
    if constexpr (begin < end) {
        body(Int<begin>{});
        unroll<begin + 1, end>(body);
    }
}

CONSTANT_FUNCTION int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }
CONSTANT_FUNCTION int ceil_div(int a, int b) { return (a + b - 1) / b; }
