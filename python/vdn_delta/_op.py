# SPDX-License-Identifier: Apache-2.0
"""The PyTorch operators vdn_delta::factors and vdn_delta::factors_out, and the two functions of the package.

Order of a call: `vdn_delta_factors` picks the operator; PyTorch's dispatcher picks `_factors_cuda`, `_factors_cpu` or
the fake implementation; that one checks its arguments, allocates what is to be returned, and makes one call of the C
library.

The host time of a call is part of its price: a serving loop makes it some hundred times in a second. Hence a call on a
GPU goes past the dispatcher where the dispatcher would do nothing else (`_is_direct`), and past the checks too where
its tensors look as those of an earlier call of that shape (`_known_call`); `Library.define` and `impl`, which the
dispatcher calls without the Python layer around `torch.library.custom_op` (several microseconds); checks that are one
expression, whose failure is explained elsewhere; and no device guard where the tensor's device is the current one.
"""
from __future__ import annotations

from typing import NoReturn

import torch
import torch.autograd.forward_ad as _forward_ad
from torch import Tensor

from . import _library as c

DIM = 128  # VDN_DELTA_DIM

_f32 = torch.float32
_grad_enabled = torch.is_grad_enabled
_empty_like = torch.empty_like
_threads = torch.get_num_threads
_increment_version = torch.autograd.graph.increment_version

_is_compiling = torch.compiler.is_compiling
# The innermost of torch.func's transforms that are under way, or None.
_transform = torch._C._functorch.peek_interpreter_stack
# Who could watch an operator being called (_is_watched).
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_mode = torch._C._is_torch_function_mode_enabled
_tracing = torch._C._get_tracing_state
_profiled = torch._C._autograd._profiler_enabled

# The functions behind torch.cuda.current_device and current_stream, without the objects around their answers; compiled
# code of PyTorch calls them too. A PyTorch without CUDA has neither, and never gets here with a CUDA tensor.
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
if _raw_stream is None:
    def _raw_stream(index: int) -> int:
        return torch.cuda.current_stream(index).cuda_stream

# What torch.empty_like comes to for a contiguous tensor on the current device, a microsecond faster for two of them;
# compiled code allocates by it. (sizes, strides, dtype), the first two as plain tuples.
_guards = getattr(torch._C._dynamo, "guards", None)
_empty_strided_cuda = getattr(_guards, "_empty_strided_cuda", None)


# ---- checks ---------------------------------------------------------------------------------------------------------


def _accepted(A: Tensor, B: Tensor, alpha: Tensor) -> bool:
    """Nothing here may look at a pointer or at data: it also runs on tensors that have neither."""
    shape = A.shape
    return (
        A.dtype is _f32 and B.dtype is _f32 and alpha.dtype is _f32
        and len(shape) >= 2 and shape[-1] == DIM and shape[-2] == DIM
        and B.shape == shape and alpha.shape == shape[:-1]
        and A.is_contiguous() and B.is_contiguous() and alpha.is_contiguous()
        and A.device == B.device == alpha.device
        and not (_grad_enabled() and (A.requires_grad or B.requires_grad or alpha.requires_grad))
    )  # fmt: skip


_OUTPUTS = ("T", "J", "info")  # what is written into: of these a copy would get the results, and the tensor nothing


def _refuse_derivative(name: str, tensor: Tensor, what: str = "requires grad") -> NoReturn:
    # Grad mode says nothing about tangents. A detached tensor has none, and has the memory of the one it is made from.
    ways = "call it " + ("" if what == "has a tangent" else "under torch.no_grad(), or ")
    ways += f"with {name}.detach(), which writes into the same memory" if name in _OUTPUTS else "with detached tensors"
    raise ValueError(f"{name} {what}, shape {tuple(tensor.shape)}: vdn_delta_factors is not differentiable; {ways}")


def _check_one(name: str, tensor: object, dtype: torch.dtype, shape: tuple | None, device: torch.device | None) -> None:
    """Raises unless `tensor` is what is wanted; None wants nothing."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(tensor).__name__}")
    if tensor.dtype is not dtype:
        raise TypeError(f"{name} must be {dtype}, not {tensor.dtype}, shape {tuple(tensor.shape)}")
    if shape is not None and tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, not {tuple(tensor.shape)}")
    if device is not None and tensor.device != device:
        raise ValueError(f"{name} must be on {device}, as A, not on {tensor.device}")
    if not tensor.is_contiguous():
        way = (f"{name} is written into: pass a contiguous tensor" if name in _OUTPUTS
               else f"{name}.contiguous() makes a copy that is")
        raise ValueError(f"{name} must be contiguous, not of shape {tuple(tensor.shape)} with strides "
                         f"{tuple(tensor.stride())}; {way}")
    if tensor.requires_grad and _grad_enabled():
        _refuse_derivative(name, tensor)


def _refuse(A: object, B: object, alpha: object) -> NoReturn:
    """Says why `_accepted` did not hold."""
    if isinstance(A, Tensor) and A.dtype is _f32 and tuple(A.shape[-2:]) != (DIM, DIM):
        raise ValueError(f"A must have shape (..., {DIM}, {DIM}), not {tuple(A.shape)}")
    _check_one("A", A, _f32, None, None)
    shape = tuple(A.shape)
    _check_one("B", B, _f32, shape, A.device)
    _check_one("alpha", alpha, _f32, shape[:-1], A.device)
    raise AssertionError("a refused call that looks right")


def _outputs_accepted(A: Tensor, T: Tensor, J: Tensor, info: Tensor | None) -> bool:
    shape, device = A.shape, A.device
    return (
        T.dtype is _f32 and J.dtype is _f32 and T.shape == shape and J.shape == shape
        and T.is_contiguous() and J.is_contiguous() and T.device == device and J.device == device
        and not (_grad_enabled() and (T.requires_grad or J.requires_grad))
        and (info is None or info.dtype is torch.int32 and info.shape == shape[:-2] and info.is_contiguous()
             and info.device == device)
    )  # fmt: skip


def _refuse_outputs(A: Tensor, T: Tensor, J: Tensor, info: Tensor | None) -> NoReturn:
    _check_one("T", T, _f32, A.shape, A.device)
    _check_one("J", J, _f32, A.shape, A.device)
    _check_one("info", info, torch.int32, A.shape[:-2], A.device)
    raise AssertionError("refused outputs that look right")


# ---- the work -------------------------------------------------------------------------------------------------------

_prepared: set[int] = set()  # CUDA devices whose kernels are loaded


def _prepare(index: int) -> None:
    """Before the first call on a device: such a call may lie inside a graph capture, where the library would not load
    its kernels by itself. Preparing leaves a capture intact."""
    status = c.prepare(index)
    if status:
        c.fail(status)
    _prepared.add(index)


# This and the next two return the status: who has the scales as they were given can name them in the failure (c.fail).
def _enqueue(A: Tensor, B: Tensor, alpha: Tensor, T: Tensor, J: Tensor, options) -> int:
    n = A.numel() // (DIM * DIM)
    index = A.get_device()
    if n and index not in _prepared:
        _prepare(index)
    if index != _current_device():
        with torch.cuda.device(index):
            return _enqueue_here(n, index, A, B, alpha, T, J, options)
    return _enqueue_here(n, index, A, B, alpha, T, J, options)


def _enqueue_here(n: int, index: int, A: Tensor, B: Tensor, alpha: Tensor, T: Tensor, J: Tensor, options) -> int:
    return c.factors(n, A.data_ptr(), B.data_ptr(), alpha.data_ptr(), T.data_ptr(), J.data_ptr(), options,
                     _raw_stream(index))


def _compute(A: Tensor, B: Tensor, alpha: Tensor, T: Tensor, J: Tensor, options) -> int:
    return c.factors_host(A.numel() // (DIM * DIM), A.data_ptr(), B.data_ptr(), alpha.data_ptr(), T.data_ptr(),
                          J.data_ptr(), options, _threads())


def _factors_cuda(A, B, alpha, a_scale=1.0, b_scale=1.0, variant="auto"):
    if not _accepted(A, B, alpha):
        _refuse(A, B, alpha)
    if _empty_strided_cuda is not None and A.get_device() == _current_device():
        shape = tuple(A.shape)
        T, J = _empty_strided_cuda(shape, A.stride(), _f32), _empty_strided_cuda(shape, B.stride(), _f32)
    else:
        T, J = _empty_like(A), _empty_like(B)
    status = _enqueue(A, B, alpha, T, J, c.options(variant, a_scale, b_scale, None))
    if status:
        c.fail(status, a_scale, b_scale)
    return T, J


def _factors_cpu(A, B, alpha, a_scale=1.0, b_scale=1.0, variant="auto"):
    if not _accepted(A, B, alpha):
        _refuse(A, B, alpha)
    T, J = _empty_like(A), _empty_like(B)
    status = _compute(A, B, alpha, T, J, c.options(variant, a_scale, b_scale, None))
    if status:
        c.fail(status, a_scale, b_scale)
    return T, J


def _factors_fake(A, B, alpha, a_scale=1.0, b_scale=1.0, variant="auto"):
    if not _accepted(A, B, alpha):
        _refuse(A, B, alpha)
    return _empty_like(A), _empty_like(B)


def _factors_out_cuda(A, B, alpha, T, J, info=None, a_scale=1.0, b_scale=1.0, variant="auto"):
    _factors_out(_enqueue, A, B, alpha, T, J, info, a_scale, b_scale, variant)


def _factors_out_cpu(A, B, alpha, T, J, info=None, a_scale=1.0, b_scale=1.0, variant="auto"):
    _factors_out(_compute, A, B, alpha, T, J, info, a_scale, b_scale, variant)


def _factors_out(work, A, B, alpha, T, J, info, a_scale, b_scale, variant):
    _factors_out_fake(A, B, alpha, T, J, info)
    status = work(A, B, alpha, T, J, c.options(variant, a_scale, b_scale, None if info is None else info.data_ptr()))
    if status:
        c.fail(status, a_scale, b_scale)
    # What was saved for a backward pass and is now overwritten must be noticed there.
    _increment_version((T, J) if info is None else (T, J, info))


def _factors_out_fake(A, B, alpha, T, J, info=None, a_scale=1.0, b_scale=1.0, variant="auto"):
    if not _accepted(A, B, alpha):
        _refuse(A, B, alpha)
    if not _outputs_accepted(A, T, J, info):
        _refuse_outputs(A, T, J, info)


# ---- registration ---------------------------------------------------------------------------------------------------

# Compiled code must hand over its tensors with the strides that eager code would.
_tags = (torch.Tag.pt2_compliant_tag, getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order))
_settings = "float a_scale=1.0, float b_scale=1.0, str variant='auto'"

_lib = torch.library.Library("vdn_delta", "DEF")  # the registration lasts as long as this object


def _refuse_derivatives(operator):
    """The autograd kernel of an operator that has no derivative: refuses where one would be asked for, by reverse or
    forward mode or by a transform of torch.func, whose wrappers are gone below this key."""

    def kernel(*args):
        for name, x in zip(("A", "B", "alpha", "T", "J", "info"), args):
            if not isinstance(x, Tensor):
                continue
            if _forward_ad._current_level >= 0 and _forward_ad.unpack_dual(x).tangent is not None:
                _refuse_derivative(name, x, "has a tangent")
            if x.requires_grad and _grad_enabled():
                _refuse_derivative(name, x)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*args)

    return kernel


def _register(name, schema, cuda, cpu, fake):
    """Two operators of one schema: `name`, which refuses derivatives in every case, and `_name` without that check, for
    the functions below, which know when it is not needed: a kernel in Python on the autograd key takes 4 us."""
    for operator in (name, f"_{name}"):
        _lib.define(f"{operator}({schema}", tags=_tags)
        _lib.impl(operator, cuda, "CUDA")
        _lib.impl(operator, cpu, "CPU")
        torch.library.register_fake(f"vdn_delta::{operator}", fake, lib=_lib)
    checked, plain = (getattr(torch.ops.vdn_delta, operator).default for operator in (name, f"_{name}"))
    _lib.impl(name, _refuse_derivatives(checked), "Autograd")
    _lib.impl(f"_{name}", torch.library.fallthrough_kernel, "Autograd")
    return checked, plain


_factors_checked, _factors_plain = _register(
    "factors", f"Tensor A, Tensor B, Tensor alpha, {_settings}) -> (Tensor T, Tensor J)",
    _factors_cuda, _factors_cpu, _factors_fake)
_factors_out_checked, _factors_out_plain = _register(
    "factors_out", "Tensor A, Tensor B, Tensor alpha, Tensor(a!) T, Tensor(b!) J, Tensor(c!)? info=None, "
    f"{_settings}) -> ()", _factors_out_cuda, _factors_out_cpu, _factors_out_fake)


def _is_plain() -> bool:
    """Whether nothing is under way that could want a derivative of tensors that do not say so themselves."""
    return not _is_compiling() and _forward_ad._current_level < 0 and _transform() is None


def _is_watched() -> bool:
    """Whether somebody wants to see operators being called: a mode, torch.jit.trace, this thread's profiler."""
    return _dispatch_modes() > 0 or _function_mode() or _tracing() is not None or _profiled()


def _ordinary_keys() -> set[int]:
    """The dispatch keys of tensors with which the dispatcher would go straight to the CUDA kernel: no views yet to be
    resolved, no sparse, nested, functional or batched ones, and none of a kind that this code has never heard of."""
    keys = set()
    for inference in (False, True):
        with torch.inference_mode(inference):
            keys.add(torch._C._dispatch_keys(torch.empty(0, device="cuda")).raw_repr())
    return keys


_ordinary: set[int] = set()


def _is_direct(tensors) -> bool:
    """Whether the dispatcher, asked for a plain operator, would do nothing but call its CUDA kernel."""
    if not tensors[0].is_cuda or _is_watched():
        return False
    if not _ordinary:
        _ordinary.update(_ordinary_keys())
    return all(type(x) is Tensor and torch._C._dispatch_keys(x).raw_repr() in _ordinary for x in tensors)


# ---- calls like an earlier one --------------------------------------------------------------------------------------

# The guards of compiled code: one call compares types, dtypes, shapes, strides, devices, requires_grad and dispatch
# keys of some tensors with what they were, in 0.2 us; `_accepted` and `_is_direct` together take some 3. A nested
# tensor must not come near them: they would end the process.
_TensorGuards = getattr(_guards, "TensorGuards", None)

# By the number of tensors (3, 4 with info, 5 with out, 6 with both) and the shape of A: a check that tensors look like
# those of the last such call that was direct, and what to know of it (_known_call). Another thread may replace an entry
# at any time, by one that is as good.
_known_calls: dict[tuple, tuple] = {}


def _check_of(tensors):
    return _TensorGuards(*tensors, dynamic_dims_sizes=[list(x.shape) for x in tensors],
                         dynamic_dims_strides=[list(x.stride()) for x in tensors]).check


def _guards_work() -> bool:
    """They are no public interface of PyTorch: they are used if they do what is expected of them."""
    try:
        x, y = torch.empty(2, 3), torch.empty(3)
        check = _check_of((x, y))
        return check(x, y) and check(torch.empty(2, 3), y) and not any(
            check(other, y) for other in (torch.empty(3, 3), torch.empty(3, 2).mT, x.double(), torch._neg_view(x),
                                          x.to("meta"), torch.nn.Parameter(x), x.clone().requires_grad_(), y, None))
    except Exception:
        return False


if not _guards_work():
    _TensorGuards = None


def _remember(tensors) -> None:
    """A direct call with these tensors has gone well. The guards never take a tensor that comes twice."""
    if (_TensorGuards is None or _empty_strided_cuda is None or any(x.requires_grad for x in tensors)
            or len(set(map(id, tensors))) < len(tensors)):
        return
    A, B = tensors[:2]
    try:
        check = _check_of(tensors)
    except Exception:  # the call is done; only the next one will be checked again
        return
    if len(_known_calls) >= 64:  # shapes that change with every call must not pile up
        _known_calls.clear()
    call = A.numel() // (DIM * DIM), A.get_device(), tuple(A.shape), A.stride(), B.stride()
    _known_calls[len(tensors), A.shape] = check, call


def _known_call(tensors) -> tuple | None:
    """n, device, and shape and strides of T and J, if a call with these tensors may go like an earlier one."""
    A = tensors[0]
    if type(A) is not Tensor or _is_watched():
        return None
    for x in tensors:
        if not isinstance(x, Tensor) or x.is_nested:
            return None
    known = _known_calls.get((len(tensors), A.shape))
    if known is None:
        return None
    check, call = known
    return call if check(*tensors) and call[1] == _current_device() else None


# ---- the functions --------------------------------------------------------------------------------------------------


def _settings_of(a_scale, b_scale, variant) -> tuple[float, float, str]:
    """Numbers of other types than float as floats; what is no number is refused, a tensor too: it may require grad, and
    its value may have to be waited for."""
    scales = []
    for name, scale in (("a_scale", a_scale), ("b_scale", b_scale)):
        if isinstance(scale, (Tensor, str, bytes)) or not hasattr(scale, "__float__"):
            raise TypeError(f"{name} must be a number, not {type(scale).__name__}")
        try:
            scales.append(float(scale))
        except OverflowError:
            raise ValueError(f"{name} must be finite and > 0 as float32, not a number beyond float64") from None
    if not isinstance(variant, str):
        raise TypeError(f"variant must be a str, not {type(variant).__name__}")
    return scales[0], scales[1], variant


def vdn_delta_factors(
    A: Tensor,
    B: Tensor,
    alpha: Tensor,
    *,
    a_scale: float = 1.0,
    b_scale: float = 1.0,
    variant: str = "auto",
    info: Tensor | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns T = diag(alpha) (I + a_scale A)^-1 and J = b_scale B (I + a_scale A)^-1, for each matrix of a batch.

    A and B have shape (..., 128, 128), alpha has shape (..., 128): fp32, contiguous, on one device, CUDA or CPU. Only
    the lower triangle of A counts. On a CUDA device the call enqueues one kernel on the current stream and returns; it
    neither synchronizes nor allocates anything but T and J. On the CPU it uses torch.get_num_threads() threads.

    variant: "auto", "pair", "single" or "compact", the GPU kernel to use; the bits are the same.
    info: int32 of shape (...,), contiguous, on the device of A; for each matrix it receives 0, or the order 1 .. 128 of
        the first pivot that is not positive. T and J of such a matrix are NaN, with or without info.
    out: (T, J) to write into, of the shape of A; they must not overlap each other nor an input.

    Raises TypeError for what is no fp32 tensor, ValueError for shapes, strides, devices, overlaps and for tensors that
    require grad while grad mode is on (there is no derivative), RuntimeError if the GPU cannot do it.
    """
    if not (isinstance(A, Tensor) and isinstance(B, Tensor) and isinstance(alpha, Tensor)):
        for name, tensor in (("A", A), ("B", B), ("alpha", alpha)):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{name} must be a torch.Tensor, not {type(tensor).__name__}")
    if type(a_scale) is not float or type(b_scale) is not float or type(variant) is not str:
        a_scale, b_scale, variant = _settings_of(a_scale, b_scale, variant)
    if out is None:
        tensors = (A, B, alpha) if info is None else (A, B, alpha, info)
    elif isinstance(out, (tuple, list)) and len(out) == 2:
        tensors = (A, B, alpha, *out) if info is None else (A, B, alpha, *out, info)
    else:
        length = f" of length {len(out)}" if isinstance(out, (tuple, list)) else ""
        raise TypeError(f"out must be a pair of tensors (T, J), not {type(out).__name__}{length}")
    plain = _is_plain()
    known = _known_call(tensors) if plain else None
    if known is not None:
        n, index, shape, strides_T, strides_J = known
        if out is None:
            T, J = _empty_strided_cuda(shape, strides_T, _f32), _empty_strided_cuda(shape, strides_J, _f32)
        else:
            T, J = out
        status = _enqueue_here(n, index, A, B, alpha, T, J,
                               c.options(variant, a_scale, b_scale, None if info is None else info.data_ptr()))
        if status:
            c.fail(status, a_scale, b_scale)
        if len(tensors) > 3:
            _increment_version((T, J) if info is None else (T, J, info))
        return T, J
    if info is None and out is None:
        if plain and _is_direct(tensors):
            result = _factors_cuda(A, B, alpha, a_scale, b_scale, variant)
            _remember(tensors)
            return result
        operator = _factors_plain if plain else _factors_checked
        if a_scale == 1.0 and b_scale == 1.0 and variant == "auto":
            return operator(A, B, alpha)  # each argument passed costs the dispatcher a fifth of a microsecond
        return operator(A, B, alpha, a_scale, b_scale, variant)
    if out is None:
        if not _accepted(A, B, alpha):
            _refuse(A, B, alpha)
        T, J = _empty_like(A), _empty_like(B)
    else:
        T, J = out
        for name, tensor in (("T", T), ("J", J)):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"out: {name} must be a torch.Tensor, not {type(tensor).__name__}")
        # The library refuses every overlap, but compiled code may have replaced the tensors by copies until then.
        if T is J or T is A or T is B or J is A or J is B:
            raise ValueError("out: T and J must be neither the same tensor nor an input; nothing is computed in place")
    if info is not None and not isinstance(info, Tensor):
        raise TypeError(f"info must be a torch.Tensor, not {type(info).__name__}")
    if plain:  # what PyTorch makes of such a view is not written into by an operator that returns nothing
        for name, tensor in (("T", T), ("J", J), ("info", info)):
            if tensor is not None and tensor.is_neg():
                raise ValueError(f"{name} is a view with the negative bit, and is written into: pass a tensor without")
        if _is_direct(tensors):
            _factors_out_cuda(A, B, alpha, T, J, info, a_scale, b_scale, variant)
            _remember(tensors)
            return T, J
    (_factors_out_plain if plain else _factors_out_checked)(A, B, alpha, T, J, info, a_scale, b_scale, variant)
    return T, J


_serves_answers: dict[int, bool] = {}


def _serves(index: int) -> bool:
    """Whether the library has a kernel for this CUDA device; asked once."""
    answer = _serves_answers.get(index)
    if answer is None:
        status = c.prepare(index)
        answer = status == c.SUCCESS
        if answer:
            _prepared.add(index)
        if status in (c.SUCCESS, c.UNSUPPORTED, c.NO_DEVICE):  # others may pass
            _serves_answers[index] = answer
    return answer


# What torch.compiler.assume_constant_result says, without loading the compiler at import.
_serves._dynamo_marked_constant = True  # type: ignore[attr-defined]


def can_use_vdn_delta_factors(A: Tensor, B: Tensor, alpha: Tensor) -> bool:
    """Whether vdn_delta_factors would take these tensors on a GPU: for callers that have another way to compute.

    True for contiguous fp32 CUDA tensors of the right shapes on one device that the library has a kernel for, wherever
    in their storage they begin. False for CPU tensors, although vdn_delta_factors takes them, and for tensors that
    require grad while grad mode is on.
    """
    return (
        isinstance(A, Tensor) and isinstance(B, Tensor) and isinstance(alpha, Tensor)
        and A.is_cuda and A.layout is B.layout is alpha.layout is torch.strided
        and _accepted(A, B, alpha) and _serves(A.get_device())
    )  # fmt: skip
