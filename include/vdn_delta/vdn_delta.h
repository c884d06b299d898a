/* SPDX-License-Identifier: Apache-2.0
 *
 * vdn_delta: T = diag(alpha) (I + A)^-1 and J = B (I + A)^-1 for N fp32 matrices of 128 x 128.
 *
 * This header is the whole public contract. It is C99 and needs no CUDA header.
 */
#ifndef VDN_DELTA_VDN_DELTA_H
#define VDN_DELTA_VDN_DELTA_H

#include <stddef.h>
#include <stdint.h>

/* The one place where the version is typed: the build reads it from here. */
#define VDN_VERSION_MAJOR 0
#define VDN_VERSION_MINOR 1
#define VDN_VERSION_PATCH 0

#if defined(__GNUC__)
#define VDN_API __attribute__((visibility("default")))
#else
#define VDN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Rows and columns of every matrix. */
#define VDN_DELTA_DIM 128
/* Largest accepted n. */
#define VDN_DELTA_MAX_N ((int64_t)1 << 30)

typedef enum vdn_status_t {
  VDN_STATUS_SUCCESS = 0,
  VDN_STATUS_INVALID_ARGUMENT = 1, /* n, an option's value, a pointer not 4-byte aligned */
  VDN_STATUS_NULL_POINTER = 2,     /* a required pointer is NULL */
  VDN_STATUS_OVERLAP = 3,          /* T, J or info overlaps an input or each other */
  VDN_STATUS_UNSUPPORTED = 4,      /* variant or device that this build cannot serve */
  VDN_STATUS_NO_DEVICE = 5,        /* no GPU, no driver, or a library built without CUDA */
  VDN_STATUS_NOT_PREPARED = 6,     /* first call on this device inside a stream capture */
  VDN_STATUS_CUDA_ERROR = 7,       /* the CUDA runtime refused; see vdn_last_error_message */
  VDN_STATUS_OUT_OF_MEMORY = 8     /* the host could not give memory or threads */
} vdn_status_t;

typedef enum vdn_variant_t {
  VDN_VARIANT_AUTO = 0,
  VDN_VARIANT_PAIR = 1,  /* 2-CTA cluster per matrix */
  VDN_VARIANT_SINGLE = 2 /* one CTA per matrix */
} vdn_variant_t;

typedef struct vdn_delta_options_t {
  size_t size; /* sizeof(vdn_delta_options_t) as the caller was compiled */
  vdn_variant_t variant;
  float a_scale;
  float b_scale;
  int32_t *info;
  int32_t programmatic_launch;
} vdn_delta_options_t;

#define VDN_DELTA_OPTIONS_INIT {sizeof(vdn_delta_options_t), VDN_VARIANT_AUTO, 1.0f, 1.0f, NULL, 0}

typedef struct vdn_delta_plan_t {
  size_t size; /* in: sizeof(vdn_delta_plan_t) as the caller was compiled */
  vdn_variant_t variant;
  int32_t device;
  int32_t capability_major, capability_minor;
  int32_t multiprocessors;
  int32_t grid;         /* CTAs */
  int32_t block;        /* threads per CTA */
  int32_t cluster;      /* CTAs per cluster */
  int32_t shared_bytes; /* dynamic shared memory per CTA */
  int32_t ctas_per_multiprocessor;
} vdn_delta_plan_t;

#define VDN_DELTA_PLAN_INIT {sizeof(vdn_delta_plan_t), VDN_VARIANT_AUTO, -1, 0, 0, 0, 0, 0, 0, 0, 0}

VDN_API vdn_status_t vdn_delta_factors(int64_t n, const float *A, const float *B, const float *alpha,
                                       float *T, float *J, const vdn_delta_options_t *options,
                                       void *stream);
VDN_API vdn_status_t vdn_delta_factors_host(int64_t n, const float *A, const float *B,
                                            const float *alpha, float *T, float *J,
                                            const vdn_delta_options_t *options, int threads);
VDN_API vdn_status_t vdn_delta_prepare(int device);
VDN_API vdn_status_t vdn_delta_plan(int64_t n, const vdn_delta_options_t *options, int device,
                                    vdn_delta_plan_t *plan);
VDN_API const char *vdn_status_string(vdn_status_t status);
VDN_API const char *vdn_last_error_message(void);
VDN_API int vdn_version(void); /* major * 10000 + minor * 100 + patch */

#ifdef __cplusplus
}
#endif

#endif /* VDN_DELTA_VDN_DELTA_H */
