/* SPDX-License-Identifier: Apache-2.0
 *
 * vdn_delta: T = diag(alpha) (I + A)^-1 and J = B (I + A)^-1 for N fp32 matrices of 128 x 128.
 *
 * This header is the whole public contract. It is C99 and needs no CUDA header.
 *
 * Every function that returns a vdn_status_t behaves alike in three things:
 *   - it never prints, exits, aborts or throws;
 *   - on any status other than VDN_STATUS_SUCCESS nothing was enqueued and no output was written, except where a
 *     function says otherwise;
 *   - it leaves a message for its thread: the reason of the failure, or "" (see vdn_last_error_message).
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
  VDN_STATUS_INVALID_ARGUMENT = 1, /* a value out of its range, a misaligned pointer, a stream that is none */
  VDN_STATUS_NULL_POINTER = 2,     /* a required pointer is NULL */
  VDN_STATUS_OVERLAP = 3,          /* T, J or info overlaps an input or each other */
  VDN_STATUS_UNSUPPORTED = 4,      /* a variant or a GPU that this build cannot serve */
  VDN_STATUS_NO_DEVICE = 5,        /* no GPU, no usable driver, or a library built without CUDA */
  VDN_STATUS_NOT_PREPARED = 6,     /* first call on this device inside a stream capture */
  VDN_STATUS_CUDA_ERROR = 7,       /* the CUDA runtime refused; the message says what it answered */
  VDN_STATUS_OUT_OF_MEMORY = 8,    /* host or GPU could not give memory */
  VDN_STATUS_MAX_ENUM = 0x7fffffff /* never returned; makes every int >= 0 a value of the type */
} vdn_status_t;

typedef enum vdn_variant_t {
  VDN_VARIANT_AUTO = 0,             /* the library chooses, by GPU and n, see vdn_delta_factors */
  VDN_VARIANT_PAIR = 1,             /* two CTAs (a cluster) per matrix: the shortest time for few matrices */
  VDN_VARIANT_SINGLE = 2,           /* one CTA per matrix, for many; on GPUs of 9.0, 10.0 and 10.3 alone */
  VDN_VARIANT_COMPACT = 3,          /* one CTA per matrix, with less shared memory: also for GPUs older than 9.0 */
  VDN_VARIANT_MAX_ENUM = 0x7fffffff /* refused; makes every int >= 0 a value of the type */
} vdn_variant_t;

/*
 * What can be asked of a call beyond its arrays. Start from VDN_DELTA_OPTIONS_INIT and set what differs; a NULL pointer
 * in place of options means VDN_DELTA_OPTIONS_INIT.
 *
 * Fields are only ever appended. `size` may be sizeof(vdn_delta_options_t) as the caller was compiled, or
 * offsetof(vdn_delta_options_t, FIELD): FIELD and what follows it are then not read and have their defaults. Every
 * other size is refused, a larger one above all: it asks for something that this library does not know.
 */
typedef struct vdn_delta_options_t {
  size_t size;
  vdn_variant_t variant;       /* default VDN_VARIANT_AUTO */
  int32_t programmatic_launch; /* 0 or 1, default 0. 1: launched with programmatic stream serialization; every warp of
                                  the kernel waits for its predecessor in the stream before its first read. Without
                                  effect on GPUs older than 9.0, which have no such launch */
  float a_scale;               /* finite, > 0, default 1: the inverse is that of I + a_scale A */
  float b_scale;               /* finite, > 0, default 1: J = b_scale B (I + a_scale A)^-1 */
  int32_t* info;               /* [n] or NULL (the default): one word per matrix, see vdn_delta_factors. Device memory
                                  for vdn_delta_factors, host memory for vdn_delta_factors_host */
} vdn_delta_options_t;

#define VDN_DELTA_OPTIONS_INIT {sizeof(vdn_delta_options_t), VDN_VARIANT_AUTO, 0, 1.0f, 1.0f, NULL}

/*
 * What a call would launch. Start from VDN_DELTA_PLAN_INIT. `size` follows the rule of vdn_delta_options_t: fields at
 * or beyond it are not written, a larger one than this library knows is refused.
 */
typedef struct vdn_delta_plan_t {
  size_t size;
  vdn_variant_t variant;    /* PAIR, SINGLE or COMPACT, never AUTO */
  int32_t device;           /* CUDA ordinal */
  int32_t capability_major; /* compute capability of the GPU */
  int32_t capability_minor;
  int32_t multiprocessors;         /* of the GPU */
  int32_t grid;                    /* CTAs; 0 for n = 0: nothing is launched */
  int32_t block;                   /* threads per CTA */
  int32_t cluster;                 /* CTAs per cluster, 1 without clusters */
  int32_t shared_bytes;            /* dynamic shared memory per CTA */
  int32_t ctas_per_multiprocessor; /* resident CTAs, from the occupancy query of this GPU */
} vdn_delta_plan_t;

#define VDN_DELTA_PLAN_INIT {sizeof(vdn_delta_plan_t), VDN_VARIANT_AUTO, -1, 0, 0, 0, 0, 0, 0, 0, 0}

/*
 * Computes, for each m in 0 .. n-1,
 *     T[m] = diag(alpha[m]) (I + a_scale A[m])^-1        the rows of the inverse, scaled
 *     J[m] = b_scale B[m] (I + a_scale A[m])^-1
 * on the current device, with one kernel launch.
 *
 * Variant: VDN_VARIANT_AUTO takes the variant that is fastest for n by a table of measured times, of those that the GPU
 * can run: on an H200 PAIR for n <= 66 and for n = 133..198, COMPACT for n = 67..132, SINGLE beyond; COMPACT for every
 * n on GPUs older than 9.0. One call uses one variant. Which one changes the time and nothing else: all give the same
 * bits.
 *
 * Shapes: A, B, T, J are [n, 128, 128], alpha is [n, 128], options->info is [n]; fp32 and int32, row-major, dense, in
 * memory that the current device can access. 0 <= n <= VDN_DELTA_MAX_N; with n = 0 the call succeeds, launches nothing,
 * needs no GPU, and the pointers may be NULL. Otherwise all five pointers are required, T and J included. Any 4-byte
 * alignment is accepted and gives the same bits as aligned data. A is symmetric, I + a_scale A positive definite; only
 * the lower triangle of A (row >= column) counts: the strict upper one may hold anything, has no influence on any
 * result, and A need not be symmetrised.
 *
 * Aliasing: A, B and alpha are not written and may overlap each other (A == B is fine). T, J and info must overlap
 * neither an input nor each other, in any byte of the ranges above; in-place use is refused.
 *
 * Errors, found in this order, before anything is launched:
 *     INVALID_ARGUMENT   options->size unknown; variant, programmatic_launch, a_scale or b_scale out of range; n out of
 *                        range
 *     NULL_POINTER       A, B, alpha, T or J is NULL (n > 0)
 *     INVALID_ARGUMENT   a pointer, info included, that is not 4-byte aligned
 *     OVERLAP            see Aliasing
 *     NO_DEVICE          no GPU, no driver that this library can use, or a library built without CUDA
 *     NOT_PREPARED       this is the first call on the current device and `stream` is being captured: call
 *                        vdn_delta_prepare, or this function once outside a capture, first. The capture stays valid
 *     UNSUPPORTED        the GPU is older than compute capability 8.0, or cannot hold a kernel; PAIR is forced on one
 *                        older than 9.0, or SINGLE on one other than those named below; PAIR is forced and no cluster
 *                        fits on the GPU, as on a MIG slice or in a green context with few multiprocessors
 * and by the CUDA runtime while preparing or launching:
 *     INVALID_ARGUMENT   the runtime knows no such stream
 *     OUT_OF_MEMORY      the kernels could not be loaded for lack of memory
 *     CUDA_ERROR         anything else, such as an error left by earlier work on the device
 * The runtime's own last error (cudaGetLastError) is left clean after a failure.
 *
 * Per matrix: info[m], if asked for, is written for every m: 0, or the order p in 1 .. 128 (as LAPACK counts) of the
 * first pivot of the Cholesky factorization of I + a_scale A[m], in natural order, that is not in (0, FLT_MAX], be it
 * negative, zero, infinite or NaN. Where a pivot is bad, with or without info, T[m] and J[m] are quiet NaN in all
 * 128 x 128 entries, and no other matrix is affected. A NaN in B reaches the same row of J alone, one in alpha the same
 * row of T alone, and neither sets info.
 *
 * Stream: `stream` is a cudaStream_t of the current device. One of another device is not noticed: the runtime of CUDA
 * 13 runs the kernel there, with this device's plan, and to ask it for a stream's device breaks captures. NULL is the
 * legacy default stream, also where the caller was built for per-thread default streams; cudaStreamLegacy and
 * cudaStreamPerThread are passed through. The kernel is enqueued and the call returns, before it has run: outputs and
 * info are valid when the work before them in the stream is done. No synchronization, no allocation, no other work on
 * any stream. The first call on a device also does what vdn_delta_prepare does, which may load code. Prepared calls can
 * be captured into a graph, as one kernel node. Host pointers are never read through.
 *
 * Thread-safety: any number of threads, on the same or different devices and streams.
 *
 * Accuracy: on the model's inputs with 1008 tokens (docs/numerics.md) the relative Frobenius error against fp64 is at
 * most 1e-6 for T and for J. It grows with the condition number of I + a_scale A: up to about 1e-5 on the same inputs
 * with 16 or 64 tokens at beta scale 100. All arithmetic is fp32; no tensor cores, whatever the TF32 settings of the
 * process. Determinism: the same call gives the same bits, always. On one kind of GPU the bits of a matrix, in T, J and
 * info, depend neither on the variant nor on n, its place in the batch, alignment, stream or graph; so VDN_VARIANT_AUTO
 * is batch-invariant. Not promised: equal bits between kinds of GPU, between GPU and CPU, or between versions of the
 * library.
 *
 * Requires: compute capability 8.0 or newer; a driver for the CUDA version of the build or of the same major version.
 * The library holds code of COMPACT for 8.x, 9.0, 10.x and 12.x, of PAIR for 9.0 and 10.x, and of SINGLE for 9.0, 10.0
 * and 10.3 (built by nvcc 12.8: for 9.0 and 10.0), which alone have what it needs. Newer GPUs, and PAIR on 12.x, are
 * served through the driver's just-in-time compiler, but for SINGLE, which runs on no other GPU. A CTA has to have 94
 * KB of shared memory for COMPACT, 86 for PAIR, 226 for SINGLE. VDN_VARIANT_COMPACT since 0.1. Since: 0.1.
 */
VDN_API vdn_status_t vdn_delta_factors(int64_t n, const float* A, const float* B, const float* alpha, float* T,
                                       float* J, const vdn_delta_options_t* options, void* stream);

/*
 * Like vdn_delta_factors, but on host memory, by the CPU path, and complete when it returns.
 *
 * Shapes: like vdn_delta_factors; all pointers, options->info included, are host memory. `threads` is the number of
 * threads over the batch, the caller's own among them: 0 is one per processor that the calling thread may run on; never
 * more than n or 1024 are used, and fewer where the system refuses one. Any 4-byte alignment is accepted. Only the
 * lower triangle of A is read.
 *
 * Aliasing: like vdn_delta_factors.
 *
 * Errors:
 *     INVALID_ARGUMENT, NULL_POINTER, OVERLAP   like vdn_delta_factors, and threads < 0
 *     OUT_OF_MEMORY                             no memory for the caller's scratch; T, J and info are then untouched
 * options->variant and options->programmatic_launch are checked like there and have no effect.
 *
 * Per matrix: like vdn_delta_factors, with the same info and the same quiet NaN.
 *
 * Stream: none; no GPU is touched. The threads have ended when the call returns, none is kept. The floating-point mode
 * of the process is left alone.
 *
 * Thread-safety: any number of threads, each call with threads of its own.
 *
 * Accuracy: the bound of vdn_delta_factors. Determinism: the bits of a matrix depend neither on `threads` nor on n nor
 * on its place in the batch. Not promised: equal bits between processors with different vector instructions, or with
 * the GPU.
 *
 * Requires: any x86-64 or aarch64 processor. Since: 0.1.
 */
VDN_API vdn_status_t vdn_delta_factors_host(int64_t n, const float* A, const float* B, const float* alpha, float* T,
                                            float* J, const vdn_delta_options_t* options, int threads);

/*
 * Does everything lazy that vdn_delta_factors needs on one device, for all variants: loads the kernels, sets their
 * attributes, asks their occupancy. Later calls on that device can be captured from the first one on.
 *
 * `device` is a CUDA ordinal, or -1 for the current device. The caller's current device stays what it is. Preparing a
 * prepared device does the work again, which is cheap and needed after cudaDeviceReset alone. A failed try is not
 * remembered: the next one starts afresh.
 *
 * Aliasing: no memory of the caller is involved.
 *
 * Errors:
 *     INVALID_ARGUMENT   no such device
 *     NO_DEVICE          like vdn_delta_factors
 *     UNSUPPORTED        the device can run no variant; the message says why
 *     OUT_OF_MEMORY      no memory for the kernels
 *     CUDA_ERROR         anything else
 *
 * Per matrix: nothing.
 *
 * Stream: enqueues nothing. May load code and synchronize with the device; captures in progress, on whatever thread,
 * stay valid.
 *
 * Thread-safety: any number of threads; two that prepare the same device wait for each other.
 *
 * Accuracy: no effect on any result.
 *
 * Requires: like vdn_delta_factors. Since: 0.1.
 */
VDN_API vdn_status_t vdn_delta_prepare(int device);

/*
 * Says what vdn_delta_factors would launch for this n and these options on a device, without launching it.
 *
 * `n` and `options` as in vdn_delta_factors; options->info is not looked at. `device` as in vdn_delta_prepare; an
 * unprepared device is prepared, as its occupancy is part of the answer. `plan` is host memory with `size` set, see
 * vdn_delta_plan_t.
 *
 * Aliasing: plan and options must not overlap.
 *
 * Errors:
 *     NULL_POINTER       plan is NULL
 *     INVALID_ARGUMENT   plan->size unknown; n or options like vdn_delta_factors; no such device
 *     NO_DEVICE, UNSUPPORTED, OUT_OF_MEMORY, CUDA_ERROR   like vdn_delta_prepare; UNSUPPORTED for a forced variant too
 * *plan is written on success only.
 *
 * Per matrix: nothing.
 *
 * Stream: like vdn_delta_prepare.
 *
 * Thread-safety: like vdn_delta_prepare.
 *
 * Accuracy: the variant named is the one that a call computes with. The same device, n and options give the same plan.
 *
 * Requires: like vdn_delta_factors. Since: 0.1.
 */
VDN_API vdn_status_t vdn_delta_plan(int64_t n, const vdn_delta_options_t* options, int device, vdn_delta_plan_t* plan);

/*
 * Names a status: "VDN_STATUS_OVERLAP" for VDN_STATUS_OVERLAP, "unknown vdn_status_t" for what is none. The string is
 * static. Leaves the message of vdn_last_error_message alone.
 *
 * Thread-safety: any number of threads.
 *
 * Since: 0.1.
 */
VDN_API const char* vdn_status_string(vdn_status_t status);

/*
 * The message of the last call of this thread that returned a vdn_status_t: English, one line, naming the argument or
 * quoting the CUDA runtime; "" after a success and before the first call. Never NULL. The pointer is valid, and the
 * text unchanged, until the next such call of the same thread. Wording is not part of the contract.
 *
 * Thread-safety: any number of threads; each has a message of its own.
 *
 * Since: 0.1.
 */
VDN_API const char* vdn_last_error_message(void);

/*
 * The version of the library that was loaded: major * 10000 + minor * 100 + patch. Compare with VDN_VERSION_MAJOR and
 * so on, the version that the caller was compiled for.
 *
 * Thread-safety: any number of threads.
 *
 * Since: 0.1.
 */
VDN_API int vdn_version(void);

#ifdef __cplusplus
}
#endif

#endif /* VDN_DELTA_VDN_DELTA_H */
