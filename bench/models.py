"""models.py - forward passes against PyTorch: the same model, the same weights, in turns.

Two kinds of programs stay alive, PyTorch's and pitot's own kernels (build/unit/graph_runner), one of each per number of threads,
and are asked in turns for some passes. PyTorch's best number of threads is the baseline of every ratio; it is also measured against
itself, which is the noise floor. Outputs are compared first: a fast wrong answer is no answer.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import method

sys.path.insert(0, str(method.ROOT / "tests"))

LIMIT = {"mlp": 1.0, "cnn": 0.7, "transformer": 1.0}
FLOPS = {
    "mlp": 2 * 32 * (784 * 512 + 512 * 512 + 512 * 10),
    "cnn": 2 * 32 * (1024 * 32 * 27 + 1024 * 64 * 288 + 16384 * 10),
    "transformer": 2 * (1024 * (4 * 256 * 256 + 2 * 256 * 1024) + 2 * 8 * 128 * 128 * 256),
}


def torch_model(torch, name):
    nn = torch.nn
    torch.manual_seed(1)
    if name == "mlp":
        layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
        return nn.Sequential(*layers).eval(), torch.randn(32, 784)
    if name == "cnn":
        layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(16384, 10)).eval(), torch.randn(32, 3, 32, 32)
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, activation="gelu", batch_first=True)
    return layer.eval(), torch.randn(8, 128, 256)


def serve_torch(name, threads):
    """What the PyTorch worker does: a line asks for so many passes and gets their wall and CPU times."""
    import torch

    torch.set_num_threads(threads)
    model, x = torch_model(torch, name)
    with torch.no_grad():
        for _ in range(3):
            model(x)
        print("ready", flush=True)
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                start, cpu = time.perf_counter(), time.process_time()
                model(x)
                times.append(f"{time.perf_counter() - start:.9f},{time.process_time() - cpu:.9f}")
            print(" ".join(times), flush=True)


def graph_of(name, model, x):
    """The same layers, with the weights of the model, as pitot's graph; and the index of the output."""
    from model_graph import Graph

    graph, weights = Graph(), {key: value.detach().numpy() for key, value in model.named_parameters()}
    at, shape = graph.tensor("i", x.numpy()), list(x.shape)

    def add(kind, inputs, out_shape, output=False, **attributes):
        out = graph.tensor("a", tuple(out_shape), output=output)
        graph.op(kind, inputs, [out], **attributes)
        return out

    def weight(key):
        return graph.tensor("w", weights[key])

    def linear(x, key, out, **more):
        return add("linear", [x, weight(f"{key}.weight"), weight(f"{key}.bias")], [*shape[:-1], out], **more)

    def unary(x, fn, out_shape):
        return add("unary", [x], out_shape, unary=fn)

    if name == "mlp":
        for key, width in (("0", 512), ("2", 512)):
            at = unary(linear(at, key, width), "relu", [32, width])
        return graph, linear(at, "4", 10, output=True)
    if name == "cnn":
        window = dict(spatial=2, kernel=(3, 3), stride=(1, 1), dilation=(1, 1), pad_begin=(1, 1), pad_end=(1, 1), groups=1)
        for key, width in (("0", 32), ("2", 64)):
            inputs = [at, weight(f"{key}.weight"), weight(f"{key}.bias")]
            at = unary(add("conv", inputs, [32, width, 32, 32], **window), "relu", [32, width, 32, 32])
        window.update(kernel=(2, 2), stride=(2, 2), pad_begin=(0, 0), pad_end=(0, 0))
        at = add("reshape", [add("max_pool", [at], [32, 64, 16, 16], **window)], [32, 16384])
        shape[:] = [32, 16384]
        return graph, linear(at, "6", 10, output=True)
    inputs = [at, graph.tensor("w", weights["self_attn.in_proj_weight"]), graph.tensor("w", weights["self_attn.in_proj_bias"])]
    mixed = add("attention", [add("linear", inputs, [8, 128, 768])], shape, heads=8, kv_heads=8)

    def normed(a, b, key, output=False):
        total = add("binary", [a, b], shape, binary="add")
        return add("layer_norm", [total, weight(f"{key}.weight"), weight(f"{key}.bias")], shape, output, epsilon=1e-5, norm_axis=2)

    at = normed(at, linear(mixed, "self_attn.out_proj", 256), "norm1")
    inner = unary(linear(at, "linear1", 1024), "gelu", [8, 128, 1024])
    return graph, normed(at, linear(inner, "linear2", 256), "norm2", output=True)


def product_of(bench, runner, size=1024):
    """One product with one thread, own kernels and OpenBLAS, as a share of the measured FMA peak: the best of many calls, because a
    limit is compared with a limit."""
    import numpy

    from model_graph import Graph

    random, graph = numpy.random.default_rng(1), Graph()
    a, b = (graph.tensor(role, random.standard_normal((size, size))) for role in "iw")
    graph.op("matmul", [a, b], [graph.tensor("a", (size, size), output=True)])
    told = subprocess.run(
        [bench.pitot, "machine", "--quick", "--fresh", "--format", "json"], capture_output=True, check=True, text=True
    )
    rates = [r for r in json.loads(told.stdout)["rates"] if r["kind"] == "fma" and r["how"] == "fp32" and r["threads"] == 1]
    peak = max(rate["value"] for rate in rates)
    asked = {
        name: Asked([runner], graph.text(serve=1, blas=blas)) for name, blas in (("own kernels", 0), ("OpenBLAS", 1))
    }
    rounds = method.interleaved(bench.pairs, {name: lambda one=one: one.best(5) for name, one in asked.items()})
    for one in asked.values():
        one.close()
    return peak, {name: 2 * size**3 / min(times) for name, times in rounds.items()}


class Asked:
    """A program that stays alive and answers a line with times."""

    def __init__(self, command, data=b"", threads=1):
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.process.stdin.write(data)
        self.process.stdin.flush()
        self.process.stdout.readline()

    def times(self, count):
        self.process.stdin.write(f"{count}\n".encode())
        self.process.stdin.flush()
        pairs = [tuple(map(float, pair.split(","))) for pair in self.process.stdout.readline().decode().split()]
        return [wall for wall, _ in pairs], [cpu for _, cpu in pairs]

    def passes(self, count):
        """The median of the wall times, and the least CPU time, which other people's load changes least."""
        wall, cpu = self.times(count)
        return {"wall": statistics.median(wall), "cpu": min(cpu)}

    def best(self, count):
        """Of one thread: what it computes in is its CPU time."""
        return min(self.times(count)[1])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def same_answer(torch, name):
    import numpy

    model, x = torch_model(torch, name)
    graph, output = graph_of(name, model, x)
    (got,), _ = graph.run(numpy, [output], threads=2)
    with torch.no_grad():
        wanted = model(x).numpy()
    worst = float(numpy.abs(got - wanted).max() / numpy.abs(wanted).max())
    if not worst <= 1e-4:
        sys.exit(f"bench: {name} differs from PyTorch by {worst:g}")
    return graph.text(serve=1), worst


def one_model(bench, torch, name, runner):
    text, worst = same_answer(torch, name)
    thread_counts = (1, os.cpu_count())
    asked = {}
    for threads in thread_counts:
        asked["PyTorch", threads] = Asked([sys.executable, __file__, name, str(threads)], threads=threads)
        asked["pitot", threads] = Asked([runner], f"X threads {threads}\n".encode() + text, threads)
    passes = 2 if bench.quick else {"mlp": 200, "cnn": 8, "transformer": 8}[name]
    rounds = method.interleaved(bench.pairs, {key: lambda one=one: one.passes(passes) for key, one in asked.items()})
    walls = {key: [one["wall"] for one in told] for key, told in rounds.items()}
    least = {key: min(one["cpu"] for one in told) for key, told in rounds.items() if key[1] == 1}
    best = min(thread_counts, key=lambda threads: statistics.median(walls["PyTorch", threads]))
    again = method.interleaved(bench.pairs, {half: lambda: asked["PyTorch", best].passes(passes) for half in "ab"})
    for one in asked.values():
        one.close()
    baseline, result = walls["PyTorch", best], {"worst_difference": worst, "torch_best_threads": best}
    result["floor"] = [b["wall"] / a["wall"] for a, b in zip(again["a"], again["b"])]
    result["cpu"] = {tool: seconds for (tool, _), seconds in least.items()}
    rows = []
    for (tool, threads), times in walls.items():
        ratios = [mine / theirs for mine, theirs in zip(times, baseline)]
        result[f"{tool} {threads}"] = {"seconds": times, "ratio": ratios}
        rows.append(
            (name, tool, threads, method.spread_text([1e3 * t for t in times], "{:.2f}"),
             f"{1e3 * least[tool, 1]:.2f}" if threads == 1 else "", f"{FLOPS[name] / statistics.median(times) / 1e9:.0f}",
             method.spread_text(ratios, "{:.2f}"))
        )
    mine = min(statistics.median(result[f"pitot {threads}"]["ratio"]) for threads in thread_counts)
    result["kept"] = method.budget(mine, LIMIT[name], "{:.2f}")
    rows.append((name, "PyTorch against itself", best, "", "", "", method.spread_text(result["floor"], "{:.2f}")))
    return rows, result


def run(bench):
    try:
        import torch
    except ImportError:
        print("models: left out, this Python has no PyTorch (Debian: python3-torch, /usr/bin/python3)\n", flush=True)
        return
    runner = str(bench.pitot.parent / "unit" / "graph_runner")
    if not os.access(runner, os.X_OK):
        sys.exit(f"bench: {runner} is not there: run make unit-bins first")
    rows, results = [], {}
    for name in LIMIT:
        more, results[name] = one_model(bench, torch, name, runner)
        rows += more
    method.table(
        f"Forward passes, PyTorch {torch.__version__} and pitot's kernels in turns, {bench.pairs} rounds",
        ("model", "what", "threads", "ms (median, range)", "least CPU ms", "GFLOP/s", "over PyTorch's best"), rows,
    )
    for name, result in results.items():
        print(f"{name}: {result['kept']}")
    peak, products = product_of(bench, runner)
    method.table(
        f"Product of 1024 × 1024 with one thread; FMA peak {peak / 1e9:.1f} GFLOP/s",
        ("by", "best GFLOP/s", "share of the peak"),
        [(name, f"{rate / 1e9:.1f}", f"{rate / peak:.2f}") for name, rate in products.items()],
    )
    bench.save("models", {"results": results, "fma_peak": peak, "products": products})


if __name__ == "__main__":
    serve_torch(sys.argv[1], int(sys.argv[2]))
