// SPDX-License-Identifier: Apache-2.0
//
// Every access to shared and to global memory: one instruction, one function. Pointers to shared memory are ordinary
// pointers into the CTA's Smem struct; 4-float accesses need 16-byte alignment. Global accesses are 4 bytes wide, so
// that any 4-byte alignment of the caller's arrays works.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

VDN_DEVICE float load_shared(const float* p) { return *p; }
VDN_DEVICE float2 load_shared2(const float* p) { return *reinterpret_cast<const float2*>(p); }
VDN_DEVICE float4 load_shared4(const float* p) { return *reinterpret_cast<const float4*>(p); }
VDN_DEVICE int load_shared(const int* p) { return *p; }

// By assembly, so that the compiler does not join neighbouring stores into a wide one: that would tie their registers
// to consecutive numbers and so to register banks (ffma2.cuh).
VDN_DEVICE void store_shared(float* p, float v) {
  asm volatile("st.volatile.shared.f32 [%0], %1;" ::"r"(shared_address(p)), "f"(v) : "memory");
}
// Without a branch around it.
VDN_DEVICE void store_shared_if(bool condition, float* p, float v) {
  asm volatile(
      "{\n"
      ".reg .pred yes;\n"
      "setp.ne.b32 yes, %2, 0;\n"
      "@yes st.volatile.shared.f32 [%0], %1;\n"
      "}\n" ::"r"(shared_address(p)),
      "f"(v), "r"(static_cast<int>(condition))
      : "memory");
}
VDN_DEVICE void store_shared2(float* p, float2 v) { *reinterpret_cast<float2*>(p) = v; }
VDN_DEVICE void store_shared4(float* p, float4 v) { *reinterpret_cast<float4*>(p) = v; }
VDN_DEVICE void store_shared(int* p, int v) { *p = v; }

// A place in shared memory that a loop moves on: a 32-bit address, changed where it stands. Left to itself the compiler
// makes the next address early, in another register, and moves it back each time round.
struct SharedCursor {
  unsigned address;
};
VDN_DEVICE SharedCursor shared_cursor(const float* p) { return {shared_address(p)}; }
VDN_DEVICE const float* shared_place(SharedCursor c, int words = 0) {
  return static_cast<const float*>(__cvta_shared_to_generic(c.address + 4 * words));
}
template <int words>
VDN_DEVICE void advance(SharedCursor& c) {
  asm volatile("add.u32 %0, %0, %1;" : "+r"(c.address) : "n"(4 * words));
}
VDN_DEVICE bool operator!=(SharedCursor a, SharedCursor b) { return a.address != b.address; }

// p, by a path that the compiler cannot see through (target.cuh).
VDN_DEVICE float* opaque_shared(float* p) {
  unsigned address = shared_address(p);
  asm volatile("" : "+r"(address));
  return static_cast<float*>(__cvta_shared_to_generic(address));
}

// Element i of eight that two 16-byte words hold; i is known at compile time.
VDN_DEVICE float component(const float4& lo, const float4& hi, int i) {
  const float4& v = i < 4 ? lo : hi;
  return i % 4 == 0 ? v.x : i % 4 == 1 ? v.y : i % 4 == 2 ? v.z : v.w;
}

// Not by the read-only path: a predecessor that let this kernel start early may still write its inputs, and only
// ordinary loads stay behind wait_for_predecessor by the rules of the memory model.
VDN_DEVICE float load_global(const float* p) { return *p; }
VDN_DEVICE void store_global(float* p, float v) { *p = v; }
VDN_DEVICE void store_global(int* p, int v) { *p = v; }

}  // namespace vdn_delta::arch
