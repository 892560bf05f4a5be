"""Programs written in plain JAX: simulations, filters and learning that differentiates through its own steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, job, spec

from regal.corpus.harvest import Job


def pure(init: Callable[[Any], Any], function: Callable[..., Any], *inputs: Any, optimizer: str = "adam") -> Task:
    """``function(parameters, *inputs)``; ``init(key)`` makes the parameters."""
    return Task(
        lambda key, *_: (init(key), {}),
        lambda parameters, state, key, values, training: (function(parameters, *values), state),
        inputs,
        optimizer,
    )


def layers(*widths: int) -> Callable[[Any], list[tuple[Any, Any]]]:
    """Weights and biases of a multi-layer perceptron."""
    return lambda key: [
        (jax.random.normal(key, pair) * pair[0] ** -0.5, jnp.zeros(pair[1])) for pair in pairwise(widths)
    ]


def mlp(parameters: Any, x: Any) -> Any:
    """Tanh between the layers."""
    for weight, bias in parameters[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = parameters[-1]
    return x @ weight + bias


def neural_ode(steps: int) -> Task:
    """Runge-Kutta steps of a learned field (Chen et al., NeurIPS 2018)."""

    def run(parameters: Any, x: Any) -> Any:
        for _ in range(steps):
            one = mlp(parameters, x)
            two = mlp(parameters, x + 0.05 * one)
            three = mlp(parameters, x + 0.05 * two)
            x = x + 0.1 / 6 * (one + 2 * two + 2 * three + mlp(parameters, x + 0.1 * three))
        return x

    return pure(layers(32, 128, 128, 32), run, spec(64, 32))


def meta_learning(tasks: int, steps: int) -> Task:
    """Loss after gradient steps on each task, differentiated through them (Finn et al., "MAML", ICML 2017)."""

    def error(parameters: Any, x: Any, y: Any) -> Any:
        return jnp.square(mlp(parameters, x) - y).mean()

    def run(parameters: Any, x: Any, y: Any) -> Any:
        losses = []
        for task in range(tasks):
            adapted = parameters
            for _ in range(steps):
                gradient = jax.grad(error)(adapted, x[task, :10], y[task, :10])
                adapted = jax.tree.map(lambda value, slope: value - 0.01 * slope, adapted, gradient)
            losses.append(mlp(adapted, x[task, 10:]) - y[task, 10:])
        return losses

    return pure(layers(1, 64, 64, 64, 1), run, spec(tasks, 20, 1), spec(tasks, 20, 1))


def physics_informed(depth: int) -> Task:
    """Residual of Burgers' equation by derivatives of the network (Raissi et al., 2019)."""

    def run(parameters: Any, points: Any) -> Any:
        def value(point: Any) -> Any:
            return mlp(parameters, point)[0]

        def residual(point: Any) -> Any:
            slope = jax.grad(value)(point)
            curve = jax.hessian(value)(point)
            return slope[0] + value(point) * slope[1] - 0.01 * curve[1, 1]

        return jax.vmap(residual)(points)

    return pure(layers(2, *[64] * depth, 1), run, spec(256, 2))


def kalman(length: int) -> Task:
    """Likelihood of observations under a linear system that is learned."""

    def init(key: Any) -> Any:
        return {name: jax.random.normal(key, (8, 8)) for name in ("move", "look", "noise", "error")}

    def run(system: Any, seen: Any) -> Any:
        mean, cover, eye = jnp.zeros(8), jnp.eye(8), jnp.eye(8)
        noise = system["noise"] @ system["noise"].T + 0.1 * eye
        error = system["error"] @ system["error"].T + 0.1 * eye
        surprises = []
        for value in seen:
            mean, cover = system["move"] @ mean, system["move"] @ cover @ system["move"].T + noise
            total = system["look"] @ cover @ system["look"].T + error
            gain = jnp.linalg.solve(total, system["look"] @ cover).T
            off = value - system["look"] @ mean
            mean, cover = mean + gain @ off, (eye - gain @ system["look"]) @ cover
            surprises.append(off)
        return surprises

    return pure(init, run, spec(length, 8))


def molecules(steps: int) -> Task:
    """Verlet steps of particles under a learned pair potential."""

    def energy(parameters: Any, places: Any) -> Any:
        apart = places[:, None] - places[None]
        squared = (apart**2).sum(-1) + jnp.eye(places.shape[0])
        return mlp(parameters, jnp.stack([1 / squared, jnp.exp(-squared)], -1)).sum()

    def run(parameters: Any, places: Any, speeds: Any) -> Any:
        force = jax.grad(energy, 1)
        for _ in range(steps):
            speeds = speeds - 0.005 * force(parameters, places)
            places = places + 0.01 * speeds
            speeds = speeds - 0.005 * force(parameters, places)
        return places, speeds

    return pure(layers(2, 32, 32, 1), run, spec(48, 3), spec(48, 3))


def fluid(steps: int, sweeps: int) -> Task:
    """Advection and projection of a 2-D fluid with a learned correction, unrolled (Kochkov et al., PNAS 2021)."""

    def shifted(field: Any, row: int, column: int) -> Any:
        return jnp.roll(field, (row, column), (0, 1))

    def around(field: Any) -> Any:
        return shifted(field, 1, 0) + shifted(field, -1, 0) + shifted(field, 0, 1) + shifted(field, 0, -1)

    def run(parameters: Any, across: Any, down: Any) -> Any:
        for _ in range(steps):
            moved = []
            for field in (across, down):
                slope = across * (shifted(field, 0, -1) - shifted(field, 0, 1))
                slope = slope + down * (shifted(field, -1, 0) - shifted(field, 1, 0))
                moved.append(field - 0.05 * slope + 0.01 * (around(field) - 4 * field))
            across, down = moved
            change = mlp(parameters, jnp.stack([across, down], -1))
            across, down = across + change[..., 0], down + change[..., 1]
            spread = shifted(across, 0, -1) - shifted(across, 0, 1) + shifted(down, -1, 0) - shifted(down, 1, 0)
            pressure = jnp.zeros_like(spread)
            for _ in range(sweeps):
                pressure = (around(pressure) - spread) / 4
            across = across - (shifted(pressure, 0, -1) - shifted(pressure, 0, 1)) / 2
            down = down - (shifted(pressure, -1, 0) - shifted(pressure, 1, 0)) / 2
        return across, down

    return pure(layers(2, 32, 32, 2), run, spec(64, 64), spec(64, 64))


def control(horizon: int, iterations: int) -> Task:
    """Gradient steps on a plan of actions through a learned model."""

    def cost(actions: Any, parameters: Any, state: Any) -> Any:
        total = 0.0
        for step in range(horizon):
            state = state + 0.1 * mlp(parameters, jnp.concatenate([state, actions[step]], -1))
            total = total + (state**2).sum() + 0.1 * (actions[step] ** 2).sum()
        return total

    def run(parameters: Any, actions: Any, state: Any) -> Any:
        for _ in range(iterations):
            actions = actions - 0.05 * jax.grad(cost)(actions, parameters, state)
        return actions

    return pure(layers(16, 64, 64, 12), run, spec(horizon, BATCH, 4), spec(BATCH, 12))


def transport(iterations: int) -> Task:
    """Sinkhorn distance between learned features (Cuturi, NeurIPS 2013)."""

    def run(parameters: Any, one: Any, two: Any) -> Any:
        one, two = mlp(parameters, one), mlp(parameters, two)
        costs = ((one[:, None] - two[None]) ** 2).sum(-1)
        left, right = jnp.zeros(one.shape[0]), jnp.zeros(two.shape[0])
        for _ in range(iterations):
            left = -0.1 * jax.nn.logsumexp((right[None] - costs) / 0.1, axis=1)
            right = -0.1 * jax.nn.logsumexp((left[:, None] - costs) / 0.1, axis=0)
        return (jnp.exp((left[:, None] + right[None] - costs) / 0.1) * costs).sum()

    return pure(layers(32, 128, 128, 16), run, spec(128, 32), spec(128, 32))


def equilibrium(iterations: int) -> Task:
    """Conjugate gradients for an implicit layer, unrolled."""

    def run(parameters: Any, weights: Any, target: Any) -> Any:
        matrix = weights @ weights.T + jnp.eye(64)
        x = jnp.zeros_like(target)
        goal = mlp(parameters, target)
        rest = goal
        way, size = rest, (rest**2).sum()
        for _ in range(iterations):
            moved = way @ matrix
            rate = size / ((way * moved).sum() + 1e-9)
            x, rest = x + rate * way, rest - rate * moved
            following = (rest**2).sum()
            way, size = rest + following / size * way, following
        return mlp(parameters, x)

    return pure(layers(64, 128, 64), run, spec(64, 64), spec(BATCH, 64))


def jobs() -> list[Job]:
    """Long ones last."""
    own = partial(job, "jax")
    both, most = (INFERENCE, STEP), (TRAINING, STEP)
    compiled = (INFERENCE, STEP, INFERENCE + SCHEDULED)
    return [
        own("neural_ode_10", "neural_ode", lambda: neural_ode(10), (*compiled, STEP + SCHEDULED)),
        own("maml_4_3", "maml", lambda: meta_learning(4, 3), compiled),
        own("pinn_6", "pinn", lambda: physics_informed(6), compiled),
        own("kalman_16", "kalman", lambda: kalman(16), both),
        own("molecules_10", "molecules", lambda: molecules(10), compiled),
        own("fluid_8_10", "fluid", lambda: fluid(8, 10), both),
        own("control_10_5", "control", lambda: control(10, 5), compiled),
        own("sinkhorn_30", "sinkhorn", lambda: transport(30), compiled),
        own("implicit_20", "implicit", lambda: equilibrium(20), compiled),
        own("neural_ode_60", "neural_ode", lambda: neural_ode(60), most),
        own("maml_8_8", "maml", lambda: meta_learning(8, 8)),
        own("kalman_64", "kalman", lambda: kalman(64)),
        own("molecules_40", "molecules", lambda: molecules(40), most),
        own("fluid_24_20", "fluid", lambda: fluid(24, 20)),
        own("control_20_10", "control", lambda: control(20, 10)),
        own("sinkhorn_200", "sinkhorn", lambda: transport(200)),
    ]
