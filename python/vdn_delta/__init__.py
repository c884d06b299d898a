# SPDX-License-Identifier: Apache-2.0
"""vdn_delta for PyTorch: T = diag(alpha) (I + A)^-1 and J = B (I + A)^-1 for many fp32 128 x 128 matrices.

    from vdn_delta import vdn_delta_factors
    T, J = vdn_delta_factors(A, B, alpha)

The C library lies inside this package; neither PyTorch's headers nor its libraries were needed to build it.
"""
from ._library import __version__
from ._op import can_use_vdn_delta_factors, vdn_delta_factors

__all__ = ["__version__", "can_use_vdn_delta_factors", "vdn_delta_factors"]
