"""Resize against exact fractions: ties, coordinates of every mode, kernels, cropping, policies."""

from fractions import Fraction

import numpy as np
import pytest

from reference.ops.resize import (
    Axis,
    axis_table,
    resize,
    resize_10,
    resize_10_open,
    resize_10_ties,
    resize_ties,
    upsample_1,
    upsample_1_ties,
    upsample_7,
    upsample_7_ties,
)

MODES = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric")


def line(x, size=None, scale=None, **attributes):
    """One axis resized."""
    sizes = None if size is None else np.array([size])
    scales = None if scale is None else np.array([float(np.float32(scale))])
    return resize(np.asarray(x, np.float64), None, scales, sizes, **attributes).tolist()


def test_ties_of_20_to_6():
    # x_original = (i + 1/2)·20/6 - 1/2 = 7/6, 9/2, 47/6, 67/6, 29/2, 107/6
    x = np.arange(20)
    assert line(x, 6, nearest_mode="round_prefer_ceil") == [1, 5, 8, 11, 15, 18]
    assert line(x, 6, nearest_mode="round_prefer_floor") == [1, 4, 8, 11, 14, 18]
    assert line(x, 6, nearest_mode="floor") == [1, 4, 7, 11, 14, 17]
    assert line(x, 6, nearest_mode="ceil") == [2, 5, 8, 12, 15, 18]


def test_a_whole_coordinate_is_not_rounded_down_by_floor():
    assert line(np.arange(7), 1, nearest_mode="floor") == [3]  # 7/2 - 1/2


def source(mode, i, length, resized):
    """The formula of Resize-19 for output i, with sizes given."""
    scale = Fraction(resized, length)
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        return Fraction(i * (length - 1), resized - 1) if resized > 1 else Fraction(0)
    if mode == "pytorch_half_pixel" and resized == 1:
        return Fraction(0)
    return (i + Fraction(1, 2)) / scale - Fraction(1, 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("length", "resized"), [(20, 6), (5, 13), (7, 7), (4, 1), (1, 5), (3, 64), (640, 427)])
def test_linear_equals_the_formula(mode, length, resized):
    values = [Fraction(i * i % 11) for i in range(length)]
    wanted = []
    for i in range(resized):
        at = source(mode, i, length, resized)
        floor = at.__floor__()
        low, high = (values[min(max(j, 0), length - 1)] for j in (floor, floor + 1))
        wanted.append(float(low + (high - low) * (at - floor)))
    got = line([float(v) for v in values], resized, mode="linear", coordinate_transformation_mode=mode)
    np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-14)


def test_scales_count_with_their_exact_float32():
    # float32(0.7) is below 7/10, so 10·0.7 is below 7; float32(0.6) is above 6/10
    assert len(line(np.arange(10), scale=0.7)) == 6
    assert len(line(np.arange(5), scale=0.6)) == 3
    scale = Fraction(float(np.float32(0.7)))
    _, weights = axis_table(Axis(10, 6, scale), mode="linear", coordinates="asymmetric")
    assert weights[1, 1] == float(1 / scale - 1)


def test_half_pixel_symmetric_centres_what_the_rounded_length_cuts():
    # length 5, scale 1/2: output width 5/2, 2 outputs; adjustment 4/5, offset 5/2·1/5 = 1/2; x = 1/2 + 2i + 1/2
    got = line(np.arange(5.0), scale=0.5, mode="linear", coordinate_transformation_mode="half_pixel_symmetric")
    assert got == [1, 3]
    assert line(np.arange(5.0), scale=0.5, mode="linear") == [0.5, 2.5]


def test_huge_denominators_stay_exact():
    scale = Fraction(float(np.float32(1e-9)))
    position, _ = axis_table(Axis(2**31, 2, scale), mode="nearest", coordinates="half_pixel", nearest_mode="floor")
    assert position[0, 0] == (Fraction(1, 2) / scale - Fraction(1, 2)).__floor__()


def keys(t, a):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else Fraction(0)


@pytest.mark.parametrize("a", [Fraction(-1, 2), Fraction(-3, 4)])
@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize(("antialias", "resized"), [(0, 9), (0, 3), (1, 3), (1, 9)])
def test_cubic_equals_the_kernel_in_fractions(a, exclude, antialias, resized):
    length = 7
    values = [Fraction(i * i % 5) for i in range(length)]
    shrink = min(Fraction(resized, length), Fraction(1)) if antialias else Fraction(1)
    wanted = []
    for i in range(resized):
        at = source("half_pixel", i, length, resized)
        taps = {j: keys((j - at) * shrink, a) for j in range(-20, 30)}
        if exclude:
            taps = {j: w for j, w in taps.items() if 0 <= j < length}
        total = sum(taps.values())
        wanted.append(float(sum(w * values[min(max(j, 0), length - 1)] for j, w in taps.items()) / total))
    attributes = {"cubic_coeff_a": float(a), "exclude_outside": exclude, "antialias": antialias}
    got = line([float(v) for v in values], resized, mode="cubic", **attributes)
    np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_antialiased_linear_halving():
    # kernel widened to ±2 around 1/2 + 2i: weights 1/8 3/8 3/8 1/8, ends repeated
    assert line([0.0, 8.0, 16.0, 32.0], 2, mode="linear", antialias=1) == [0 * 4 / 8 + 3 + 2, 1 + 6 + 12 + 4]
    assert line([0.0, 8.0, 16.0, 32.0], 2, mode="linear") == [4, 24]


def test_crop_extrapolates_outside_and_samples_the_middle_for_one_output():
    x = np.arange(4.0)[None]
    crop = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
    roi = np.array([0.0, 0.5, 1.0, 1.5])
    # 1.5 + i·3/2
    assert resize(x, roi, None, np.array([1, 3]), **crop).tolist() == [[1.5, 3.0, 9.0]]
    assert resize(x, np.array([0.0, 0.0, 1.0, 0.5]), None, np.array([1, 1]), **crop).tolist() == [[0.75]]
    # width floor(4·(1.5 - 0.5)·2) = 8
    assert resize(x, roi, np.array([1.0, 2.0]), None, **crop).shape == (1, 8)
    # shifted by a whole length without scaling: everything is outside but the first
    shifted = resize(x, np.array([0.0, 1.0, 1.0, 2.0]), None, np.array([1, 4]), **crop)
    assert shifted.tolist() == [[3, 9, 9, 9]]


@pytest.mark.parametrize(("policy", "wanted"), [("stretch", (3, 8)), ("not_larger", (3, 5)), ("not_smaller", (5, 8))])
def test_aspect_ratio_policies_on_chosen_axes(policy, wanted):
    # 6x10 to (3, 8): ratios 1/2 and 4/5; 6·4/5 = 4.8 → 5
    x = np.zeros((6, 2, 10))
    y = resize(x, None, None, np.array([8, 3]), axes=[-1, 0], keep_aspect_ratio_policy=policy)
    assert y.shape == (wanted[0], 2, wanted[1])


def test_half_of_a_rounded_length_goes_up():
    y = resize(np.zeros((1, 5)), None, None, np.array([2, 5]), keep_aspect_ratio_policy="not_larger")
    assert y.shape == (1, 5)
    y = resize(np.zeros((2, 5)), None, None, np.array([1, 5]), keep_aspect_ratio_policy="not_larger")
    assert y.shape == (1, 3)  # 5·1/2 = 5/2


def test_infinite_values_stay_where_no_weight_reaches():
    assert line([1.0, np.inf, 3.0], 3, mode="cubic") == [1.0, np.inf, 3.0]
    got = line([1.0, 2.0, np.inf], 5, mode="linear", coordinate_transformation_mode="align_corners")
    assert got == [1.0, 1.5, 2.0, np.inf, np.inf]


def test_integers_keep_their_type():
    y = resize(np.array([0, 255], np.uint8), None, None, np.array([4]), mode="linear")
    assert y.dtype == np.uint8
    assert y.tolist() == [0, 64, 191, 255]  # 63.75 and 191.25


def test_exactly_one_of_scales_and_sizes():
    with pytest.raises(ValueError, match="exactly one"):
        resize(np.zeros(3), None, np.array([]), None)
    with pytest.raises(ValueError, match="exactly one"):
        resize(np.zeros(3), None, np.array([1.0]), np.array([3]))


def test_early_versions_round_down_from_the_corner():
    x = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    scales = np.array([1.0, 1.0, 1.5, 2.0])
    nearest = [[[[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4]]]]
    assert resize_10(x, scales).tolist() == nearest
    assert upsample_7(x, scales=scales.tolist()).tolist() == nearest
    assert upsample_1(x, height_scale=1.5, width_scale=2.0).tolist() == nearest
    assert resize_10(x, np.array([1.0, 1.0, 1.0, 2.0]), mode="linear")[0, 0, 0].tolist() == [1, 1.5, 2, 2]


def test_interpolated_bool_and_complex_stay():
    halves = resize(np.array([1j, 3], np.complex64), None, None, np.array([1]), mode="linear")
    assert halves.dtype == np.complex64
    assert halves.tolist() == [1.5 + 0.5j]
    mixed = resize(np.array([True, False, False]), None, None, np.array([6]), mode="linear")
    assert mixed.tolist() == [True, True, True, False, False, False]


def test_long_axes_and_inner_axes_equal_short_last_ones():
    # the last axis by a matrix product, beyond some length by taps as the others
    x = np.random.default_rng(4).integers(-9, 9, (3, 300)).astype(float)
    sizes = np.array([7, 431])
    both = resize(x, None, None, sizes, mode="cubic")
    turned = resize(x.T, None, None, sizes[::-1], mode="cubic").T
    np.testing.assert_allclose(both, turned, rtol=1e-12, atol=1e-12)
    planes = resize(x.reshape(1, 3, 300, 1), None, None, np.array([1, 7, 431, 1]), mode="cubic")
    np.testing.assert_allclose(planes.reshape(7, 431), both, rtol=1e-12, atol=1e-12)


def test_a_region_of_interest_beyond_all_integers():
    roi, crop = np.array([-1e30, 1e30]), {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 5.0}
    for mode in ("nearest", "linear", "cubic"):
        got = resize(np.array([1.0, 2, 3]), roi, None, np.array([3]), mode=mode, **crop)
        assert got.tolist() == [5, 1, 5]  # the middle is at start + end = 0


def test_empty_axes():
    assert line([1.0, 2.0], 0) == []
    assert resize(np.zeros((0, 2)), None, np.array([1.0, 2.0])).shape == (0, 4)
    assert resize(np.zeros((2, 3)), None, None, np.array([2, 0]), mode="linear").shape == (2, 0)
    with pytest.raises(ValueError, match="empty axis"):
        line([], 2)


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        ((None, np.array([1.0, 2.0])), {}),
        ((None, np.array([np.nan])), {}),
        ((None, np.array([-1.0])), {}),
        ((None, None, np.array([2, 2])), {}),
        ((np.array([0.0, np.inf]), np.array([2.0])), {"coordinate_transformation_mode": "tf_crop_and_resize"}),
        ((np.array([0.0]), np.array([2.0])), {"coordinate_transformation_mode": "tf_crop_and_resize"}),
        ((None, np.array([2.0])), {"mode": "area"}),
        ((None, np.array([2.0])), {"nearest_mode": "up"}),
        ((None, np.array([2.0])), {"coordinate_transformation_mode": "corner"}),
        ((None, None, np.array([2])), {"keep_aspect_ratio_policy": "larger"}),
        ((None, np.array([2.0])), {"axes": [1]}),
    ],
)
def test_what_resize_does_not_know_is_an_error(inputs, attributes):
    with pytest.raises(ValueError, match=r"was expected|unknown|axis 1"):
        resize(np.zeros(3), *inputs, **attributes)


def ties(x, size=None, scale=None, **attributes):
    """Numbers of the marked elements of one axis."""
    sizes = None if size is None else np.array([size])
    scales = None if scale is None else np.array([float(np.float32(scale))])
    y = resize(np.asarray(x), None, scales, sizes, **attributes)
    marked = resize_ties(np.asarray(x), None, scales, sizes, **attributes)
    return np.flatnonzero(np.broadcast_to(marked, y.shape)).tolist()


def test_ties_are_half_ways_or_whole_coordinates_that_matter():
    # 7/6, 9/2, 47/6, 67/6, 29/2, 107/6
    assert ties(np.arange(20.0), 6) == [1, 4]
    assert ties(np.arange(20.0), 6, nearest_mode="floor") == []
    # 0, 3/2, 3, 9/2: before 0 there is nothing
    corner = {"coordinate_transformation_mode": "asymmetric"}
    assert ties(np.arange(6.0), 4, **corner, nearest_mode="floor") == [2]
    assert ties(np.arange(6.0), 4, **corner) == [1, 3]
    # a scale of float32(2/3) moves the half-ways a little
    assert ties(np.arange(7.0), scale=2 / 3, **corner) == [1, 3]
    assert ties(np.arange(6.0), 4, mode="linear") == []


def test_what_needs_no_rounding_is_no_tie():
    # 1/2, 5/2, ... and 0, 1/2, 1, ...
    assert ties(np.arange(8.0), 4) == []
    assert ties(np.arange(4.0), scale=2, coordinate_transformation_mode="asymmetric", nearest_mode="floor") == []
    assert ties(np.arange(5.0), 9, coordinate_transformation_mode="align_corners") == []


def test_ties_of_lengths():
    # 10·0.7f is just below 7; 5·0.5, 5·2 and 4·1.25 are computed exactly
    assert ties(np.arange(10.0), scale=0.7, mode="linear") == list(range(6))
    for scale in (0.5, 2, 1.25):
        assert ties(np.arange(4.0), scale=scale, mode="linear") == []
    # 5/2, of a ratio that is a float32 and one that is none
    keep = {"keep_aspect_ratio_policy": "not_larger"}
    assert not resize_ties(np.zeros((2, 5)), None, None, np.array([1, 5]), mode="linear", **keep).any()
    assert resize_ties(np.zeros((6, 15)), None, None, np.array([1, 15]), mode="linear", **keep).all()


def test_ties_at_the_ends_of_the_input():
    # 9/10·i: the last one is 9, the end
    crop = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    marked = resize_ties(np.zeros(10), np.array([0.0, 1.0]), None, np.array([11]), **crop)
    assert np.flatnonzero(marked).tolist() == [10]
    # 2 to 6 in steps of 1, of which 4 is the end: exact
    assert not resize_ties(np.zeros(5), np.array([0.5, 1.5]), None, np.array([5]), **crop).any()


def test_ties_of_integers():
    # 0, 0, 1/3, 2/3, 1, 1: a third more or less than float32 holds takes 1 to what truncates to 0
    assert ties(np.array([0, 1], np.int8), 6, mode="linear") == [0, 1, 4, 5]
    # quarters are exact, unless they are divided by their sum
    assert ties(np.array([0, 4], np.int8), 4, mode="linear") == []
    assert ties(np.array([0, 4], np.int8), 4, mode="linear", exclude_outside=1) == [0, 1, 2, 3]


def test_what_version_10_leaves_open():
    # columns at 0, 4/3, 8/3 and 4, rows at 0, 1/2 and 1
    marked = resize_10_open(np.zeros((2, 6)), np.array([2.0, 0.75]))
    assert np.broadcast_to(marked, (4, 4)).tolist() == [[False, True, True, False]] * 4
    assert not resize_10_open(np.zeros((2, 6)), np.array([2.0, 0.75]), mode="linear").any()


def test_ties_of_early_versions():
    x = np.zeros((1, 1, 2, 6))
    scales = np.array([1.0, 1.0, 1.5, 1.5])
    # rows at 0, 2/3, 4/3; columns at 0, 2/3, ..., 16/3, of which 2 and 4 are whole
    wanted = [False, False, False, True, False, False, True, False, False]
    for marked in (
        resize_10_ties(x, scales),
        upsample_7_ties(x, scales=scales.tolist()),
        upsample_1_ties(x, height_scale=1.5, width_scale=1.5),
    ):
        assert np.broadcast_to(marked, (1, 1, 3, 9))[0, 0].tolist() == [wanted] * 3
