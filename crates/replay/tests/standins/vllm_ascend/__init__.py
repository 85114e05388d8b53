"""A stand-in for vllm-ascend."""
