#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The linear-attention step around the library: tokens -> statistics -> factors -> scan over frames -> output.

    linear_attention.py     prints the error of every head's states and outputs against an fp64 model; 1 if one is large

Every head keeps a state S of 128 x 128 that maps keys to values. A frame with keys K, values V (a row per token),
weights beta and decay alpha moves it to the S that solves

    S = S_before diag(alpha) + sum over tokens of beta (v - S k) k^T

that is, the delta rule with the error taken after the update. In matrices, with A = K^T diag(beta) K and
B = V^T diag(beta) K:

    S (I + A) = S_before diag(alpha) + B,        S = S_before T + J,
    T = diag(alpha) (I + A)^-1,                  J = B (I + A)^-1.

T and J depend on their own frame only. So one call computes them for all frames and heads, and what is left to do one
frame after the other is a product. A virtual frame of the text comes first, with alpha = 1.

Three things need no work here, and so no launch: A is not symmetrised, as one triangle is read; the text's matrices are
not concatenated with those of the frames, as both are written into the same tensors; T and J go into tensors that are
allocated once.
"""
import sys

import torch
from vdn_delta import vdn_delta_factors

FRAMES, HEADS, TOKENS, TEXT_TOKENS, DIM = 6, 3, 192, 40, 128


def statistics(k, v, beta, A, B):
    """A and B of some frames, into the given tensors."""
    weighted = beta.unsqueeze(-1)
    torch.matmul((k * weighted).mT, k, out=A)
    torch.matmul((v * weighted).mT, k, out=B)


def linear_attention(text, video, alpha):
    """`text` and `video` are (q, k, v, beta): [frames, heads, tokens, 128], and beta without the 128; `alpha` is
    [1 + frames, heads, 128]. Returns the states [1 + frames, heads, 128, 128] and the outputs of the video's tokens."""
    frames, heads = 1 + video[1].shape[0], video[1].shape[1]
    A = video[1].new_empty(frames, heads, DIM, DIM)
    B, T, J = torch.empty_like(A), torch.empty_like(A), torch.empty_like(A)
    statistics(*text[1:], A[:1], B[:1])
    statistics(*video[1:], A[1:], B[1:])

    vdn_delta_factors(A, B, alpha, out=(T, J))

    states = torch.empty_like(A)
    states[0] = J[0]
    for frame in range(1, frames):
        torch.baddbmm(J[frame], states[frame - 1], T[frame], out=states[frame])
    return states, video[0] @ states[1:].mT


def model(text, video, alpha):
    """The same in fp64 from the tokens, by solving for S frame after frame: no A that was rounded, no inverse."""
    text, video, alpha = [t.double() for t in text], [t.double() for t in video], alpha.double()
    eye = torch.eye(DIM, dtype=torch.float64, device=alpha.device)
    state, states = torch.zeros_like(eye), []
    tokens = [*zip(*text[1:]), *zip(*video[1:])]  # (k, v, beta) of each frame
    for (k, v, beta), decay in zip(tokens, alpha):
        weighted = beta.unsqueeze(-1)
        right = state * decay.unsqueeze(-2) + (v * weighted).mT @ k
        state = torch.linalg.solve(eye + (k * weighted).mT @ k, right, left=False)
        states.append(state)
    return torch.stack(states), video[0] @ torch.stack(states[1:]).mT


def make_tokens(frames, tokens, generator, device):
    """(q, k, v, beta) with the statistics of the model: keys and queries of length 1."""
    silu = torch.nn.functional.silu
    q, k, v = (silu(torch.randn(frames, HEADS, tokens, DIM, generator=generator)) for _ in range(3))
    beta = torch.sigmoid(torch.randn(frames, HEADS, tokens, generator=generator))
    unit = torch.nn.functional.normalize
    return [tensor.to(device) for tensor in (unit(q, dim=-1), unit(k, dim=-1), v, beta)]


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(1)
    text = make_tokens(1, TEXT_TOKENS, generator, device)
    video = make_tokens(FRAMES, TOKENS, generator, device)
    alpha = (0.1 + 0.9 * torch.rand(1 + FRAMES, HEADS, DIM, generator=generator)).to(device)
    alpha[0] = 1.0

    worst = 0.0
    for name, found, expected in zip(("states", "outputs"), linear_attention(text, video, alpha),
                                     model(text, video, alpha)):
        error = (found - expected).norm(dim=(-2, -1)) / expected.norm(dim=(-2, -1))
        worst = max(worst, error.max().item())
        print(f"{name} {list(found.shape)}: relative error {error.max():.1e} at most")
    # The library's part is at most 1e-6; the statistics, the products and their order add to it.
    return 0 if worst <= 3e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
