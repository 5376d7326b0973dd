"""Every kernel, forward and backward, against PyTorch: within 1e-4 of the largest number of a tensor.

Skipped where PyTorch is not installed; tests/unit/test_kernels.c has vectors that were computed once.
"""

import itertools

import pytest

from model_graph import Graph, instruction_sets

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

TOLERANCE = 1e-4


class Case:
    """`tensors` are (role, shape) or (role, array); `reference` takes torch tensors in the same order (None for absent)."""

    def __init__(self, name, kind, tensors, reference, train=True, **attributes):
        self.name, self.kind, self.tensors, self.reference = name, kind, tensors, reference
        self.train, self.attributes = train, attributes

    def arrays(self):
        random = numpy.random.default_rng(sum(map(ord, self.name)))
        made = []
        for one in self.tensors:
            if one is None:
                made.append(None)
                continue
            role, what = one
            value = what if isinstance(what, numpy.ndarray) else random.standard_normal(what).round(3)
            made.append((role, numpy.asarray(value, "float32")))
        return made


def window(spatial, kernel, stride=1, pad=0, dilation=1, **more):
    def each(value):
        return list(value) if isinstance(value, (list, tuple)) else [value] * spatial

    pads = each(pad)
    return dict(
        spatial=spatial,
        kernel=each(kernel),
        stride=each(stride),
        dilation=each(dilation),
        pad_begin=pads[:spatial],
        pad_end=pads[spatial:] or pads[:spatial],
        **{"groups": 1, **more},
    )


def conv_cases():
    shapes = [
        # N, Cin, H, W, Cout, kernel, stride, pad, dilation, groups, bias
        (2, 3, 9, 11, 5, (3, 3), 1, 1, 1, 1, True),
        (1, 4, 17, 13, 6, (5, 3), (2, 1), (2, 0), (1, 2), 2, True),
        (2, 16, 8, 8, 33, (3, 3), 1, 1, 1, 1, False),
        (1, 1, 40, 40, 1, (7, 7), 3, 3, 1, 1, True),
        (2, 8, 7, 9, 8, (3, 3), 1, 1, 1, 8, True),
        (2, 8, 12, 33, 8, (3, 3), 2, 1, 1, 8, False),
        (2, 20, 5, 6, 17, (1, 1), 1, 0, 1, 1, True),
        (1, 20, 6, 6, 4, (1, 1), 2, 0, 1, 4, True),
        (1, 3, 64, 33, 40, (3, 3), 1, 1, 1, 1, True),
        (1, 40, 3, 3, 8, (3, 3), 1, 0, 1, 1, True),
        (3, 2, 5, 5, 4, (2, 2), 2, 1, 1, 1, True),
        (1, 6, 8, 8, 12, (3, 3), 1, 2, 2, 3, True),
    ]
    for i, (n, cin, h, w, cout, kernel, stride, pad, dilation, groups, bias) in enumerate(shapes):

        def reference(x, weight, b, s=stride, p=pad, d=dilation, g=groups):
            return F.conv2d(x, weight, b, stride=s, padding=p, dilation=d, groups=g)

        yield Case(
            f"conv {i}",
            "conv",
            [("i", (n, cin, h, w)), ("w", (cout, cin // groups, *kernel)), ("w", (cout,)) if bias else None],
            reference,
            **window(2, kernel, stride, pad, dilation, groups=groups),
        )
    yield Case(
        "conv in one dimension",
        "conv",
        [("i", (2, 3, 21)), ("w", (5, 3, 4)), ("w", (5,))],
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=3),
        **window(1, 4, 2, 3),
    )
    yield Case(
        "conv with other padding at the end",
        "conv",
        [("i", (2, 3, 6, 7)), ("w", (5, 3, 3, 3))],
        lambda x, w: F.conv2d(F.pad(x, (0, 3, 1, 2)), w),
        **window(2, 3, 1, [1, 0, 2, 3]),
    )
    for groups, stride, pad, extra in ((1, 2, 1, 1), (2, 1, 0, 0), (1, 3, 2, 0)):
        yield Case(
            f"transposed conv {groups} {stride}",
            "conv_transpose",
            [("i", (2, 4, 5, 6)), ("w", (4, 6 // groups, 3, 3)), ("w", (6,))],
            lambda x, w, b, g=groups, s=stride, p=pad, e=extra: F.conv_transpose2d(
                x, w, b, stride=s, padding=p, output_padding=e, groups=g
            ),
            **window(2, 3, stride, pad, 1, groups=groups, output_pad=[extra, extra]),
        )


def product_cases():
    for rows, fan_in, fan_out in ((1, 1, 1), (7, 13, 5), (32, 784, 33), (65, 300, 64), (3, 2, 100)):
        yield Case(
            f"linear {rows} {fan_in} {fan_out}",
            "linear",
            [("i", (rows, fan_in)), ("w", (fan_out, fan_in)), ("w", (fan_out,))],
            F.linear,
        )
    yield Case("linear of sequences", "linear", [("i", (2, 3, 8)), ("w", (8, 6))], lambda x, w: x @ w, in_major=1)
    for ta, tb in itertools.product((0, 1), repeat=2):
        yield Case(
            f"gemm {ta}{tb}",
            "gemm",
            [("i", (9, 4) if ta else (4, 9)), ("w", (7, 9) if tb else (9, 7)), ("w", (4, 1))],
            lambda a, b, c, x=ta, y=tb: 0.5 * ((a.T if x else a) @ (b.T if y else b)) + 2 * c,
            alpha=0.5,
            beta=2,
            transpose_a=ta,
            transpose_b=tb,
        )
    yield Case(
        "gemm with a row", "gemm", [("i", (5, 9)), ("w", (9, 7)), ("w", (7,))], lambda a, b, c: a @ b + c, alpha=1, beta=1
    )
    for a, b in (((5, 6), (6, 4)), ((2, 3, 5, 6), (6, 4)), ((2, 3, 5, 6), (3, 6, 4)), ((4, 1, 5, 6), (2, 6, 3)), ((6,), (2, 6, 3)), ((2, 5, 6), (6,))):
        yield Case(f"matmul {a} {b}", "matmul", [("i", a), ("w", b)], torch.matmul)


def attention(q, k, v, heads, kv_heads, causal=False, mask=None, scale=None):
    n, s, _ = q.shape
    d = q.shape[2] // heads
    q = q.reshape(n, s, heads, d).transpose(1, 2)
    k, v = (t.reshape(n, t.shape[1], kv_heads, d).transpose(1, 2) for t in (k, v))
    k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
    scores = q @ k.transpose(2, 3) * (scale or d**-0.5)
    if mask is not None:
        scores = scores + mask
    if causal:
        seen = torch.ones(s, k.shape[2]).tril(k.shape[2] - s) > 0
        scores = scores.masked_fill(~seen, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, s, heads * d)


def attention_cases():
    for heads, kv, d, sq, sk, causal in (
        (1, 1, 4, 5, 5, False), (4, 4, 8, 70, 70, True), (4, 2, 16, 9, 33, False), (6, 1, 5, 33, 40, True), (2, 2, 32, 130, 130, True),
    ):
        yield Case(
            f"attention {heads} {kv} {d} {sq} {sk} {causal}",
            "attention",
            [("i", (2, sq, heads * d)), ("i", (2, sk, kv * d)), ("i", (2, sk, kv * d))],
            lambda q, k, v, h=heads, g=kv, c=causal: attention(q, k, v, h, g, c),
            heads=heads,
            kv_heads=kv,
            causal=int(causal),
        )
    yield Case(
        "attention of one tensor",
        "attention",
        [("i", (2, 11, (6 + 4) * 4))],
        lambda x: attention(x[..., :24], x[..., 24:32], x[..., 32:], 6, 2, True),
        heads=6,
        kv_heads=2,
        causal=1,
    )
    yield Case(
        "attention with a mask and a scale",
        "attention",
        [("i", (2, 6, 8)), ("i", (2, 7, 8)), ("i", (2, 7, 8)), ("c", (2, 1, 1, 7))],
        lambda q, k, v, m: attention(q, k, v, 2, 2, mask=m, scale=0.3),
        heads=2,
        kv_heads=2,
        scale=0.3,
    )


def pool_cases():
    for kernel, stride, pad, ceil in ((2, 2, 0, 0), (3, 2, 1, 0), (3, 1, 1, 0), (3, 2, 0, 1), ((2, 3), (1, 2), (1, 0), 0)):
        yield Case(
            f"max pool {kernel} {stride} {pad} {ceil}",
            "max_pool",
            [("i", (2, 3, 10, 13))],
            lambda x, k=kernel, s=stride, p=pad, c=ceil: F.max_pool2d(x, k, s, p, ceil_mode=bool(c)),
            **window(2, kernel, stride, pad, ceil_mode=ceil),
        )
        for count_pad in (0, 1):
            yield Case(
                f"average pool {kernel} {stride} {pad} {ceil} {count_pad}",
                "avg_pool",
                [("i", (2, 3, 10, 13))],
                lambda x, k=kernel, s=stride, p=pad, c=ceil, i=count_pad: F.avg_pool2d(
                    x, k, s, p, ceil_mode=bool(c), count_include_pad=bool(i)
                ),
                **window(2, kernel, stride, pad, ceil_mode=ceil, count_pad=count_pad),
            )
    yield Case(
        "dilated max pool", "max_pool", [("i", (1, 2, 12, 12))], lambda x: F.max_pool2d(x, 3, 2, 1, dilation=2), **window(2, 3, 2, 1, 2)
    )
    yield Case("max pool of rows", "max_pool", [("i", (2, 3, 11))], lambda x: F.max_pool1d(x, 3, 2), **window(1, 3, 2))
    for size in ((1, 1), (2, 3), (7, 5)):
        yield Case(
            f"adaptive pool {size}",
            "adaptive_avg_pool",
            [("i", (2, 3, 7, 11))],
            lambda x, s=size: F.adaptive_avg_pool2d(x, s),
            size=size,
        )
    yield Case("global max pool", "global_max_pool", [("i", (2, 3, 5, 7))], lambda x: F.adaptive_max_pool2d(x, 1))


def norm_cases():
    positive = numpy.abs(numpy.random.default_rng(1).standard_normal(5)).astype("float32") + 0.5
    yield Case(
        "batch norm",
        "batch_norm",
        [("i", (3, 5, 6, 7)), ("w", (5,)), ("w", (5,)), ("b", (5,)), ("b", positive)],
        lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b, training=x.requires_grad, eps=1e-3),
        epsilon=1e-3,
    )
    yield Case(
        "batch norm of few",
        "batch_norm",
        [("i", (2, 5, 2, 3)), ("w", (5,)), ("w", (5,)), ("b", (5,)), ("b", positive)],
        lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b, training=x.requires_grad, eps=1e-5),
        epsilon=1e-5,
    )
    for shape, axis in (((4, 33), 1), ((2, 3, 16), 2), ((2, 3, 4, 5), 2)):
        tail = shape[axis:]
        yield Case(
            f"layer norm {shape} {axis}",
            "layer_norm",
            [("i", shape), ("w", tail), ("w", tail)],
            lambda x, g, b, t=tail: F.layer_norm(x, t, g, b, 1e-5),
            epsilon=1e-5,
            norm_axis=axis,
        )
    yield Case(
        "RMS norm",
        "rms_norm",
        [("i", (3, 4, 20)), ("w", (20,))],
        lambda x, g: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * g,
        epsilon=1e-6,
        norm_axis=2,
    )
    for groups in (1, 2, 6):
        yield Case(
            f"group norm {groups}",
            "group_norm",
            [("i", (2, 6, 5, 3)), ("w", (6,)), ("w", (6,))],
            lambda x, g, b, n=groups: F.group_norm(x, n, g, b, 1e-5),
            epsilon=1e-5,
            norm_groups=groups,
        )
    yield Case(
        "local response norm",
        "lrn",
        [("i", (2, 9, 4, 5))],
        lambda x: F.local_response_norm(x, 5, 0.3, 0.75, 1.5),
        lrn_size=5,
        lrn_alpha=0.3,
        lrn_beta=0.75,
        lrn_bias=1.5,
    )
    for axis in (0, 1, 2):
        yield Case(f"softmax {axis}", "softmax", [("i", (3, 9, 5))], lambda x, a=axis: x.softmax(a), axis=axis)
        yield Case(f"log softmax {axis}", "log_softmax", [("i", (3, 19, 5))], lambda x, a=axis: x.log_softmax(a), axis=axis)


def point_cases():
    functions = {
        "relu": F.relu, "leaky_relu": lambda x: F.leaky_relu(x, 0.1), "sigmoid": torch.sigmoid,
        "hard_sigmoid": lambda x: (0.2 * x + 0.5).clamp(0, 1), "tanh": torch.tanh, "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "hard_swish": F.hardswish,
        "elu": lambda x: F.elu(x, 0.7), "softplus": F.softplus, "erf": torch.erf, "exp": torch.exp,
        "neg": torch.neg, "abs": torch.abs, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
        "sign": torch.sign, "sin": torch.sin, "cos": torch.cos,
    }
    spread = numpy.linspace(-9, 9, 777, dtype="float32").reshape(3, 7, 37)
    for name in ("gelu", "relu", "silu", "tanh"):
        yield Case(f"unary {name} of few", "unary", [("i", (3, 5))], functions[name], unary=name)
    parameters = {"leaky_relu": (0.1, 0), "hard_sigmoid": (0.2, 0.5), "elu": (0.7, 0)}
    for name, fn in functions.items():
        yield Case(f"unary {name}", "unary", [("i", spread)], fn, unary=name, slopes=parameters.get(name, (0, 0)))
    for name, fn in {"log": torch.log, "sqrt": torch.sqrt, "reciprocal": torch.reciprocal}.items():
        yield Case(f"unary {name}", "unary", [("i", numpy.abs(spread) + 0.1)], fn, unary=name)
    yield Case("clip", "clip", [("i", spread)], lambda x: x.clamp(-1, 6), clip=(-1, 6))
    binaries = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "min": torch.minimum, "max": torch.maximum}
    for name, fn in binaries.items():
        for a, b in (((3, 4, 5), (3, 4, 5)), ((3, 4, 5), (5,)), ((1, 4, 1), (3, 1, 5)), ((2, 3, 4), (3, 1)), ((7,), (1,))):
            yield Case(f"{name} {a} {b}", "binary", [("i", a), ("i", b)], fn, binary=name)
    yield Case("power", "binary", [("i", numpy.abs(spread) + 0.2), ("i", (1,))], torch.pow, binary="pow")
    for name, fn in {"less": torch.lt, "equal": torch.eq, "greater_equal": torch.ge}.items():
        yield Case(
            name, "binary", [("i", numpy.floor(spread)), ("i", numpy.array([[1.0]]))], lambda a, b, f=fn: f(a, b).float(), train=False,
            binary=name,
        )
    choice = (numpy.random.default_rng(2).random((4, 5)) > 0.5).astype("float32")
    yield Case(
        "where", "where", [("c", choice), ("i", (3, 4, 5)), ("i", (5,))], lambda c, a, b: torch.where(c > 0, a, b)
    )
    for name, fn in {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin}.items():
        for axes in ((2,), (0,), (1, 2), (0, 2)):
            yield Case(
                f"reduce {name} {axes}", "reduce", [("i", (4, 5, 18))], lambda x, f=fn, a=axes: f(x, a),
                reduce=name, axes=[int(i in axes) for i in range(3)],
            )
    yield Case("reduce length", "reduce", [("i", (4, 5, 6))], lambda x: x.norm(dim=1), reduce="l2", axes=(0, 1, 0))
    zeros = numpy.array([[1.5, 0, 2], [0, 3, 0]])
    yield Case("reduce product of zeros", "reduce", [("i", zeros)], lambda x: x.prod(0), reduce="prod", axes=(1, 0))
    yield Case("reduce product", "reduce", [("i", (4, 5, 6))], lambda x: x.prod(1), reduce="prod", axes=(0, 1, 0))


def move_cases():
    ids = numpy.random.default_rng(3).integers(0, 11, (4, 5)).astype("float32")
    yield Case("embedding", "embedding", [("w", (11, 6)), ("c", ids)], lambda t, i: F.embedding(i.long(), t))
    yield Case("gather", "gather", [("i", (3, 11, 4)), ("c", ids)], lambda t, i: t[:, i.long()], axis=1)
    for perm in ((1, 0, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)):
        yield Case(f"transpose {perm}", "transpose", [("i", (2, 3, 4, 5))], lambda x, p=perm: x.permute(p), perm=perm)
    for axis in (0, 1, 2):
        shapes = [[2, 3, 4] for _ in range(3)]
        for i, shape in enumerate(shapes):
            shape[axis] += i
        yield Case(f"concat {axis}", "concat", [("i", tuple(s)) for s in shapes], lambda *x, a=axis: torch.cat(x, a), axis=axis)
    yield Case(
        "slice", "slice", [("i", (5, 9, 12))], lambda x: x[1:4, 8:None, 2:11:3], start=(1, 8, 2), step=(1, 1, 3)
    )
    yield Case("slice backwards", "slice", [("i", (5, 6))], lambda x: x.flip(1)[2:], start=(2, 5), step=(1, -1))
    yield Case("expand", "expand", [("i", (3, 1, 5))], lambda x: x.expand(2, 3, 4, 5))
    yield Case(
        "pad", "pad", [("i", (2, 3, 4))], lambda x: F.pad(x, (2, -1, 0, 1), value=1.5), before=(0, 0, 2), after=(0, 1, -1), pad_value=1.5
    )
    yield Case("cast", "cast", [("i", (3, 4))], lambda x: x)
    yield Case("resize nearest", "resize", [("i", (2, 3, 4, 5))], lambda x: F.interpolate(x, (8, 15)), linear=0)
    yield Case(
        "resize linear", "resize", [("i", (2, 3, 4, 5))],
        lambda x: F.interpolate(x, (7, 11), mode="bilinear", align_corners=False), linear=1,
    )


def recurrent_cases():
    """PyTorch has the gates in another order (i f g o; r z n) and the batch of weights apart."""
    steps, batch, width, hidden = 5, 3, 4, 6
    orders = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}  # where ONNX's i o f c and z r h lie in PyTorch's
    for kind, directions in itertools.product(orders, (1, 2)):
        gates = len(orders[kind])

        def reference(x, w, r, b, h, c=None, kind=kind, directions=directions):
            back = [orders[kind].index(i) for i in range(len(orders[kind]))]

            def turned(t):
                return t.reshape(len(back), hidden, -1)[back].reshape(t.shape)

            half = b.shape[1] // 2
            parameters = [turned(t) for d in range(directions) for t in (w[d], r[d], b[d, :half], b[d, half:])]
            run = {"lstm": torch.lstm, "gru": torch.gru, "rnn": torch.rnn_tanh}[kind]
            out = run(x, (h, c) if kind == "lstm" else h, parameters, True, 1, 0.0, False, directions == 2, False)[0]
            return out.reshape(steps, batch, directions, hidden).transpose(1, 2)

        tensors = [("i", (steps, batch, width)), ("w", (directions, gates * hidden, width)),
                   ("w", (directions, gates * hidden, hidden)), ("w", (directions, 2 * gates * hidden)),
                   ("i", (directions, batch, hidden))]
        if kind == "lstm":
            tensors.append(("i", (directions, batch, hidden)))
        yield Case(f"{kind} {directions}", kind, tensors, reference, hidden=hidden, directions=directions, linear_before_reset=1)
    yield Case(
        "gru with the reset first", "gru",
        [("i", (steps, batch, width)), ("w", (1, 18, width)), ("w", (1, 18, hidden)), ("w", (1, 36))],
        gru_reset_first, hidden=hidden, directions=1, linear_before_reset=0,
    )
    yield Case(
        "lstm backwards without terms", "lstm",
        [("i", (steps, batch, width)), ("w", (1, 24, width)), ("w", (1, 24, hidden))],
        lambda x, w, r: lstm_plain(x.flip(0), w[0], r[0]).flip(0).unsqueeze(1), hidden=hidden, directions=1, reverse=1,
    )


def gru_reset_first(x, w, r, b):
    hidden = r.shape[2]
    (wz, wr, wh), (rz, rr, rh) = w[0].split(hidden), r[0].split(hidden)
    bz, br, bh, cz, cr, ch = b[0].split(hidden)
    h, out = x.new_zeros(x.shape[1], hidden), []
    for at in x:
        z = torch.sigmoid(at @ wz.T + h @ rz.T + bz + cz)
        reset = torch.sigmoid(at @ wr.T + h @ rr.T + br + cr)
        made = torch.tanh(at @ wh.T + (reset * h) @ rh.T + bh + ch)
        h = (1 - z) * made + z * h
        out.append(h)
    return torch.stack(out).unsqueeze(1)


def lstm_plain(x, w, r):
    hidden = r.shape[1]
    h = c = x.new_zeros(x.shape[1], hidden)
    out = []
    for at in x:
        i, o, f, made = (at @ w.T + h @ r.T).split(hidden, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(made)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(h)
    return torch.stack(out)


GROUPS = {
    "convolutions": conv_cases, "products": product_cases, "attention": attention_cases, "pools": pool_cases,
    "norms": norm_cases, "points": point_cases, "moves": move_cases, "recurrent layers": recurrent_cases,
}


def near(got, wanted, what):
    wanted = wanted.detach().numpy()
    assert got.shape == wanted.shape, f"{what}: {got.shape}, not {wanted.shape}"
    scale = max(1.0, float(numpy.abs(wanted).max(initial=0)))
    worst = float(numpy.abs(got - wanted).max(initial=0))
    assert worst <= TOLERANCE * scale, f"{what}: off by {worst:g} of {scale:g}"


def build(case, learn):
    graph, indices, tensors = Graph(), [], []
    for one in case.arrays():
        if one is None:
            indices.append(None)
            tensors.append(None)
            continue
        role, value = one
        # Whatever has a gradient is a weight in a training step: then the gradient is kept.
        role = "w" if learn and role == "i" else role
        indices.append(graph.tensor(role, value))
        tensors.append(torch.tensor(value, requires_grad=learn and role == "w"))
    wanted = case.reference(*tensors)
    output = graph.tensor("a", tuple(wanted.shape), output=not learn)
    graph.op(case.kind, indices, [output], **case.attributes)
    return graph, indices, tensors, wanted, output


def forward(case):
    graph, _, _, wanted, output = build(case, False)
    for isa in instruction_sets():
        for threads in (1, 3):
            (got,), _ = graph.run(numpy, [output], isa=isa, threads=threads)
            near(got, wanted, f"{case.name}, {isa}, {threads} threads")


def training_graph(case):
    """The output is weighed at random before the loss: many operators have gradients that cancel otherwise."""
    graph, indices, tensors, wanted, output = build(case, True)
    weights = numpy.random.default_rng(5).standard_normal(wanted.shape).round(2).astype("float32")
    made = graph.tensor("a", tuple(wanted.shape), output=True)
    graph.op("binary", [output, graph.tensor("c", weights)], [made], binary="mul")
    return graph, indices, tensors, made, wanted * torch.tensor(weights)


def loss_of(output):
    classes = output.shape[-1]
    labels = numpy.arange(output.numel() // classes) * 7 % classes
    return labels, F.cross_entropy(output.reshape(-1, classes), torch.tensor(labels))


def backward(case):
    graph, indices, tensors, made, weighed = training_graph(case)
    labels, loss = loss_of(weighed)
    loss.backward()
    learned = [(i, t) for i, t in zip(indices, tensors) if t is not None and t.requires_grad]
    for threads in (1, 3):
        gradients = [i for i, _ in learned]
        arrays, got = graph.run(numpy, [made], gradients, labels, training=1, threads=threads)
        near(arrays[0], weighed, f"{case.name}: training forward")
        assert got == pytest.approx(float(loss.detach()), rel=1e-4), f"{case.name}: loss"
        for array, (i, tensor) in zip(arrays[1:], learned):
            # A gradient is small where the loss is a mean: it is judged by its own largest number.
            scale = max(float(tensor.grad.abs().max()), 1e-6)
            near(array / scale, tensor.grad / scale, f"{case.name}: gradient of tensor {i}, {threads} threads")


@pytest.mark.parametrize("group", GROUPS)
def test_kernels_agree_with_pytorch(group):
    failures = []
    for case in GROUPS[group]():
        try:
            forward(case)
            if case.train:
                backward(case)
        except (AssertionError, RuntimeError) as problem:
            failures.append(f"{case.name}: {problem}")
    assert not failures, "\n".join(failures)
