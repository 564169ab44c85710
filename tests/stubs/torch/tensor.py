"""Tensors that hold no numbers: how long one is, and how many of its elements are wrong."""

from . import cuda

_BYTES = {"uint8": 1, "int8": 1, "int64": 8, "int32": 4, "float": 4}


class Tensor:
    """Enough of a tensor for the stages: what comes of wrong elements is wrong as well."""

    __hash__ = None

    def __init__(self, count=0, dtype="bfloat16", bad=0):
        self.count, self.dtype, self.bad = count, dtype, bad

    @property
    def nbytes(self):
        return self.count * _BYTES.get(self.dtype, 2)

    @property
    def shape(self):
        return (0, 0)

    def _same(self, *args, **kwargs):
        return self

    def _with(self, other):
        return Tensor(self.count, self.dtype, self.bad + getattr(other, "bad", 0))

    to = cpu = double = long = view = flatten = contiguous = sum = fill_ = _same
    add_ = mul_ = remainder = remainder_ = bitwise_not_ = addcmul_ = _same
    __invert__ = _same
    __add__ = __radd__ = __sub__ = __mul__ = __xor__ = __matmul__ = __ne__ = __eq__ = _with

    def float(self):
        return self

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Tensor(min(self.count, index.stop), self.dtype)
        return self

    def __setitem__(self, index, value):
        self.bad += 1

    def split(self, size):
        starts = range(0, self.count, size)
        return [Tensor(min(size, self.count - start), self.dtype) for start in starts]

    def new_empty(self, count):
        return Tensor(count, self.dtype)

    def new_zeros(self, shape):
        return Tensor(0, self.dtype)

    def copy_(self, other, non_blocking=False):
        cuda.work(self.nbytes / (cuda.HOST_RATE if non_blocking else cuda.MEMORY_RATE))
        return self

    def nonzero(self):
        return Tensor(self.bad)

    def tolist(self):
        return [0, 0]

    def item(self):
        return self.bad


def new(shape, *more, dtype="bfloat16", **kwargs):
    """Return a tensor of that *shape*, whose product is not asked for."""
    return Tensor(shape if isinstance(shape, int) else shape[0] * shape[-1], dtype)


def add(a, b, out):
    out.bad = 0
    return out
