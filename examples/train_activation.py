"""Train a network in PyTorch with an activation of one's own, whose width each unit learns.

    python examples/train_activation.py

The activation is a formula. Ogive derives its gradient, in the input and in the parameter, and compiles both. The network
learns two interleaved half circles; a straight line separates about 89 % of them. It needs torch.
"""

from __future__ import annotations

import numpy as np
import torch

import ogive.torch


@ogive.operator
def bump(x: float, *, width: float = 1.0) -> float:
    """A bell: ``exp(-(x / width)**2)``."""
    return np.exp(-((x / width) ** 2))


activation = ogive.torch.wrap(bump)


class Network(torch.nn.Module):
    """Two layers, and a width for each unit between them."""

    def __init__(self, units: int = 24) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(2, units), torch.nn.Linear(units, 2)
        self.width = torch.nn.Parameter(torch.ones(units))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores of both classes."""
        return self.last(activation(self.first(x), width=self.width))


def half_circles(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of two half circles with some noise, and which of the two each belongs to."""
    generator = np.random.default_rng(seed)
    angle, which = generator.uniform(0, np.pi, count), generator.integers(0, 2, count)
    x = np.cos(angle) * (1 - 2 * which) + which
    y = np.sin(angle) * (1 - 2 * which) + 0.5 * which
    points = np.stack([x, y], axis=1) + generator.normal(0, 0.1, (count, 2))
    return torch.from_numpy(points.astype(np.float32)), torch.from_numpy(which)


def trained(steps: int = 200) -> tuple[Network, float]:
    """The network after training, and the share of new points that it gets right."""
    torch.manual_seed(0)
    network = Network()
    points, classes = half_circles(400, seed=1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(points), classes).backward()
        optimizer.step()
    points, classes = half_circles(1000, seed=2)
    with torch.no_grad():
        right = network(points).argmax(dim=1) == classes
    return network, right.float().mean().item()


def main() -> None:
    """Print what the network has learned."""
    network, share = trained()
    widths = network.width.detach()
    print(f"right: {share:.1%} of 1,000 new points")
    print(f"widths: {widths.min():.2f} to {widths.max():.2f}, of 1 at first")


if __name__ == "__main__":
    main()
