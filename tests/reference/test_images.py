"""Images: files written here by hand or losslessly, whose pixels are known."""

import builtins
import io
import struct

import numpy as np
import pytest

from reference.ops import images

Image = pytest.importorskip("PIL.Image")

PIXELS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[10, 20, 30], [0, 0, 0], [255, 255, 255]]], np.uint8)


def stream(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def encoded(pixels: np.ndarray, file_format: str, **options) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, file_format, **options)
    return stream(file.getvalue())


PPM = stream(b"P6 3 2 255\n" + PIXELS.tobytes())
# A bitmap: rows from the bottom, each padded to 4 bytes, blue before green before red.
ROWS = b"".join(row[:, ::-1].tobytes() + b"\0" * 3 for row in PIXELS[::-1])
BMP = stream(
    struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(ROWS), 0, 0, 54, 40, 3, 2, 1, 24, 0, len(ROWS), 0, 0, 0, 0) + ROWS
)


@pytest.mark.parametrize("file", [PPM, BMP], ids=["ppm", "bmp"])
def test_files_written_by_hand(file):
    y = images.image_decoder(file)
    assert y.dtype == np.uint8
    np.testing.assert_array_equal(y, PIXELS)
    np.testing.assert_array_equal(images.image_decoder(file, pixel_format="BGR"), PIXELS[:, :, ::-1])


@pytest.mark.parametrize(
    ("file_format", "options"),
    [
        ("PNG", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("WEBP", {"lossless": True}),
        ("JPEG2000", {"irreversible": False}),
        ("PPM", {}),
        ("BMP", {}),
    ],
)
def test_lossless_formats_are_exact(file_format, options):
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    np.testing.assert_array_equal(images.image_decoder(encoded(pixels, file_format, **options)), pixels)


def test_jpeg_of_one_colour_is_that_colour():
    # A grey block has one coefficient, so that no decoder has anything to round.
    pixels = np.full((16, 24, 3), 128, np.uint8)
    np.testing.assert_array_equal(images.image_decoder(encoded(pixels, "JPEG")), pixels)


def test_grayscale():
    # round(0.299 R + 0.587 G + 0.114 B): 76.2, 149.7, 29.1; 18.2, 0, 255
    y = images.image_decoder(PPM, pixel_format="Grayscale")
    assert y.shape == (2, 3, 1)
    assert y[:, :, 0].tolist() == [[76, 150, 29], [18, 0, 255]]


def test_grey_palette_and_transparent_images_have_three_channels():
    np.testing.assert_array_equal(images.image_decoder(stream(b"P5 2 1 255\n\x07\xff")), [[[7] * 3, [255] * 3]])
    np.testing.assert_array_equal(images.image_decoder(stream(b"P1 2 1 1 0\n")), [[[0] * 3, [255] * 3]])
    transparent = np.dstack([PIXELS, np.zeros((2, 3), np.uint8)])
    np.testing.assert_array_equal(images.image_decoder(encoded(transparent, "PNG")), PIXELS)
    file = io.BytesIO()
    Image.fromarray(PIXELS).quantize(6).save(file, "PNG")
    np.testing.assert_array_equal(images.image_decoder(stream(file.getvalue())), PIXELS)


@pytest.mark.parametrize("file", [stream(b""), stream(b"no image"), PPM[:-1], encoded(PIXELS, "GIF")], ids=str)
def test_what_cannot_be_decoded_is_empty(file):
    assert images.image_decoder(file).shape == (0, 0, 3)
    assert images.image_decoder(file, pixel_format="Grayscale").shape == (0, 0, 1)


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match="pixel_format must be RGB, BGR or Grayscale, not HSV"):
        images.image_decoder(PPM, pixel_format="HSV")
    with pytest.raises(ValueError, match="images of Pillow's mode I;16 are not in the reference"):
        images.image_decoder(encoded(np.full((2, 2), 1000, np.uint16), "PNG"))
    real = builtins.__import__

    def without_pillow(name, *rest):
        if name.startswith("PIL"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(ValueError, match="ImageDecoder needs Pillow: pip install pillow"):
        images.image_decoder(PPM)
