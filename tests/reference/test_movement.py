"""Data movement against values worked out by hand: negative axes and steps, clamping, empty axes, exact ranges."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from reference.evaluator import apply
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


@pytest.mark.parametrize(
    ("length", "wanted"),
    [
        (0, []),
        (1, [3]),
        (2, [2, 3]),  # 3 of 5 are cut: start floor(3/2) = 1
        (3, [2, 3, 4]),
        (4, [1, 2, 3, 4]),
        (5, [1, 2, 3, 4, 5]),
        (6, [1, 2, 3, 4, 5, 0]),
        (8, [0, 1, 2, 3, 4, 5, 0, 0]),
    ],
)
def test_center_crop_pad(length, wanted):
    assert movement.center_crop_pad(np.arange(1, 6), [length]).tolist() == wanted


def test_center_crop_pad_chosen_axes_keep_type_and_order():
    y = movement.center_crop_pad(X.astype(np.uint8), np.array([2, 3]), axes=[-1, 0])
    assert y.dtype == np.uint8
    assert y.tolist() == [[0, 1], [3, 4], [0, 0]]
    assert movement.center_crop_pad(X, [1, 1]).tolist() == [[1]]
    assert movement.center_crop_pad(np.zeros((0, 2)), [1], axes=[0]).tolist() == [[0, 0]]
    strings = movement.center_crop_pad(np.array(["a"], object), [2])
    assert strings.tolist() == ["a", ""]
    for shape, axes in (([1], None), ([1, 1], [0]), ([-1], [0]), ([1, 1], [0, -2])):
        with pytest.raises(ValueError, match=r"expected a length|name an axis twice"):
            movement.center_crop_pad(X, shape, axes=axes)


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


@pytest.mark.parametrize(
    ("attributes", "wanted", "dtype"),
    [
        ({"value": np.array([[0.5, 2]], np.float32)}, [[0.5, 2]], np.float64),
        ({"value": np.array([1, -1], ml_dtypes.int4)}, [1, -1], ml_dtypes.int4),
        ({"value_float": 0.5}, 0.5, np.float64),
        ({"value_floats": [0.5, 1.0]}, [0.5, 1], np.float64),
        ({"value_floats": []}, [], np.float64),
        ({"value_int": -(2**63)}, -(2**63), np.int64),
        ({"value_ints": [2**53 + 1]}, [2**53 + 1], np.int64),
        ({"value_string": "é"}, "é", object),
        ({"value_strings": ["a", ""]}, ["a", ""], object),
    ],
)
def test_constant_values(attributes, wanted, dtype):
    y = movement.constant(**attributes)
    assert y.dtype == dtype
    assert y.shape == np.shape(wanted)
    assert y.tolist() == wanted


@pytest.mark.parametrize(("indices", "dims"), [([1, 5], [2]), ([[0, 1], [1, 2]], [2, 2])])
def test_sparse_constant(indices, dims):
    where = helper.make_tensor("", TensorProto.INT64, dims, np.ravel(indices))
    values = helper.make_tensor("", TensorProto.FLOAT16, [2], [0.5, -3])
    y = movement.constant(sparse_value=helper.make_sparse_tensor(values, where, [2, 3]))
    assert y.dtype == np.float64
    assert y.tolist() == [[0, 0.5, 0], [0, 0, -3]]


def test_sparse_constant_of_strings_and_of_nothing():
    where = helper.make_tensor("", TensorProto.INT64, [1], [1])
    values = helper.make_tensor("", TensorProto.STRING, [1], ["a"])
    assert movement.constant(sparse_value=helper.make_sparse_tensor(values, where, [3])).tolist() == ["", "a", ""]
    none = [helper.make_tensor("", kind, [0], []) for kind in (TensorProto.INT32, TensorProto.INT64)]
    y = movement.constant(sparse_value=helper.make_sparse_tensor(*none, [2]))
    assert y.dtype == np.int32
    assert y.tolist() == [0, 0]


def test_constant_has_one_value():
    with pytest.raises(ValueError, match="exactly one of its value attributes, not 0"):
        movement.constant()
    with pytest.raises(ValueError, match="exactly one of its value attributes, not 2"):
        movement.constant(value_int=1, value_float=1.0)


def test_splits_before_18_are_equal_or_given():
    x = np.arange(6.0)
    assert [p.tolist() for p in movement.split_2(x, split=[2, 4])] == [[0, 1], [2, 3, 4, 5]]
    assert [p.tolist() for p in movement.split_2(X, axis=-1, n_outputs=3)] == [[[0], [3]], [[1], [4]], [[2], [5]]]
    with pytest.raises(ValueError, match="length 6 does not fall into 4 equal parts"):
        movement.split_2(x, n_outputs=4)
    with pytest.raises(ValueError, match="axis 1 of a tensor of rank 1"):
        movement.split_2(x, axis=1)
    with pytest.raises(ValueError, match="given twice"):
        movement.split(x, [3, 3], num_outputs=2)
    with pytest.raises(ValueError, match="expected a positive number"):
        movement.split(x, num_outputs=0)


def test_split_of_version_1_takes_lengths_as_reals_or_as_attribute():
    x, lengths = np.arange(6.0), [1, 5]
    expected = [[0], [1, 2, 3, 4, 5]]
    for inputs, attributes in (([x, np.array(lengths, np.float64)], {}), ([x], {"split": lengths, "axis": 0})):
        assert [p.tolist() for p in apply("Split", 1, inputs, attributes, n_outputs=2)] == expected
    assert [p.tolist() for p in apply("Split", 1, [x], {}, n_outputs=2)] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="given twice"):
        apply("Split", 1, [x, np.array([6.0])], {"split": [6]})


@pytest.mark.parametrize("step", [INT64.min, INT64.min + 1, -(2**62), -7])
def test_slices_of_huge_steps_take_one_element(step):
    x = np.arange(6)
    assert movement.slice_(x, [INT64.max], [INT64.min], [0], [step]).tolist() == [5]
    assert movement.slice_(x, [2], [5], [0], [step]).tolist() == []
    assert movement.slice_(x, [INT64.min], [INT64.max], [0], [-(step + 1)]).tolist() == [0]


def test_slices_by_attributes_and_by_inputs():
    attributes = {"axes": [1], "starts": [-2], "ends": [1000]}
    assert apply("Slice", 1, [X], attributes)[0].tolist() == [[1, 2], [4, 5]]
    inputs = [np.array(v, np.int32) for v in ([-1], [-1000], [1], [-1])]
    assert apply("Slice", 13, [X, *inputs], {})[0].tolist() == [[2, 1, 0], [5, 4, 3]]


def test_pads_of_every_kind_of_element():
    assert movement.pad(np.array(["a"], object), [1, 1]).tolist() == ["", "a", ""]
    assert movement.pad(np.array(["a"], object), [1, 0], np.array("x", object)).tolist() == ["x", "a"]
    assert movement.pad(np.array([True]), [0, 1]).tolist() == [True, False]
    assert movement.pad(np.array([1j]), [1, 0]).tolist() == [0, 1j]
    assert movement.pad(np.array([-8], ml_dtypes.int4), [0, 1], np.array([7], ml_dtypes.int4)).astype(int).tolist() == [-8, 7]
    assert movement.pad_1(X, paddings=[0, 1, 0, 0], value=-1.0).tolist() == [[-1, 0, 1, 2], [-1, 3, 4, 5]]


def test_triangle_of_strings():
    assert movement.trilu(np.array([["a", "b"], ["c", "d"]], object)).tolist() == [["a", "b"], ["", "d"]]


def test_old_forms_by_attributes():
    assert apply("Reshape", 1, [X], {"shape": [0, -1, 1], "consumed_inputs": [0]})[0].shape == (2, 3, 1)
    assert apply("Squeeze", 1, [X[None]], {"axes": [0]})[0].shape == (2, 3)
    assert apply("Unsqueeze", 11, [X], {"axes": [-1, 0]})[0].shape == (1, 2, 3, 1)
    assert apply("Concat", 1, [X, X], {})[0].shape == (2, 6)
    assert apply("Tile", 1, [X, np.array([2.0]), np.array([1.0])], {})[0].shape == (2, 6)
    (y,) = apply("Range", 27, [np.array(v) for v in (1.0, 2.0, 0.5)], {"stash_type": 10})
    assert y.tolist() == [1, 1.5]


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("length below -1", lambda: movement.reshape(X, [-2, 3])),
        ("copies a length", lambda: movement.reshape(X, [2, 3, 0])),
        ("is no permutation", lambda: movement.transpose(X, perm=[0, 0])),
        ("is no permutation", lambda: movement.transpose(X, perm=[-1, 0])),
        ("axis 3 of a tensor of rank 2", lambda: movement.flatten(X, axis=3)),
        ("axis 1 of a tensor of rank 0", lambda: movement.flatten(np.array(1))),
        ("axis 2 of a tensor of rank 2", lambda: movement.squeeze(X, [2])),
        ("name an axis twice", lambda: movement.unsqueeze(X, [0, -4])),
        ("axis 4 of a tensor of rank 3", lambda: movement.unsqueeze(X, [4])),
        ("axis 2 of a tensor of rank 2", lambda: movement.slice_(X, [0], [1], [2])),
        ("2 starts, 1 ends", lambda: movement.slice_(X, [0, 0], [1])),
        ("name an axis twice", lambda: movement.slice_(X, [0, 0], [1, 1], [1, -1])),
        ("expected two for each", lambda: movement.pad(X, [1, 1])),
        ("cut more than the 3", lambda: movement.pad(X, [0, -2, 0, -2])),
        ("nothing to copy", lambda: movement.pad(X[:0], [1, 0, 0, 0], mode="edge")),
        ("unknown padding mode", lambda: movement.pad(X, [1, 0, 0, 0], mode="mirror")),
        ("constant_value has shape", lambda: movement.pad(X, [1, 0, 0, 0], np.array([1, 2]))),
        ("one number for each axis", lambda: movement.tile(X, [2])),
        ("one number for each axis", lambda: movement.tile(X, [2, -1])),
        (r"expected \(N, C, H, W\)", lambda: movement.depth_to_space(X, blocksize=1)),
        ("do not make up blocks", lambda: movement.depth_to_space(X[None, None], blocksize=2)),
        ("does not fall into blocks", lambda: movement.space_to_depth(X[None, None], blocksize=2)),
        ("mode is DCR or CRD", lambda: movement.space_to_depth(X[None, None], blocksize=1, mode="RDC")),
        ("expected matrices", lambda: movement.trilu(X[0])),
        ("expected a matrix", lambda: movement.eye_like(X[0])),
        ("no range from 0.0 to 1.0 by 0.0", lambda: movement.range_(*map(np.array, (0.0, 1.0, 0.0)))),
        ("no range from 0.0 to inf", lambda: movement.range_(*map(np.array, (0.0, np.inf, 1.0)))),
        ("expected axes 0 and 1", lambda: movement.reverse_sequence(X, np.array([1]), batch_axis=1, time_axis=1)),
        ("sequence_lens", lambda: movement.reverse_sequence(X, np.array([3, 1, 1]))),
    ],
)
def test_arguments_that_do_not_fit(message, call):
    with pytest.raises(ValueError, match=message):
        call()
