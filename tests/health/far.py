"""A device that is not there: tensors on the CPU that say they are elsewhere, and refuse what such tensors refuse.

There is no GPU to try the package on. A `Far` tensor says that it is on ``cuda:0``; as on a real one, it does not mix
with tensors on the CPU, is not read by numpy, and is not filled by a generator of the CPU. What works with them makes
no assumption about the device; the numbers must be those of the CPU, to the last bit. Fake tensors would find the same
mixtures, but they hold no numbers, and every pursuit looks at some.
"""

import torch
from torch.overrides import TorchFunctionMode

DEVICE = torch.device("cuda:0")
NEVER = ("numpy", "__array__")
"""What needs the CPU."""
ACROSS = ("copy_", "__getitem__", "__get__", "__set__", "index_put", "index_put_")
"""Methods of a far tensor that may be given one of the CPU; indices may be there, values may not."""


class WrongDevice(RuntimeError):
    """What would have failed on a GPU."""


class Far(torch.Tensor):
    """A tensor that says it is on another device."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return _call(function, args, kwargs or {})

    def __deepcopy__(self, memo):
        copy = memo[id(self)] = self.detach().clone().requires_grad_(self.requires_grad)
        if getattr(self, "_is_param", False):
            copy._is_param = True
        return copy


class far_away(TorchFunctionMode):  # noqa: N801, used as ``with far_away():``
    """While it is on, ``device="cuda"`` makes far tensors."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return _call(function, args, kwargs or {})


def near(tensor):
    """The same numbers on the CPU, for a test to look at."""
    return tensor.as_subclass(torch.Tensor) if isinstance(tensor, Far) else tensor


def _call(function, args, kwargs):
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    with torch._C.DisableTorchFunction():
        if owner is torch.Tensor.device and args and isinstance(args[0], Far):
            return DEVICE
        if owner in (torch.Tensor.is_cuda, torch.Tensor.is_cpu) and isinstance(args[0], Far):
            return owner is torch.Tensor.is_cuda
    tensors = [t for t in _each((args, kwargs)) if isinstance(t, torch.Tensor)]
    far = any(isinstance(t, Far) for t in tensors)
    if name == "_has_compatible_shallow_copy_type":
        return False  # weights of a layer that moves are made anew there
    if far and name in NEVER:
        raise WrongDevice(f"{name}() of a tensor on {DEVICE}; .cpu() comes first")
    goal = _goal(name, args, kwargs, far)
    moves = name in ("to", "cpu", "cuda")
    if far and not moves:
        _refuse_mixtures(name, args, kwargs)
    generator = kwargs.get("generator")
    if generator is not None and goal and name not in ("multinomial",):
        raise WrongDevice(f"{name}() on {DEVICE} with a generator of the CPU")
    plain_args, plain_kwargs = (args, kwargs) if name == "_parse_to" else _map(_here, (args, kwargs))
    with torch._C.DisableTorchFunction():
        result = function(*plain_args, **plain_kwargs)
        if moves and far != goal:  # a copy, as between devices, where the CPU gives the same tensor again
            result = result.clone()
        return _map(lambda r: _as(Far if goal else torch.Tensor, r), result)


def _each(things):
    for thing in things.values() if isinstance(things, dict) else things:
        if isinstance(thing, (tuple, list, dict)):
            yield from _each(thing)
        else:
            yield thing


def _map(function, thing):
    if isinstance(thing, dict):
        return {key: _map(function, value) for key, value in thing.items()}
    if isinstance(thing, (tuple, list)):
        return type(thing)([_map(function, each) for each in thing])
    return function(thing)


def _as(kind, thing):
    """A tensor as near or far, anything else as it is."""
    if not isinstance(thing, torch.Tensor) or isinstance(thing, Far) == (kind is Far):
        return thing
    return thing.as_subclass(kind)


def _goal(name, args, kwargs, far):
    """Whether the result is far: where it was sent, or where the arguments are."""
    asked = [d for d in (kwargs.get("device"), *args[1:]) if isinstance(d, (str, torch.device))]
    asked = [torch.device(d) for d in asked if isinstance(d, torch.device) or d.split(":")[0] in ("cpu", "cuda")]
    if name == "to" and len(args) > 1 and isinstance(args[1], torch.Tensor):
        return isinstance(args[1], Far)
    if asked:
        return asked[0].type == DEVICE.type
    return name == "cuda" or (far and name != "cpu")


def _here(thing):
    """An argument as the CPU needs it."""
    if isinstance(thing, torch.device):
        return torch.device("cpu") if thing.type == DEVICE.type else thing
    if isinstance(thing, str) and thing.split(":")[0] == DEVICE.type:
        return "cpu"
    return thing


def _refuse_mixtures(name, args, kwargs):
    first = args[0] if args else None
    rest = (args, kwargs)
    if name == "__setitem__":
        rest = (first, args[2])  # the index may be on the CPU
    if isinstance(first, Far) and name in ACROSS:
        return
    for tensor in _each(rest):
        # a single number may come from anywhere, as on a GPU
        if isinstance(tensor, torch.Tensor) and not isinstance(tensor, Far) and tensor.ndim:
            raise WrongDevice(f"{name}() mixes a tensor on {DEVICE} with one of shape {tuple(tensor.shape)} on the CPU")
