"""pitot model: published counts, ONNX files of three origins, malformed files, text descriptions, running and what follows.

No absolute time is asserted: what must hold holds between numbers of the same run.
"""

import csv
import io
import json
import os
import struct
import subprocess
import xml.etree.ElementTree

import jsonschema
import onnx_writer as ow
import pytest
from harness import OK, PROGRAM, ROOT, USAGE

INPUT = 65
UNAVAILABLE = 69


def schema():
    with open(os.path.join(ROOT, "docs/model.schema.json"), encoding="utf-8") as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


@pytest.fixture(name="model")
def fixture_model(pitot):
    def call(*args, **options):
        document = json.loads(pitot("model", *args, "--format", "json", "--quiet", status=OK, **options).out)
        schema().validate(document)
        return document

    return call


def write(path, content):
    path.write_bytes(content)
    return str(path)


# What is counted.


@pytest.mark.parametrize(
    "name, seq, parameters, macs",
    [
        ("lenet5", None, 61_706, 416_520),
        ("alexnet", None, 61_100_840, 714_188_480),
        ("alexnet-bvlc", None, 60_965_224, 654_560_384),
        ("resnet18", None, 11_689_512, 1_814_073_344),
        ("resnet50", None, 25_557_032, 4_089_184_256),
        ("vgg16", None, 138_357_544, 15_470_264_320),
        ("mobilenetv2", None, 3_504_872, 300_774_272),
        ("vit-b16", None, 86_567_656, 17_563_828_224),
        ("bert-base", 128, 109_482_240, 11_174_215_680),
        ("bert-base", 512, 109_482_240, 48_318_971_904),
        ("gpt2", 1024, 124_439_808, 145_824_153_600),
        ("lstm", 100, 33_280, 3_276_800),
    ],
)
def test_published_models_have_their_published_counts(model, name, seq, parameters, macs):
    args = [name, "--count-only"] + (["--seq", str(seq)] if seq else [])
    found = model(*args)["models"][0]
    assert (found["parameters"], found["macs"], found["uncounted"]) == (parameters, macs, 0)
    assert found["flops"] == 2 * macs
    assert sum(op["macs"] for op in found["operators"]) == macs
    assert next(layer for layer in found["layers"] if layer["path"] == "")["macs"] == macs
    if name == "gpt2":
        assert 2 * found["causal_macs"] == 272_339_828_736
        assert found["backward_macs"] == 2 * macs
        assert found["needed_backward_macs"] == 2 * found["causal_macs"]


def test_the_operators_with_the_most_products_come_first(pitot):
    shown = pitot("model", "gpt2", "--count-only", "--format", "md", status=OK).out
    rows = shown[shown.index("with the most products"):].splitlines()
    names = [row.split("|")[1].strip(" `") for row in rows if row.startswith("| ") or row.startswith("|`")]
    assert names[1:3] == ["lm_head", "h.0.mlp.c_fc"]


def test_every_format_shows_the_same_counts(pitot):
    def shown(kind):
        return pitot("model", "lenet5", "--count-only", "--format", kind, status=OK).out

    for kind in ("term", "md"):
        assert "61 706" in shown(kind) and "416 520 MACs = 833 040 FLOPs" in shown(kind)
    rows = list(csv.DictReader(io.StringIO(shown("csv"))))
    assert sum(int(row["macs"]) for row in rows) == 416_520
    assert xml.etree.ElementTree.fromstring(shown("svg")).tag.endswith("svg")


# ONNX files.


def test_a_file_written_byte_by_byte_is_counted(model, tmp_path):
    path = write(tmp_path / "conv.onnx", ow.convolution())
    found = model(path, "--count-only", "--batch", "2")["models"][0]
    # conv 4·3·3·3 + 4, norm 2·4 of which scale and bias are one tensor here, gemm 5·4
    assert found["macs"] == 2 * (4 * 64 * 27 + 5 * 4)
    assert found["source"] == "onnx" and found["uncounted"] == 0
    assert [op["layer"] for op in found["operators"]][:3] == ["", "a.norm", "a.relu"]


def test_arithmetic_on_shapes_is_done_and_vanishes(model, tmp_path):
    found = model(write(tmp_path / "s.onnx", ow.shapes()), "--count-only")["models"][0]
    kinds = [op["kind"] for op in found["operators"]]
    assert kinds.count("lstm") == 1 and "gather" not in kinds and "other" not in kinds
    # A weight that ConstantOfShape makes is a parameter: 6·4, and the LSTM's 8·3 + 8·2.
    assert found["parameters"] == 24 + 24 + 16
    assert found["macs"] == 2 * 6 * 4 + 5 * (24 + 16)


def test_what_cannot_be_counted_is_listed_with_the_reason(model, pitot, tmp_path):
    path = write(tmp_path / "a.onnx", ow.attention())
    found = model(path, "--count-only", "--seq", "6")["models"][0]
    reasons = {op["type"]: op["reason"] for op in found["operators"] if not op["counted"]}
    assert found["uncounted"] == 2 and "control flow" in reasons["If"] and "com.example" in reasons["Mystery"]
    # The products of attention are not 0: 6·4·4 + 2 · 6·6·4.
    assert found["macs"] == 96 + 2 * 144
    assert "Not counted: 2 of 8" in pitot("model", path, "--count-only", "--seq", "6", status=OK).out
    error = pitot("model", path, "--seq", "6", "--no-history", status=UNAVAILABLE).err
    assert "--count-only" in error


def exported(tmp_path, script, *outputs):
    """Runs a script with the Python that has the package; skips with the reason where there is none."""
    result = subprocess.run(["/usr/bin/python3", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in result.stderr:
        pytest.skip("this machine has no " + result.stderr.strip().rsplit(" ", 1)[-1])
    assert result.returncode == 0, result.stderr
    return [str(tmp_path / name) for name in outputs]


def test_files_of_the_onnx_package_are_counted_as_it_checks_them(model, tmp_path):
    script = """
import numpy, onnx
from onnx import helper, numpy_helper, TensorProto as T
w = numpy_helper.from_array(numpy.ones((64, 3, 7, 7), numpy.float32), "w")
g = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[7, 7], strides=[2, 2], pads=[3] * 4)], "g",
    [helper.make_tensor_value_info("x", T.FLOAT, ["N", 3, 224, 224])], [helper.make_tensor_value_info("y", T.FLOAT, ["N", 64, 112, 112])], [w])
m = helper.make_model(g); onnx.checker.check_model(m); onnx.save(m, "conv.onnx")
onnx.save(m, "apart.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
lstm = [numpy_helper.from_array(numpy.zeros(s, numpy.float32), n) for n, s in (("W", (1, 256, 64)), ("R", (1, 256, 64)), ("B", (1, 512)))]
g = helper.make_graph([helper.make_node("LSTM", ["x", "W", "R", "B"], ["y"], hidden_size=64)], "g",
    [helper.make_tensor_value_info("x", T.FLOAT, [100, 1, 64])], [helper.make_tensor_value_info("y", T.FLOAT, [100, 1, 1, 64])], lstm)
m = helper.make_model(g); onnx.checker.check_model(m); onnx.save(m, "lstm.onnx")
"""
    conv, apart, lstm = exported(tmp_path, script, "conv.onnx", "apart.onnx", "lstm.onnx")
    for path in (conv, apart):
        found = model(path, "--count-only")["models"][0]
        assert (found["parameters"], found["macs"], found["notes"]) == (9_408, 118_013_952, [])
    found = model(lstm, "--count-only")["models"][0]
    assert (found["parameters"], found["macs"]) == (33_280, 3_276_800)
    os.remove(tmp_path / "weights.bin")
    assert "synthetic" in model(apart, "--count-only")["models"][0]["notes"][0]


def test_a_model_that_pytorch_exports_has_its_parameters_and_products(model, tmp_path):
    script = """
import torch, torch.nn as nn
m = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0).eval()
torch.onnx.export(m, torch.zeros(2, 16, 64), "layer.onnx")
print(sum(p.numel() for p in m.parameters()))
"""
    (path,) = exported(tmp_path, script, "layer.onnx")
    found = model(path, "--count-only")["models"][0]
    assert found["parameters"] == 3 * 64 * 64 + 3 * 64 + 64 * 64 + 64 + 2 * 64 * 128 + 128 + 64 + 4 * 64
    assert found["macs"] == 2 * 16 * (4 * 64 * 64 + 2 * 64 * 128) + 2 * 2 * 16 * 16 * 64
    assert found["uncounted"] == 0


def relu_graph(dims, initializers=(), nodes=None, outputs=("y",)):
    return ow.model(
        ow.graph(
            nodes or [ow.node("Relu", ["x"], ["y"])],
            list(initializers),
            [ow.value("x", dims)],
            [ow.value(name, []) for name in outputs],
        )
    )


def conv_with(weight):
    return relu_graph([1, 3, 8, 8], [weight], [ow.node("Conv", ["x", "w"], ["y"])])


MALFORMED = {
    "empty": b"",
    "text": b"this is no model\n" * 20,
    "cut": ow.convolution()[:-40],
    "no graph": ow.number(1, 8),
    "huge dimensions": relu_graph([1 << 39, 1 << 39, 1 << 39]),
    "2 GB of weights in 1 KB": conv_with(ow.tensor("w", [16384, 3, 128, 128], raw=b"\0" * 16)),
    "2 GB by length": ow.number(1, 8) + b"\x3a\xff\xff\xff\xff\x07" + b"\0" * 500,
    "wrong channels": conv_with(ow.floats("w", [4, 5, 3, 3])),
    "wrong type of data": conv_with(ow.tensor("w", [2, 3, 1, 1], ow.INT64, raw=b"\0" * 5)),
    "cycle": relu_graph([1], (), [ow.node("Add", ["x", "b"], ["a"]), ow.node("Relu", ["a"], ["b"])], ("b",)),
    "written twice": relu_graph([1], (), [ow.node("Relu", ["x"], ["y"]), ow.node("Relu", ["x"], ["y"])]),
    "nothing writes it": relu_graph([1], (), [ow.node("Relu", ["nowhere"], ["y"])]),
    "no output": relu_graph([1], outputs=("z",)),
    "endless shape": relu_graph(
        [2], [ow.ints("s", [1 << 40, 1 << 40])], [ow.node("ConstantOfShape", ["s"], ["y"])]
    ),
    "range": relu_graph(
        [2],
        [ow.tensor(n, [], ow.INT64, raw=struct.pack("<q", v)) for n, v in (("a", 0), ("b", 1 << 62), ("c", 1))],
        [ow.node("Range", ["a", "b", "c"], ["r"]), ow.node("Add", ["x", "r"], ["y"])],
        ("z",),
    ),
    "outside": conv_with(ow.tensor("w", [4, 3, 1, 1], external={"location": "../secret", "offset": 0})),
    "absolute": conv_with(ow.tensor("w", [4, 3, 1, 1], external={"location": "/etc/passwd"})),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_with_words_and_little_memory(tmp_path, name):
    path = write(tmp_path / "bad.onnx", MALFORMED[name])
    assert len(MALFORMED[name]) < 4096
    # 300 MB of address space: a large allocation would fail, and pitot would say so in other words.
    command = f"ulimit -v 300000; exec {PROGRAM} model {path} --count-only"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode == INPUT, result.stderr
    assert "bad.onnx" in result.stderr and "memory" not in result.stderr.split("bad.onnx", 1)[1][:20]


def test_what_is_no_regular_file_is_refused_at_once(pitot, tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    assert "no regular file" in pitot("model", str(tmp_path / "pipe.onnx"), "--count-only", status=INPUT).err
    assert "directory" in pitot("model", str(tmp_path), "--count-only", status=INPUT).err


def test_names_from_a_file_cannot_reach_the_terminal(pitot, tmp_path):
    content = relu_graph([1, 4], (), [ow.node("Relu", ["x"], ["y"], "\x1b[31mred\x07")])
    out = pitot("model", write(tmp_path / "n.onnx", content), "--count-only", "--verbose", status=OK).out
    assert "\x1b" not in out and "\x07" not in out and "red" in out


def test_the_seeds_of_the_fuzzer_are_what_the_writer_writes(tmp_path):
    ow.main(str(tmp_path))
    folder = os.path.join(ROOT, "tests/fuzz/corpus/model")
    for name in os.listdir(tmp_path):
        with open(os.path.join(folder, name), "rb") as file:
            assert file.read() == (tmp_path / name).read_bytes(), name


# Text descriptions.

DESCRIPTION = """# a small network
option width 16
input image 3 32 32
stem.conv = conv $width kernel=3 pad=1
stem.relu = relu
repeat 2 as stage
  x = batch_norm
  y = conv 2*$width kernel=1
  conv $width kernel=1
  out = add of x stem.relu
end
global_avg_pool
flatten
head = linear 10
"""


def test_a_description_is_built_with_its_options(model, tmp_path):
    path = write(tmp_path / "net.txt", DESCRIPTION.encode())
    for width in (16, 8):
        found = model(path, "--count-only", "--width", str(width))["models"][0]
        stage = 2 * 1024 * width * 2 * width
        assert found["macs"] == 1024 * 27 * width + 2 * stage + 10 * width
        assert {"stem", "stage.0", "stage.1"} <= {layer["path"] for layer in found["layers"]}


@pytest.mark.parametrize(
    "line, words",
    [
        ("convv 3", "did you mean 'conv'"),
        ("conv", "takes 1 number"),
        ("conv 3 kernel=x", "no whole number"),
        ("conv 3 colour=2", "takes no 'colour'"),
        ("relu of nobody", "nothing before this line is called 'nobody'"),
        ("add of image", "reads 2 values"),
        ("linear $depth", "no option declares '$depth'"),
        ("repeat 3 as x", "no 'end'"),
        ("end", "without a repeat"),
        ("conv 8 kernel=99", "kernel is larger"),
        ("option size 3", "expected 'option NAME NUMBER'"),
        ("conv 99999999999999999999", "no whole number"),
        ("linear 4611686018427387904*4", "too large"),
    ],
)
def test_a_mistake_in_a_description_is_told_with_its_line(pitot, tmp_path, line, words):
    path = write(tmp_path / "net.txt", f"input image 3 32 32\n\n{line}\n".encode())
    error = pitot("model", path, "--count-only", status=INPUT).err
    assert "net.txt:3: " in error and words in error


def test_repeats_within_repeats_end(pitot, tmp_path):
    text = "input x 4\n" + "repeat 1000 as a\n" * 6 + "relu\n" + "end\n" * 6
    assert "more than 100000 operators" in pitot("model", write(tmp_path / "b.txt", text.encode()), "-c", status=INPUT).err


# Sizes side by side.


def test_growth_is_fitted_over_a_list_of_sizes(model):
    found = model("transformer", "--count-only", "--seq", "128..2048*2")
    fits = {fit["quantity"]: fit["exponent"] for fit in found["fits"]}
    assert len(found["models"]) == 5 and abs(fits["parameters"]) < 1e-9
    assert 1.0 < fits["macs"] < 2.0  # projections grow with the length, scores with its square


def test_memory_grows_as_the_table_beside_it_shows(model):
    found = model("mlp", "--count-only", "--width", "512..2048*2")
    fit = next(fit for fit in found["fits"] if fit["quantity"] == "memory_bytes")
    shown = [row["memory"]["weight_bytes"] + row["memory"]["inference_activation_bytes"] for row in found["models"]]
    assert 4 ** fit["exponent"] == pytest.approx(shown[2] / shown[0])  # of three in a row the middle one tips no line


@pytest.mark.parametrize(
    "args, words",
    [
        (["mlp", "--batch", "0"], "--batch '0'"),
        (["mlp", "--batch", "8..1"], "--batch"),
        (["mlp", "--heads", "2"], "mlp has no --heads"),
        (["vgg16", "--classes", "5"], "cannot be changed"),
        (["mlp", "cnn"], "compare mlp cnn"),
        (["compare", "mlp"], "two models"),
        ([], "which model"),
        (["mlp", "--width", "1..64", "--batch", "1..64"], "more than"),
        (["mlp", "--dim", "x"], "NAME=NUMBER"),
        (["mlp", "--depth", "100000000"], "at most 10000"),
    ],
)
def test_wrong_usage_is_told(pitot, args, words):
    assert words in pitot("model", *args, "--count-only", status=USAGE).err


# Running.


def test_a_run_is_timed_placed_and_kept(model, pitot, tmp_path):
    history = ["--history", str(tmp_path)]
    found = model("lenet5", "--batch", "4", "--budget", "100ms", "--what-if", "conv=2x", *history)
    row = found["models"][0]
    timed = [op for op in row["operators"] if op["forward"]]
    total = sum(op["forward"]["median_s"] for op in timed)
    assert row["threads"] == 1 and row["forward"]["runs"] >= 3 and row["backward"]["median_s"] > 0
    assert row["forward"]["low_s"] <= row["forward"]["median_s"] <= row["forward"]["high_s"]
    assert 0.3 * row["forward"]["median_s"] < total < 2 * row["forward"]["median_s"]
    for op in row["operators"]:
        assert op["forward"] or op["fused_into"] or op["kind"] in ("reshape", "identity"), op["name"]
        if op["macs"]:
            assert op["forward"]["flop_per_s"] > 0 and op["forward"]["efficiency"] > 0
    if row["forward"]["runs"] < 662:
        assert row["forward"]["p99_s"] is None
    assert row["memory"]["measured_inference_bytes"] > 0
    whatif = found["what_if"][0]
    assert whatif["ceiling_s"] < whatif["new_s"] < whatif["old_s"] and whatif["operators"] == 2
    half = whatif["old_s"] - whatif["part_s"] / 2
    assert abs(whatif["new_s"] - half) < 1e-9
    # The run file says the same, in every format that shows models.
    (name,) = [name for name in os.listdir(tmp_path) if name.endswith(".pitot")]
    stored = json.loads(pitot("report", str(tmp_path / name), "--format", "json", status=OK).out)
    assert stored["models"] == found["models"]
    for kind in ("term", "md"):
        assert "61 706" in pitot("report", str(tmp_path / name), "--format", kind, status=OK).out
    asked = pitot("whatif", str(tmp_path / name), "conv=2x", "--format", "json", status=OK).out
    assert json.loads(asked)["what_if"] == found["what_if"]
    model("lenet5", "--batch", "4", "--budget", "100ms", "--no-backward", *history)
    both = sorted(str(tmp_path / name) for name in os.listdir(tmp_path) if name.endswith(".pitot"))
    assert "features.conv2" in pitot("diff", *both, "--all", status=None).out


def test_counting_leaves_no_run_file(model, tmp_path):
    model("mlp", "--count-only", "--history", str(tmp_path / "h"))
    assert not (tmp_path / "h").exists()


def test_real_examples_take_the_place_of_synthetic_ones(model, pitot, tmp_path):
    pixels = bytes(i % 256 for i in range(3 * 28 * 28))
    idx = write(tmp_path / "images", struct.pack(">BBBBIII", 0, 0, 8, 3, 3, 28, 28) + pixels)
    cifar = write(tmp_path / "batch.bin", b"".join(bytes([i % 10]) + bytes(3072) for i in range(4)))
    text = write(tmp_path / "words.txt", b"to be or not to be")
    quick = ["--no-history", "--no-backward", "--budget", "20ms"]
    assert "IDX" in model("mlp", "--data", idx, *quick)["models"][0]["input"]
    assert "IDX" in model("lenet5", "--data", idx, *quick)["models"][0]["input"]
    assert "CIFAR-10" in model("cnn", "--data", cifar, *quick)["models"][0]["input"]
    assert "do not fit" in pitot("model", "mlp", "--data", cifar, *quick, status=INPUT).err
    assert "no tokens" in pitot("model", "mlp", "--data", text, *quick, status=INPUT).err
    lie = write(tmp_path / "lie", struct.pack(">BBBBIII", 0, 0, 8, 3, 1 << 31, 4096, 4096) + pixels)
    assert "not what it holds" in pitot("model", "mlp", "--data", lie, *quick, status=INPUT).err


# Weights.


def test_the_distribution_of_weights_is_exact(pitot, tmp_path):
    values = [i / 1000 for i in range(-500, 500)]
    weight = ow.tensor("w", [10, 100], raw=struct.pack("<1000f", *values))
    content = relu_graph([1, 10], [weight], [ow.node("MatMul", ["x", "w"], ["y"])])
    path = write(tmp_path / "w.onnx", content)
    rows = json.loads(pitot("model", "weights", path, "--near-zero", "0.1", "--format", "json", status=OK).out)["weights"]
    assert [row["count"] for row in rows] == [1000, 1000]
    row = rows[1]
    assert row["zeros"] == 1 and row["near_zeros"] == 199 and row["not_finite"] == 0
    assert abs(row["percentiles"]["p50"] + 0.001) < 1e-6 and abs(row["percentiles"]["p1"] + 0.491) < 1e-6
    assert abs(row["mean"] + 0.0005) < 1e-6 and sum(row["histogram"]) == 1000
    step = 0.5 / 127
    assert 0.5 * step / 12**0.5 < row["int8_noise"] * (sum(v * v for v in values) / 1000) ** 0.5 < 1.5 * step / 12**0.5
    assert "1 000 weights" in pitot("model", "weights", path, status=OK).out
    assert "synthetic" in pitot("model", "weights", "mlp", status=INPUT).err
