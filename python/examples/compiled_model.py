"""A torch.compile'd model whose linear layers are packed mxfp4 products: one graph for every number of rows.

    python compiled_model.py        (needs torch; runs on CUDA where there is one)"""
import sys

try:
    import torch
except ImportError:
    sys.exit("compiled_model: torch is not installed")
from llrt.torch import Held, PackedLinear, convert

WIDTH, HIDDEN, GROUP = 512, 1024, 32


def mxfp4(inputs, outputs, device):
    """Random weights as a checkpoint holds them: codes of 4 bits, a power of two for each 32 along the inputs."""
    codes = torch.randint(0, 256, (inputs, outputs // 2), dtype=torch.uint8, device=device)
    scales = torch.randint(118, 122, (inputs // GROUP, outputs), dtype=torch.uint8, device=device)
    return Held(codes, "e2m1", (inputs, outputs)), Held(scales, "e8m0", (inputs // GROUP, outputs))


class Block(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.weights = [mxfp4(WIDTH, HIDDEN, device), mxfp4(HIDDEN, WIDTH, device)]
        self.up = PackedLinear(*self.weights[0], activation="silu", range=(118, 121))
        self.down = PackedLinear(*self.weights[1], range=(118, 121))

    def forward(self, x):
        return x + self.down(self.up(torch.nn.functional.rms_norm(x, (WIDTH,))))

    def reference(self, x):
        """The same with weights that torch multiplies."""
        def plain(weights):
            codes, scales = weights
            return convert(codes, dtype="bf16", scale=scales, group=(GROUP, 1)).float()
        up, down = (plain(weights) for weights in self.weights)
        y = torch.nn.functional.rms_norm(x, (WIDTH,)).float()
        y = torch.nn.functional.silu(y @ up).to(x.dtype).float()
        return x + (y @ down).to(x.dtype)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    block = Block(device)
    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    for rows in (2, 7, 64, 300):
        x = torch.randn(rows, WIDTH, dtype=torch.bfloat16, device=device)
        made, expected = compiled(x), block.reference(x)
        error = (made - expected).abs().max().item() / expected.abs().max().item()
        assert error < 2e-2, (rows, error)
        print(f"{rows} rows: within {error:.1e} of torch's own product")


if __name__ == "__main__":
    main()
