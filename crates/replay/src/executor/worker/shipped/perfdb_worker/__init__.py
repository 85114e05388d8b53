"""Runs replay cases with torch, on the CPU, a CUDA device or an Ascend NPU."""

VERSION = "1.0.0"
PROTOCOL = 1
