"""Data movement against values worked out by hand: negative axes and steps, clamping, empty axes, exact ranges."""

import ml_dtypes
import numpy as np
import pytest

from reference.ops import movement

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize(
    ("start", "shape", "allowzero", "wanted"),
    [
        ((2, 3), [3, -1], 0, (3, 2)),
        ((2, 3), [0, -1, 1], 0, (2, 3, 1)),
        ((2, 3), [-1, 0], 0, (2, 3)),
        ((1,), [], 0, ()),
        ((0, 3), [3, 0], 1, (3, 0)),
        ((0, 4), [0, 2, 2], 0, (0, 2, 2)),
    ],
)
def test_reshape(start, shape, allowzero, wanted):
    assert movement.reshape(np.zeros(start), np.array(shape, np.int64), allowzero=allowzero).shape == wanted


def test_reshape_refuses_another_size():
    with pytest.raises(ValueError, match="reshape"):
        movement.reshape(X, [4, 2])


@pytest.mark.parametrize(("axis", "wanted"), [(0, (1, 24)), (1, (2, 12)), (3, (24, 1)), (-1, (6, 4)), (-3, (1, 24))])
def test_flatten(axis, wanted):
    assert movement.flatten(np.zeros((2, 3, 4)), axis=axis).shape == wanted
    assert movement.flatten(np.zeros(()), axis=0).shape == (1, 1)


def test_transpose_squeeze_unsqueeze():
    x = np.zeros((1, 2, 1, 3))
    assert movement.transpose(x).shape == (3, 1, 2, 1)
    assert movement.transpose(x, perm=[1, 3, 0, 2]).shape == (2, 3, 1, 1)
    assert movement.squeeze(x).shape == (2, 3)
    assert movement.squeeze(x, np.array([-2])).shape == (1, 2, 3)
    assert movement.unsqueeze(X, np.array([-1, 0])).shape == (1, 2, 3, 1)
    with pytest.raises(ValueError, match="not equal to one"):
        movement.squeeze(x, [1])


def test_concat_on_a_negative_axis_with_an_empty_part():
    y = movement.concat(X, np.zeros((2, 0), X.dtype), X, axis=-1)
    assert y.tolist() == [[0, 1, 2, 0, 1, 2], [3, 4, 5, 3, 4, 5]]


def test_splits():
    x = np.arange(7)
    assert [p.tolist() for p in movement.split(x, num_outputs=3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [p.tolist() for p in movement.split(x, np.array([0, 5, 2]))] == [[], [0, 1, 2, 3, 4], [5, 6]]
    assert [p.shape for p in movement.split(X, axis=-1, n_outputs=3)] == [(2, 1)] * 3
    with pytest.raises(ValueError, match="do not make up"):
        movement.split(x, [3, 3])
    with pytest.raises(ValueError, match="do not make up"):
        movement.split(np.arange(5), num_outputs=4)  # chunks of 2: 2 2 2 and -1


INT64 = np.iinfo(np.int64)


@pytest.mark.parametrize(
    ("start", "end", "step", "wanted"),
    [
        (1, INT64.max, 1, [1, 2, 3, 4]),
        (-2, 100, 1, [3, 4]),
        (-100, -3, 1, [0, 1]),
        (-1, INT64.min, -1, [4, 3, 2, 1, 0]),
        (100, 0, -2, [4, 2]),
        (3, -100, -3, [3, 0]),
        (4, -1, -1, []),
        (2, 1, 1, []),
        (5, 9, 1, []),
        (-100, -100, -1, [0]),  # start is clamped to 0, end to -1; NumPy's slices would be empty
        (-100, INT64.min, -1, [0]),
    ],
)
def test_slice_clamps(start, end, step, wanted):
    y = movement.slice_(np.arange(5), [start], [end], [-1], [step])
    assert y.tolist() == wanted


def test_slice_of_an_empty_axis_and_without_axes():
    assert movement.slice_(np.zeros((0, 2)), [-1], [INT64.min], [0], [-1]).shape == (0, 2)
    assert movement.slice_(X, [1, 0], [2, -1]).tolist() == [[3, 4]]
    with pytest.raises(ValueError, match="step"):
        movement.slice_(X, [0], [1], [0], [0])


@pytest.mark.parametrize(
    ("mode", "pads", "wanted"),
    [
        ("constant", [2, 1], [9, 9, 1, 2, 3, 9]),
        ("constant", [-1, 2], [2, 3, 9, 9]),
        ("constant", [1, -2], [9, 1]),
        ("edge", [2, 1], [1, 1, 1, 2, 3, 3]),
        ("reflect", [2, 1], [3, 2, 1, 2, 3, 2]),
        ("reflect", [5, 0], [2, 1, 2, 3, 2, 1, 2, 3]),
        ("reflect", [-1, 2], [2, 3, 2, 3]),
        ("wrap", [2, 4], [2, 3, 1, 2, 3, 1, 2, 3, 1]),
        ("wrap", [-1, 1], [2, 3, 2]),
    ],
)
def test_pad_modes(mode, pads, wanted):
    assert movement.pad(np.array([1, 2, 3]), np.array(pads), np.array(9), mode=mode).tolist() == wanted


def test_pad_chosen_axes_keep_type_and_order():
    y = movement.pad(X.astype(np.int8), np.array([1, 0, 0, 1]), None, np.array([-1, 0]))
    assert y.dtype == np.int8
    assert y.tolist() == [[0, 0, 1, 2], [0, 3, 4, 5], [0, 0, 0, 0]]
    assert movement.pad(np.zeros((0, 2)), [1, 0, 0, 0]).tolist() == [[0, 0]]
    assert movement.pad(np.array([7]), [2, 2], mode="reflect").tolist() == [7] * 5
    assert movement.pad_2(X, pads=[0, 0, 1, 0], value=4.0).tolist() == [[0, 1, 2], [3, 4, 5], [4, 4, 4]]


def test_expand_both_ways_and_tile():
    assert movement.expand(X, np.array([2, 1, 1])).shape == (2, 2, 3)
    assert movement.expand(np.zeros((1, 3)), [0, 1]).shape == (0, 3)
    assert movement.tile(np.array([[1, 2]]), np.array([2, 2])).tolist() == [[1, 2, 1, 2], [1, 2, 1, 2]]
    assert movement.tile(X, [0, 1]).shape == (0, 3)


def test_depth_and_space():
    x = np.arange(8).reshape(1, 8, 1, 1)
    # two output channels; DCR: channel (row*2 + column)*2 + c, CRD: c*4 + row*2 + column
    assert movement.depth_to_space(x, blocksize=2)[0].tolist() == [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]
    assert movement.depth_to_space(x, blocksize=2, mode="CRD")[0].tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    image = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)
    for mode in ("DCR", "CRD"):
        deep = movement.space_to_depth(image, blocksize=2, mode=mode)
        assert (movement.depth_to_space(deep, blocksize=2, mode=mode) == image).all()
    corner = movement.space_to_depth(image, blocksize=2)[0, :, 0, 0]
    assert corner.tolist() == [0, 24, 48, 1, 25, 49, 6, 30, 54, 7, 31, 55]


@pytest.mark.parametrize(
    ("k", "upper", "wanted"),
    [
        (0, 1, [[1, 1, 1], [0, 1, 1]]),
        (1, 1, [[0, 1, 1], [0, 0, 1]]),
        (-5, 1, [[1] * 3] * 2),
        (-1, 0, [[0, 0, 0], [1, 0, 0]]),
    ],
)
def test_triangles(k, upper, wanted):
    y = movement.trilu(np.ones((4, 2, 3), bool), np.array(k), upper=upper)
    assert y.dtype == bool
    assert y[3].tolist() == wanted


@pytest.mark.parametrize(
    ("start", "end", "wanted"), [(0, None, [2, 3, 4]), (-1, None, [4]), (-9, -1, [2, 3]), (1, 9, [3, 4]), (2, 1, [])]
)
def test_shape(start, end, wanted):
    y = movement.shape(np.zeros((2, 3, 4)), start=start, end=end)
    assert y.tolist() == wanted
    assert y.dtype == np.int64
    assert movement.size(np.zeros((2, 0))) == 0


def test_constants():
    assert movement.constant_of_shape(np.array([2, 0])).shape == (2, 0)
    y = movement.constant_of_shape(np.array([2]), value=np.array([7], np.int8))
    assert (y.tolist(), y.dtype) == ([7, 7], np.int8)
    assert movement.constant_of_shape(np.array([], np.int64), value=np.array([1.5], np.float16)).dtype == np.float64
    assert movement.eye_like(np.zeros((2, 3), np.int32), k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert movement.eye_like(np.zeros((2, 3), np.int32), k=-1, dtype=9).tolist() == [[False] * 3, [True, False, False]]


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ((3, 9, 3), [3, 6]),
        ((10, 4, -2), [10, 8, 6]),
        ((1, 1, 5), []),
        ((0, 5, -1), []),
        ((2**62, 2**62 + 3, 2), [2**62, 2**62 + 2]),
        ((-(2**63), 2**63 - 1, 2**62), [-(2**63), -(2**62), 0, 2**62]),
    ],
)
def test_integer_ranges_are_exact(bounds, wanted):
    assert movement.range_(*(np.array(v, np.int64) for v in bounds)).tolist() == wanted


def test_real_ranges_count_exactly():
    tenth = float(np.float32(0.1))  # a little more than 1/10, so ten steps reach beyond 1
    y = movement.range_(*(np.array(v) for v in (0.0, 1.0, tenth)))
    assert y.tolist() == [i * tenth for i in range(10)]
    third = float(np.float32(1 / 3))  # more than 1/3: the fourth value would be above 1
    assert movement.range_(*(np.array(v) for v in (0.0, 1.0, third))).size == 3
    below = float(np.float32(0.7))  # less than 7/10: two steps stay below 1.4
    assert movement.range_(*(np.array(v) for v in (0.0, 1.4, below))).size == 3


def test_reverse_sequence_both_layouts():
    x = np.arange(8).reshape(2, 4)
    y = movement.reverse_sequence(x, np.array([3, 1]), batch_axis=0, time_axis=1)
    assert y.tolist() == [[2, 1, 0, 3], [4, 5, 6, 7]]
    assert movement.reverse_sequence(x, np.array([2, 1, 0, 2])).tolist() == [[4, 1, 2, 7], [0, 5, 6, 3]]


def test_four_bit_types_move_unchanged():
    x = np.array([[-8, 7], [1, -1]], ml_dtypes.int4)
    for y in (
        movement.transpose(x),
        movement.pad(x, [1, 0, 0, 0]),
        movement.slice_(x, [-1], [-9], [0], [-1]),
        movement.tile(x, [1, 2]),
        movement.expand(x, [3, 1, 1]),
        movement.trilu(x),
    ):
        assert y.dtype == x.dtype
    assert movement.transpose(x).astype(int).tolist() == [[-8, 1], [7, -1]]
