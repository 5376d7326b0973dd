"""Writes ONNX files byte by byte, with nothing but the standard library: for tests of files that no exporter would make.

    model(graph([node("Relu", ["x"], ["y"])], inputs=[value("x", [1, 3])], outputs=[value("y", [1, 3])]))

Run as a program, it writes the seeds of the fuzz target into a folder.
"""

import os
import struct
import sys

FLOAT, INT64 = 1, 7


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, content):
    if isinstance(content, str):
        content = content.encode()
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name, dims, kind=FLOAT, raw=b"", packed=None, external=None):
    out = b"".join(number(1, dim) for dim in dims) + number(2, kind) + chunk(8, name)
    if packed is not None:
        out += chunk(7 if kind == INT64 else 4, packed)
    elif external is not None:
        for key, value in external.items():
            out += chunk(13, chunk(1, key) + chunk(2, str(value)))
        out += number(14, 1)
    else:
        out += chunk(9, raw)
    return out


def floats(name, dims):
    count = 1
    for dim in dims:
        count *= dim
    return tensor(name, dims, raw=struct.pack(f"<{count}f", *[0.5] * count))


def ints(name, values):
    return tensor(name, [len(values)], INT64, raw=struct.pack(f"<{len(values)}q", *values))


def attribute(name, value):
    out = chunk(1, name)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return out + chunk(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return out + chunk(5, value) + number(20, 4)
    return out + b"".join(number(8, item) for item in value) + number(20, 7)


def node(kind, inputs, outputs, name="", domain="", **attributes):
    out = b"".join(chunk(1, text) for text in inputs) + b"".join(chunk(2, text) for text in outputs)
    out += chunk(3, name) + chunk(4, kind)
    out += b"".join(chunk(5, attribute(key, value)) for key, value in attributes.items())
    return out + (chunk(7, domain) if domain else b"")


def value(name, dims, kind=FLOAT):
    shape = b"".join(chunk(1, chunk(2, dim) if isinstance(dim, str) else number(1, dim)) for dim in dims)
    return chunk(1, name) + chunk(2, chunk(1, number(1, kind) + chunk(2, shape)))


def graph(nodes, initializers=(), inputs=(), outputs=()):
    out = b"".join(chunk(1, item) for item in nodes) + chunk(2, "g")
    out += b"".join(chunk(5, item) for item in initializers)
    out += b"".join(chunk(11, item) for item in inputs) + b"".join(chunk(12, item) for item in outputs)
    return out


def model(graph_bytes, opset=13):
    return number(1, 8) + chunk(2, "tests") + chunk(7, graph_bytes) + chunk(8, chunk(1, "") + number(2, opset))


def convolution():
    return model(
        graph(
            [
                node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                node("BatchNormalization", ["c", "s", "s", "s", "s"], ["n"], "/a/norm/BatchNormalization"),
                node("Relu", ["n"], ["r"], "/a/relu/Relu"),
                node("GlobalAveragePool", ["r"], ["p"]),
                node("Flatten", ["p"], ["f"]),
                node("Gemm", ["f", "v"], ["y"], transB=1),
            ],
            [floats("w", [4, 3, 3, 3]), floats("b", [4]), floats("s", [4]), floats("v", [5, 4])],
            [value("x", ["N", 3, 8, 8])],
            [value("y", ["N", 5])],
        )
    )


def shapes():
    """view(size(0), -1), as PyTorch writes it."""
    return model(
        graph(
            [
                node("Shape", ["x"], ["s"]),
                node("Constant", [], ["zero"], value=tensor("", [], INT64, raw=struct.pack("<q", 0))),
                node("Gather", ["s", "zero"], ["n"], axis=0),
                node("Unsqueeze", ["n", "axis"], ["nn"]),
                node("Concat", ["nn", "rest"], ["to"], axis=0),
                node("Reshape", ["x", "to"], ["f"]),
                node("Slice", ["f", "axis", "ends", "last"], ["c"]),
                node("ConstantOfShape", ["wide"], ["w"], value=floats("", [1])),
                node("MatMul", ["c", "w"], ["m"]),
                node("Split", ["m"], ["a", "b"], axis=1),
                node("Softmax", ["a"], ["y"]),
                node("LSTM", ["q", "lw", "lr"], ["h", "", ""], hidden_size=2),
            ],
            [
                ints("axis", [0]),
                ints("rest", [-1]),
                ints("ends", [6]),
                ints("last", [1]),
                ints("wide", [6, 4]),
                floats("lw", [1, 8, 3]),
                floats("lr", [1, 8, 2]),
            ],
            [value("x", [2, 3, 4]), value("q", [5, 1, 3])],
            [value("y", [2, 2]), value("b", [2, 2])],
        )
    )


def attention():
    return model(
        graph(
            [
                node("Gather", ["table", "ids"], ["e"]),
                node("MatMul", ["e", "wq"], ["q"]),
                node("Transpose", ["q"], ["k"], perm=[0, 2, 1]),
                node("MatMul", ["q", "k"], ["s"]),
                node("Softmax", ["s"], ["p"], axis=-1),
                node("MatMul", ["p", "q"], ["o"]),
                node("If", ["flag"], ["z"]),
                node("Mystery", ["o"], ["y"], domain="com.example"),
            ],
            [floats("table", [10, 4]), floats("wq", [4, 4]), floats("flag", [1])],
            [value("ids", ["batch", "seq"], INT64)],
            [value("y", [1]), value("z", [1])],
        ),
        17,
    )


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in [("conv", convolution()), ("shapes", shapes()), ("attention", attention())]:
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(content)
    with open(os.path.join(folder, "text"), "w", encoding="utf-8") as file:
        file.write(
            "# a model\noption width 8\ninput x 3 8 8\nconv $width kernel=3 pad=1\nblock.r = relu\n"
            "repeat 2 as s\n  linear 2*$width of x\n  gelu\nend\nmean axis=1\ny = add of x x\n"
        )


if __name__ == "__main__":
    main(sys.argv[1])
