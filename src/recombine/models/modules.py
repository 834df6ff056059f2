"""Stacks of a stranger's modules: any `torch.nn.Module`, stacked with vmap where that works.

Parameters have the seed as their first dimension, as in every stack. `Modules` calls the plain
module with a seed's own parameters (`torch.func.functional_call`), either for all seeds at once
under vmap or seed after seed. nn.LSTM, nn.GRU and whatever else has no batching rule are looped.

Dropout is switched off: a seed's result would else depend on what was drawn before it. Batch
normalisation uses the statistics of the batch.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

Call = Callable[..., Tensor]


class Modules(nn.Module):
    """The modules of many seeds behind one call."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.lanes = len(modules)
        self.looped = False
        """One seed after another, because vmap cannot."""
        plain = [_settled(module) for module in modules]
        self._names: dict[str, str] = {}
        for name in dict(plain[0].named_parameters()):
            values = [dict(module.named_parameters())[name].detach() for module in plain]
            self.register_parameter(self._safe(name), nn.Parameter(torch.stack(values)))
        for name in dict(plain[0].named_buffers()):
            held = [dict(module.named_buffers())[name] for module in plain]
            self.register_buffer(self._safe(name), torch.stack(held))
        # Kept out of the module tree: only its forward is used, never its own parameters.
        self._template = [plain[0]]

    def _safe(self, name: str) -> str:
        """A name that a module may have, remembered for the one it stands for."""
        self._names[name] = name.replace(".", "__")
        return self._names[name]

    def by_name(self) -> dict[str, Tensor]:
        """Every parameter and buffer [seed, …] by the name it has in the module."""
        return {name: getattr(self, safe) for name, safe in self._names.items()}

    def forward(self, *inputs: Tensor) -> Tensor:
        """The module's answer [seed, …] to inputs [seed or 1, …]."""
        (answer,) = self._each(lambda mine, *given: (self._one(mine, *given),), *inputs)
        return answer

    def watched(
        self, part: str, *inputs: Tensor, put: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The answer, and what `part` of the module was given; or is given instead, with `put`."""

        def one(mine: dict[str, Tensor], *given: Tensor) -> tuple[Tensor, ...]:
            seen: list[Tensor] = []

            def look(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
                seen.append(args[0] if put is None else given[-1])
                return (seen[0], *args[1:])

            hook = self._template[0].get_submodule(part).register_forward_pre_hook(look)
            try:
                return self._one(mine, *given[: len(inputs)]), seen[0]
            finally:
                hook.remove()

        answer, value = self._each(one, *inputs, *(() if put is None else (put,)))
        return answer, value

    def read_out(self, *inputs: Tensor) -> str | None:
        """The name of the nn.Linear that makes the answer of what the network has made of inputs.

        The last part with weights to be called, if it is called once, is not the first, and is
        given a row an example.
        """
        called: list[str] = []
        rows: list[int | None] = []

        def note(name: str) -> Callable[[nn.Module, tuple[object, ...]], None]:
            def look(_: nn.Module, args: tuple[object, ...]) -> None:
                called.append(name)
                first = args[0] if args else None  # none: given by name
                rows.append(len(first) if isinstance(first, Tensor) and first.ndim else None)

            return look

        hooks = [
            part.register_forward_pre_hook(note(name))
            for name, part in self._template[0].named_modules()
            if name and next(part.parameters(recurse=False), None) is not None
        ]
        try:
            self._one(self._mine(0), *(x[0] for x in inputs))
        finally:
            for hook in hooks:
                hook.remove()
        if len(called) < 2 or called.count(called[-1]) > 1 or rows[-1] != inputs[0].shape[1]:
            return None
        last = self._template[0].get_submodule(called[-1])
        return called[-1] if isinstance(last, nn.Linear) else None

    def _each(self, one: Callable[..., tuple[Tensor, ...]], *inputs: Tensor) -> tuple[Tensor, ...]:
        """What a function gives of every seed's parameters and inputs, the seed first."""
        everywhere = [x.expand(self.lanes, *x.shape[1:]) for x in inputs]
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # it warns, and it rounds differently
        try:
            if not self.looped:
                together: tuple[Tensor, ...] = vmap(one)(self.by_name(), *everywhere)
                return together
            lanes = [one(self._mine(k), *(x[k] for x in everywhere)) for k in range(self.lanes)]
            return tuple(torch.stack(values) for values in zip(*lanes, strict=True))
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)

    def _mine(self, lane: int) -> dict[str, Tensor]:
        return {name: value[lane] for name, value in self.by_name().items()}

    def settle(self, *inputs: Tensor) -> Tensor:
        """Try the inputs under vmap, and loop from now on if that cannot be; the answer to them."""
        if not self.looped:
            try:
                with warnings.catch_warnings(record=True, action="always") as told:
                    together: Tensor = self(*inputs)
                    if together.requires_grad:
                        mine = list(self.parameters())
                        torch.autograd.grad(together.sum(), mine, allow_unused=True)
                # an operation without a batching rule is looped inside: slower than looping here
                self.looped = any("performance drop" in str(each.message) for each in told)
                return together
            except Exception:  # no batching rule, control flow on values: vmap fails in many ways
                self.looped = True
        answer: Tensor = self(*inputs)
        return answer

    def _one(self, parameters: dict[str, Tensor], *inputs: Tensor) -> Tensor:
        out = functional_call(self._template[0], parameters, inputs)
        if not isinstance(out, Tensor):
            raise TypeError(f"it gave a {type(out).__name__}, not a tensor")
        return out


def _settled(module: nn.Module) -> nn.Module:
    """A copy without dropout, whose batch norms use the batch."""
    copied = copy.deepcopy(module).eval()
    for part in copied.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.track_running_stats = False
            part.running_mean = part.running_var = part.num_batches_tracked = None
    return copied
