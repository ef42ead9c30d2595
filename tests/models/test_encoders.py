"""The encoders for heads of another kind: what the package documents, and what padding must not change."""

import doctest

import pytest
import torch

import nmt.models
from nmt.models.recurrent import RecurrentEncoder


def test_the_example_of_the_package_runs_as_it_stands():
    results = doctest.testmod(nmt.models)
    assert results.attempted >= 10
    assert results.failed == 0


@pytest.mark.parametrize("lengths", [[4, 7, 1], [7, 4, 1]], ids=["mixed", "longest first"])
@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh"])
def test_the_recurrent_encoder_reads_each_sequence_as_if_alone(cell, lengths):
    torch.manual_seed(0)
    encoder = RecurrentEncoder(cell, 6, 5, num_layers=2, bidirectional=True, dropout=0.1).double().eval()
    vectors, lengths = torch.randn(3, 7, 6, dtype=torch.float64), torch.tensor(lengths)
    encoded = encoder.read(vectors, lengths)
    assert encoded.shape == (3, 7, 10)
    for row, length in enumerate(lengths.tolist()):
        alone = encoder.read(vectors[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(encoded[row : row + 1, :length], alone)


def test_in_one_direction_no_position_knows_the_next():
    torch.manual_seed(0)
    encoder = RecurrentEncoder("gru", 6, 5, num_layers=2, bidirectional=False, dropout=0.1).double().eval()
    vectors = torch.randn(1, 7, 6, dtype=torch.float64)
    whole, part = (encoder.read(vectors[:, :length], torch.tensor([length])) for length in (7, 3))
    torch.testing.assert_close(whole[:, :3], part)
