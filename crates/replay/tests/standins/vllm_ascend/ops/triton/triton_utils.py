"""A stand-in for vllm-ascend."""


def init_device_properties_triton():
    pass
