// SPDX-License-Identifier: Apache-2.0
//
// src/arch/vec_mem.cuh for the emulator: every access goes through the machine, which checks it.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

namespace detail {
template <class T>
T load_shared(const void* p, Where where) {
  T v;
  machine().read_shared(p, &v, sizeof(T), where);
  return v;
}
template <class T>
void store_shared(void* p, const T& v, Where where) {
  machine().write_shared(p, &v, sizeof(T), where);
}
template <class T>
void store_global(T* p, T v, Where where) {
  machine().check_global_write(p, sizeof(T), where);
  *p = v;
}
}  // namespace detail

inline float load_shared(const float* p, Where where = here()) { return detail::load_shared<float>(p, where); }
inline float2 load_shared2(const float* p, Where where = here()) { return detail::load_shared<float2>(p, where); }
inline float4 load_shared4(const float* p, Where where = here()) { return detail::load_shared<float4>(p, where); }
inline int load_shared(const int* p, Where where = here()) { return detail::load_shared<int>(p, where); }
inline void store_shared(float* p, float v, Where where = here()) { detail::store_shared(p, v, where); }
inline void store_shared_if(bool condition, float* p, float v, Where where = here()) {
  if (condition) detail::store_shared(p, v, where);
}
inline void store_shared2(float* p, float2 v, Where where = here()) { detail::store_shared(p, v, where); }
inline void store_shared4(float* p, float4 v, Where where = here()) { detail::store_shared(p, v, where); }
inline void store_shared(int* p, int v, Where where = here()) { detail::store_shared(p, v, where); }

struct SharedCursor {
  const float* place;
};
inline SharedCursor shared_cursor(const float* p) { return {p}; }
inline const float* shared_place(SharedCursor c, int words = 0) { return c.place + words; }
template <int words>
void advance(SharedCursor& c) {
  c.place += words;
}
inline bool operator!=(SharedCursor a, SharedCursor b) { return a.place != b.place; }
inline float* opaque_shared(float* p) { return p; }

inline float component(const float4& lo, const float4& hi, int i) {
  const float4& v = i < 4 ? lo : hi;
  return i % 4 == 0 ? v.x : i % 4 == 1 ? v.y : i % 4 == 2 ? v.z : v.w;
}

inline float load_global(const float* p, Where where = here()) {
  machine().check_global_read(p, sizeof(float), where);
  return *p;
}
inline void store_global(float* p, float v, Where where = here()) { detail::store_global(p, v, where); }
inline void store_global(int* p, int v, Where where = here()) { detail::store_global(p, v, where); }

}  // namespace vdn_delta::arch
