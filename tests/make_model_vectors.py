"""Writes tests/vectors/model: a small network that PyTorch exported, and what PyTorch computes with it.

    /usr/bin/python3 tests/make_model_vectors.py        needs PyTorch; what it writes is committed, so that tests do not

The network has what goes wrong first: strides, dilation, groups, a transposed convolution, norms, slices with steps, a
transposed sequence, a split. Input element i is ((37 i mod 101) - 50) / 50.
"""

import os

import torch
from torch import nn

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors/model")


class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.grouped = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4)
        self.up = nn.ConvTranspose2d(8, 6, 4, 2, 1)
        self.batch_norm = nn.BatchNorm2d(6)
        self.group_norm = nn.GroupNorm(2, 6)
        self.linear = nn.Linear(6, 5)
        self.batch_norm.running_mean.uniform_()
        self.batch_norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = nn.functional.hardswish(self.conv(x))
        y = nn.functional.gelu(self.grouped(y))
        y = self.group_norm(self.batch_norm(self.up(y)))
        y = nn.functional.avg_pool2d(y, 3, 2, 1).flatten(2).transpose(1, 2)
        y = torch.cat([y[:, ::2], y[:, 1::2]], 1)
        a, b = self.linear(y).split([3, 2], 2)
        return torch.softmax(a, -1) * b.mean(-1, keepdim=True).exp()


def main():
    os.makedirs(FOLDER, exist_ok=True)
    torch.manual_seed(3)
    network = Mix().eval()
    shape = (2, 3, 16, 16)
    count = torch.Size(shape).numel()
    x = torch.tensor([((i * 37 % 101) - 50) / 50 for i in range(count)]).reshape(shape)
    torch.onnx.export(network, x, os.path.join(FOLDER, "mix.onnx"))
    with torch.no_grad(), open(os.path.join(FOLDER, "mix.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{value:.9g}\n" for value in network(x).reshape(-1).tolist())


if __name__ == "__main__":
    main()
