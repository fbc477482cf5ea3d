"""What passes for a vector."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeddings.base import EmbeddingResolution, InvalidVectorError, check_vector

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
lists = st.lists(finite, min_size=1, max_size=20)


@given(lists)
def test_a_list_of_finite_numbers_becomes_a_unit_vector_in_its_direction_or_is_zero(values: list[float]) -> None:
    length = math.hypot(*values)
    if length < 1e-12:
        with pytest.raises(InvalidVectorError, match="zero"):
            check_vector(values, None)
        return
    vector = check_vector(values, len(values))
    assert vector.dtype == np.float32
    assert math.isclose(float(np.linalg.norm(vector.astype(np.float64))), 1, abs_tol=1e-5)
    for component, value in zip(vector, values, strict=True):
        assert math.isclose(float(component), value / length, abs_tol=1e-6)


@given(
    lists, st.integers(0, 19), st.sampled_from([math.nan, math.inf, -math.inf, 1e39, None, "0.1", True, [1.0], 10**400])
)
def test_one_bad_component_spoils_a_vector(values: list[float], position: int, bad: object) -> None:
    spoiled: list[object] = [*values]
    spoiled[position % len(values)] = bad
    with pytest.raises(InvalidVectorError):
        check_vector(spoiled, None)


@given(lists, st.integers(1, 30))
def test_another_width_is_refused(values: list[float], width: int) -> None:
    if width != len(values):
        with pytest.raises(InvalidVectorError):
            check_vector(values, width)


@pytest.mark.parametrize(
    "values",
    [[], [0, 0, 0, 0], [0.0, -0.0], None, "AAAA", {"0": 1.0}, 3.0, [[1.0]], np.zeros(3), np.ones((2, 2)),
     np.array(["1", "2"]), np.array([True, False]), [1e-300]],
)  # fmt: skip
def test_what_is_no_vector_is_refused(values: object) -> None:
    with pytest.raises(InvalidVectorError):
        check_vector(values, None)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_arrays_of_any_number_type_are_taken_and_left_alone(dtype: type) -> None:
    given_array = np.array([3, 4], dtype=dtype)
    vector = check_vector(given_array, 2)
    np.testing.assert_allclose(vector, [0.6, 0.8], rtol=1e-6)
    assert given_array.tolist() == [3, 4]


def test_signatures_agree_but_for_a_width_that_is_not_known() -> None:
    unknown = EmbeddingResolution("remote", "a/b", None, "remote:a/b:null", "")
    known = unknown.with_dimensions(8)
    assert known.signature == "remote:a/b:8"
    assert known.dimensions == 8
    assert unknown.agrees_with("remote:a/b:8")
    assert known.agrees_with("remote:a/b:null")
    assert not known.agrees_with("remote:a/b:9")
    assert not unknown.agrees_with("remote:a/c:8")
