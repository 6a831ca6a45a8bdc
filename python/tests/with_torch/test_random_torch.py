"""The random calls of tests/test_random.py on torch tensors, by 16 threads: LLRT_RANDOM_CALLS of them."""
import os
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import test_random  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


class Put:
    """numpy's arrays as torch tensors of the same strides, and back."""

    def __init__(self, device):
        self.device, self.elsewhere = device, device != "cpu"

    def there(self, array):
        if any(step < 0 for step in array.strides):  # torch has none
            array = array.copy()
        given = torch.from_numpy(array)
        made = torch.empty_strided(given.shape, given.stride(), dtype=given.dtype, device=self.device)
        return made.copy_(given)

    def back(self, made):
        return made.cpu().numpy()


@pytest.mark.parametrize("device", DEVICES)
def test_random_calls(device):
    wrong = []
    made = test_random.in_threads(Put(device), test_random.CALLS, test_random.SEED + 50, wrong)
    print(f"{made} random calls on {device}: {len(wrong)} wrong")
    assert made and not wrong
