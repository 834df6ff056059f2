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
        everywhere = [x.expand(self.lanes, *x.shape[1:]) for x in inputs]
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # it warns, and it rounds differently
        try:
            return self._answer(everywhere)
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)

    def _answer(self, everywhere: Sequence[Tensor]) -> Tensor:
        if not self.looped:
            together: Tensor = vmap(self._one)(self.by_name(), *everywhere)
            return together
        lanes = []
        for lane in range(self.lanes):
            mine = {name: value[lane] for name, value in self.by_name().items()}
            lanes.append(self._one(mine, *(x[lane] for x in everywhere)))
        return torch.stack(lanes)

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
        out: Tensor = functional_call(self._template[0], parameters, inputs)
        return out


def _settled(module: nn.Module) -> nn.Module:
    """A copy without dropout, whose batch norms use the batch."""
    copied = copy.deepcopy(module).eval()
    for part in copied.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.track_running_stats = False
            part.running_mean = part.running_var = part.num_batches_tracked = None
    return copied
