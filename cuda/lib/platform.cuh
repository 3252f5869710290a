// The few things that differ between a CUDA compiler and the host emulation
// (cuda/host/emulation.hpp).
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
#define EXPORT_CLUSTER(kernel, arguments, blocks)

// Waits for the `count` threads (a multiple of 32) that use barrier `id` in 1..15.
template<int count>
FUNCTION void named_barrier(int id) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(count) : "memory");
}

// Key words are read once by a block: they must not push tables out of L1.
FUNCTION uint4 load_key(const uint4* p) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p));
    return v;
}

FUNCTION double2 load_key(const double2* p) {
    double2 v;
    asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
    return v;
}

FUNCTION uint2 load_key(const uint2* p) {
    uint2 v;
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}

// As load_key, but issued where it is written: what it returns is wanted much later.
FUNCTION double2 load_key_now(const double2* p) {
    double2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];"
                 : "=d"(v.x), "=d"(v.y)
                 : "l"(p));
    return v;
}

FUNCTION uint4 load_key_now(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

FUNCTION uint2 load_key_now(const uint2* p) {
    uint2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p));
    return v;
}

// Asks memory for the line of a word that is read soon, and waits for nothing.
FUNCTION void ask_ahead(const void* p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

// sum + a * b in one instruction of a sum in two words: written as one 64-bit sum it becomes two.
FUNCTION u64 multiply_add(u64 sum, u32 a, u32 b) {
    u32 low = (u32)sum, high = (u32)(sum >> 32);
    asm("mad.lo.cc.u32 %0, %2, %3, %0;\n"
        "madc.hi.u32 %1, %2, %3, %1;"
        : "+r"(low), "+r"(high)
        : "r"(a), "r"(b));
    return ((u64)high << 32) | low;
}

// a + b on the pipe for additions. Compilers put half of all sums of two on the multiply pipe,
// which is the busy one here; a sum of three cannot go there. Grids have one dimension, but no
// compiler knows.
FUNCTION u32 add(u32 a, u32 b) { return a + b + blockIdx.y; }

// Asks for `bytes` (a multiple of 16) of global memory to be brought into L2; a hint on sm_90 and
// above, nothing below.
FUNCTION void prefetch_l2(const void* p, u32 bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes) : "memory");
#endif
}

// The blocks of a cluster (sm_90 and above) reach each other's shared memory, by the address that a
// place has in their own.
FUNCTION u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Together a barrier of all threads of the cluster; what was written before `cluster_arrive` is
// seen after `cluster_wait`.
FUNCTION void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
FUNCTION void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// As `cluster_arrive`, for blocks that only keep step: what was written before is not waited for.
FUNCTION void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }

FUNCTION u32 peer_address(const void* own, u32 rank) {
    u32 address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(address)
        : "r"((u32)__cvta_generic_to_shared(own)), "r"(rank));
    return address;
}

// An inbox counts the bytes that peers push into this block's shared memory. Unlike the cluster's
// barrier, waiting for it flushes nothing: no fence of all memory, and caches stay valid.
typedef u64 Inbox;

// By one thread, before a barrier of the cluster.
FUNCTION void inbox_open(Inbox* inbox) {
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((u32)__cvta_generic_to_shared(inbox))
        : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// By one thread for each turn: `bytes` make it complete. They may have begun to arrive.
FUNCTION void inbox_expect(Inbox* inbox, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     (u32)__cvta_generic_to_shared(inbox)),
                 "r"(bytes)
                 : "memory");
}

// By every thread that reads what was pushed in turn `turn`.
FUNCTION void inbox_wait(Inbox* inbox, u32 turn) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"((u32)__cvta_generic_to_shared(inbox)),
                 "r"(turn & 1)
                 : "memory");
}

// Writes to `own` in the block of `rank`, and counts there.
FUNCTION void push(double2* own, Inbox* inbox, u32 rank, double2 v) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::
            "r"(peer_address(own, rank)),
        "d"(v.x), "d"(v.y), "r"(peer_address(inbox, rank))
        : "memory");
}

FUNCTION void push(u32* own, Inbox* inbox, u32 rank, u32 v) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
            peer_address(own, rank)),
        "r"(v), "r"(peer_address(inbox, rank))
        : "memory");
}

// Copies 16 bytes from global to shared memory without a register, where the device can; both
// 16-byte aligned. Copies made since the last end_copies are a group; wait_copies waits until at
// most `left` groups of this thread are under way.
FUNCTION void copy_ahead(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
#else
    *(uint4*)to = __ldg((const uint4*)from);
#endif
}

FUNCTION void end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template<int left>
FUNCTION void wait_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
#endif
}

FUNCTION void multiply_8_by_8(i32& first, i32& second, u32 a, u32 b) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(first), "+r"(second)
        : "r"(a), "r"(b));
}

// Adds to `sums`, of 16 by 8, the product of 16 by 32 signed bytes and 32 by 8 unsigned ones; by
// all threads of a warp. Thread 4 g + t holds of rows g and g + 8 of the left the bytes 4 t to 4 t
// + 3 (x and y) and 16 + 4 t to 16 + 4 t + 3 (z and w), of column g of the right the same (low and
// high), and of the sums columns 2 t and 2 t + 1 of row g, then of row g + 8.
FUNCTION void multiply_bytes(i32 (&sums)[4], uint4 left, u32 low, u32 high) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(left.x), "r"(left.y), "r"(left.z), "r"(left.w), "r"(low), "r"(high));
#else
    multiply_8_by_8(sums[0], sums[1], left.x, low);
    multiply_8_by_8(sums[0], sums[1], left.z, high);
    multiply_8_by_8(sums[2], sums[3], left.y, low);
    multiply_8_by_8(sums[2], sums[3], left.w, high);
#endif
}

FUNCTION void multiply_unsigned_8_by_8(i32& first, i32& second, u32 a, u32 b) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(first), "+r"(second)
        : "r"(a), "r"(b));
}

// As multiply_bytes, both sides unsigned.
FUNCTION void multiply_unsigned_bytes(i32 (&sums)[4], uint4 left, u32 low, u32 high) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(left.x), "r"(left.y), "r"(left.z), "r"(left.w), "r"(low), "r"(high));
#else
    multiply_unsigned_8_by_8(sums[0], sums[1], left.x, low);
    multiply_unsigned_8_by_8(sums[0], sums[1], left.z, high);
    multiply_unsigned_8_by_8(sums[2], sums[3], left.y, low);
    multiply_unsigned_8_by_8(sums[2], sums[3], left.w, high);
#endif
}

// x + y if that is less than x as an unsigned number, else x: with y = -q it takes one q away where
// one is in x.
FUNCTION u32 least_sum(u32 x, u32 y) { return __viaddmin_u32(x, y, x); }

// x, of which the compiler does not know how it came about.
FUNCTION u32 hidden(u32 x) {
    asm("" : "+r"(x));
    return x;
}

// Memory that other blocks read or wrote: past L1, which they do not share.
FUNCTION uint4 load_shared_limb(const uint4* p) { return __ldcg(p); }
FUNCTION void store_limb(uint4* p, uint4 v) { __stcg(p, v); }
FUNCTION void store_limb(u32* p, u32 v) { __stcg(p, v); }

// A kernel may be launched before the one in front of it ends: nothing of what that one writes may
// be read before the first of these; the second lets the next kernel be launched, once all blocks
// have called it or ended.
FUNCTION void wait_for_earlier_launches() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
FUNCTION void let_later_launches_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

template<int value>
struct Int {
    static constexpr int v = value;
    CONSTANT_FUNCTION operator int() const { return value; }
};

// A loop over compile-time constants: register arrays stay in registers because
// every index is a constant.
template<int begin, int end, class Body>
FUNCTION void unroll(const Body& body) {
    if constexpr (begin < end) {
        body(Int<begin>{});
        unroll<begin + 1, end>(body);
    }
}

CONSTANT_FUNCTION int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }
CONSTANT_FUNCTION int ceil_div(int a, int b) { return (a + b - 1) / b; }
