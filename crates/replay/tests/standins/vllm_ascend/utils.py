"""A stand-in for vllm-ascend."""


def enable_custom_op():
    pass
