"""A device that is not there: tensors moved to it stay on the processor, and whatever a graphics processor would refuse
is refused: an operation on tensors of both, ``numpy`` on its tensors. So code is tested that moves tensors about."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

DEVICE = torch.device("cuda", 0)
ITEM = {torch.Tensor.__getitem__, torch.Tensor.__setitem__}  # indices may be on the processor
ACROSS = {torch.Tensor.copy_, torch._has_compatible_shallow_copy_type}  # copies go from anywhere to anywhere


class PretendDevice(TorchFunctionMode):
    """Within it, ``DEVICE`` is there. n_operations: that were done on it."""

    def __init__(self) -> None:
        super().__init__()
        self.there: Any = WeakTensorKeyDictionary()
        self.n_operations = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        on_it = [each for each in tensors if each in self.there]
        name = getattr(func, "__name__", "")
        if func == torch.Tensor.device.__get__:  # type: ignore[attr-defined]
            return DEVICE if on_it else func(*args)
        if func == torch.Tensor.data.__set__:  # type: ignore[attr-defined]
            func(*args)
            return self._put(args[0], bool(len(on_it) and args[1] in self.there))
        if func is torch.Tensor.numpy and on_it:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        wanted, args, kwargs = self._wanted(func, args, kwargs)
        if func in (torch.Tensor.to, torch.Tensor.cpu):
            target = torch.device("cpu") if func is torch.Tensor.cpu else wanted
            found = func(*args, **kwargs)
            goes = bool(on_it) if target is None else target.type == DEVICE.type
            return self._put(found.view_as(found) if goes != bool(on_it) else found, goes)
        if on_it:
            self.n_operations += 1
            strange = [each for each in tensors if each.dim() and each not in self.there]
            if strange and func not in ACROSS and not (func in ITEM and args[0] in self.there):
                raise RuntimeError(f"{name}: expected all tensors to be on the same device, found cuda:0 and cpu")
        found = func(*args, **kwargs)
        goes = (args[0] in self.there if func in ACROSS else bool(on_it)) or (
            wanted is not None and wanted.type == DEVICE.type
        )
        return tree_map(lambda each: self._put(each, goes) if isinstance(each, torch.Tensor) else each, found)

    def _put(self, tensor: Any, goes: bool) -> Any:
        if goes:
            self.there[tensor] = True
        else:
            self.there.pop(tensor, None)
        return tensor

    @staticmethod
    def _wanted(func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[torch.device | None, Any, dict[str, Any]]:
        """The device that a call names, and the call without it."""
        named = None
        if func is torch.Tensor.to:
            places = [i for i, each in enumerate(args) if isinstance(each, torch.device | str)]
            if places:
                named = torch.device(args[places[0]])
                args = tuple(torch.device("cpu") if i == places[0] else each for i, each in enumerate(args))
        if kwargs.get("device") is not None:
            named = torch.device(kwargs["device"])
            kwargs["device"] = torch.device("cpu")
        return named, args, kwargs
