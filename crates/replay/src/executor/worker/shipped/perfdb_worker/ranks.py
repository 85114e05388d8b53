"""Several ranks under torchrun: rank 0 talks to the driver, all run the same case and meet after it."""
import os

import torch


class Ranks:
    """The process group. With one rank there is none until a case asks for its name."""

    def __init__(self, device):
        self.device = device
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        # The driver started torchrun: one driver for all ranks. Otherwise each rank has a driver of its own.
        self.shares_driver = os.environ.get("_DFC_AUTO_TORCHRUN") == "1" and self.size > 1
        if self.size > 1:
            self._open()

    def _open(self):
        if torch.distributed.is_initialized():
            return
        address = os.environ.get("MASTER_ADDR", "127.0.0.1")
        port = os.environ.get("MASTER_PORT", "29500")
        kind = "hccl" if self.device.name == "npu" else "gloo"
        torch.distributed.init_process_group(kind, init_method=f"tcp://{address}:{port}", rank=self.rank,
                                             world_size=self.size)

    def group_name(self, _):
        """The communicator's name, as fused operators want it."""
        if self.device.name != "npu":
            return "ep"
        self._open()
        group = torch.distributed.group.WORLD
        if hasattr(group, "_get_backend"):
            return group._get_backend(torch.device("npu")).get_hccl_comm_name(self.rank)
        return group.get_hccl_comm_name(self.rank)

    def share(self, message):
        """The message of rank 0 on every rank."""
        if not self.shares_driver:
            return message
        box = [message]
        torch.distributed.broadcast_object_list(box, src=0)
        return box[0]

    def meet(self):
        if self.size > 1:
            torch.distributed.barrier()

    def close(self):
        if self.size > 1 and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
