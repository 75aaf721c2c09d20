"""Decoding of image files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FORMATS = ("BMP", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
"""The formats that ImageDecoder names, as Pillow calls them; PPM stands for all portable image formats."""

MODES = frozenset(["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"])
"""Pillow's image modes of at most eight bits per sample that become RGB and L."""


def image_decoder(encoded_stream: Array, *, pixel_format: str = "RGB") -> Array:
    """ImageDecoder-20: the bytes of a file → uint8 (height, width, channels), 3 for RGB and BGR, 1 for Grayscale.

    Decoded by Pillow. Lossless files have one result. Lossy ones (JPEG, most of JPEG 2000 and WebP) depend on the decoder,
    whose inverse transform and colour conversion may be a few units off: ONNX fixes only how JPEG's chroma is upsampled, and
    names no tolerance. Open in ONNX besides: the weights of Grayscale (0.299, 0.587, 0.114 here), transparency (dropped),
    orientation (not applied), samples of more than 8 bits (the upper 8 where Pillow reads them as RGB), and the shape of the
    empty result for what cannot be decoded (0, 0, channels). Raises ValueError for another pixel_format, other image modes,
    and where Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ValueError("ImageDecoder needs Pillow: pip install pillow") from None
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        raise ValueError(f"pixel_format must be RGB, BGR or Grayscale, not {pixel_format}")
    mode = "L" if pixel_format == "Grayscale" else "RGB"
    try:
        image = Image.open(io.BytesIO(encoded_stream.tobytes()), formats=FORMATS)
        image.load()
    except Exception:  # ONNX asks for an empty result for any reason, and Pillow's decoders raise many kinds of errors
        return np.zeros((0, 0, len(mode)), np.uint8)
    if image.mode not in MODES:
        raise ValueError(f"images of Pillow's mode {image.mode} are not in the reference: nothing says how they become 8 bits")
    pixels = np.array(image.convert(mode))
    return pixels[:, :, None] if mode == "L" else pixels[:, :, ::-1] if pixel_format == "BGR" else pixels
