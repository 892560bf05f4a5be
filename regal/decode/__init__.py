"""Chromosomes: where each decision has its key, and what plan the keys stand for."""

from regal.decode.decoder import Decoder, encode, order_keys
from regal.decode.layout import Layout

__all__ = ["Decoder", "Layout", "encode", "order_keys"]
