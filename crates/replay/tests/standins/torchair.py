"""A stand-in for torchair."""


class CompilerConfig:
    pass


def get_npu_backend(compiler_config):
    return None
