"""One rank of the communication bench.

Started once per rank by torchrun or by the bench itself, with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
in the environment. Reads plan.json from the results folder and writes rank<r>.jsonl (and, on rank 0, run.json) there.
Nothing is read from its output; everything that matters goes through the results folder.

Lines of the rank file, besides those with results: {"rank", "pid"} at the start, {"begin", "phase"} when a point begins
and {"beat"} now and then, so that the bench can tell a slow rank from a stuck one and name the point it is at.
"""

import argparse
import datetime
import json
import os
import sys
import threading
import time
import traceback

CALLS_PER_SMALL_POINT = 10
SESSIONS_PER_LARGE_POINT = 10
PROFILER_WARMUP_STEPS = 5
FEWEST_SAMPLES = 5
BEAT_SECONDS = 2.0


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--backend", required=True, choices=["hccl", "nccl", "gloo"])
    parser.add_argument("--timing", required=True, choices=["profiler", "event"])
    parser.add_argument("--iters", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--point-budget", type=float, default=0.0)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--skip", default="")
    parser.add_argument("--supervisor", type=int, default=0)
    return parser.parse_args()


def leave_with(supervisor):
    """Ends this process when the bench that started it is gone."""

    def watch():
        while True:
            time.sleep(1.0)
            try:
                os.kill(supervisor, 0)
            except ProcessLookupError:
                os._exit(1)
            except PermissionError:
                pass

    threading.Thread(target=watch, daemon=True).start()


class RankFile:
    """The file of this rank: every line is flushed, so that nothing measured is lost."""

    def __init__(self, folder, rank):
        self.file = open(os.path.join(folder, "rank%d.jsonl" % rank), "a", encoding="utf-8")
        self.last = time.monotonic()
        self.write({"rank": rank, "pid": os.getpid()})

    def write(self, line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        self.last = time.monotonic()


class Meeting:
    """Waits for other ranks without a collective: ranks that stand by may wait for hours, which no engine's time limit
    for one collective should count."""

    def __init__(self, store, file, timeout):
        self.store = store
        self.file = file
        self.timeout = timeout

    def beat(self):
        """Tells that this rank gets on, at most every few seconds."""
        if time.monotonic() - self.file.last >= BEAT_SECONDS:
            self.store.add("beat", 1)
            self.file.write({"beat": True})

    def begin(self, config, phase):
        self.store.add("beat", 1)
        self.file.write({"begin": config, "phase": phase})

    def fail(self):
        self.store.add("failed", 1)

    def wait(self, name, count):
        self.store.add(name, 1)
        delay = 0.0005
        beats, changed = None, time.monotonic()
        while self.store.add(name, 0) < count:
            if self.store.add("failed", 0) > 0:
                raise RuntimeError("another rank failed")
            now = self.store.add("beat", 0)
            if now != beats:
                beats, changed = now, time.monotonic()
                if time.monotonic() - self.file.last >= BEAT_SECONDS:
                    self.file.write({"waiting": name})
            elif time.monotonic() - changed > self.timeout:
                raise TimeoutError("no rank got on for %g seconds" % self.timeout)
            time.sleep(delay)
            delay = min(delay * 2, 0.1)


class Calls:
    """The collectives of one operator on the tensors of one point. `names` are tried in order."""

    names = {
        "all_reduce": ["all_reduce"],
        "all_gather": ["all_gather_into_tensor", "all_gather_list"],
        "reduce_scatter": ["reduce_scatter_tensor", "exchange_and_sum"],
        "all_to_all": ["all_to_all", "all_to_all_single"],
    }

    def __init__(self, torch, name, op, group, size, index, dtype, device, chunk):
        self.torch, self.op, self.size, self.index, self.chunk = torch, op, size, index, chunk
        dist = torch.distributed
        whole = chunk * size

        def tensor(elements):
            return torch.empty(elements, dtype=dtype, device=device).zero_()

        if op == "all_reduce":
            self.input = self.output = tensor(chunk)
            self.call = lambda: dist.all_reduce(self.output, group=group)
            return
        self.input = tensor(chunk if op == "all_gather" else whole)
        self.output = tensor(chunk if op == "reduce_scatter" else whole)
        if name == "all_gather_into_tensor":
            self.call = lambda: dist.all_gather_into_tensor(self.output, self.input, group=group)
        elif name == "all_gather_list":
            parts = list(self.output.view(size, chunk).unbind(0))
            self.call = lambda: dist.all_gather(parts, self.input, group=group)
        elif name == "reduce_scatter_tensor":
            self.call = lambda: dist.reduce_scatter_tensor(self.output, self.input, group=group)
        elif name == "exchange_and_sum":
            received = tensor(whole)
            pieces = received.view(size, chunk)

            def exchange_and_sum():
                dist.all_to_all_single(received, self.input, group=group)
                torch.sum(pieces, 0, dtype=dtype, out=self.output)

            self.call = exchange_and_sum
        elif name == "all_to_all":
            sent = list(self.input.view(size, chunk).unbind(0))
            got = list(self.output.view(size, chunk).unbind(0))
            self.call = lambda: dist.all_to_all(got, sent, group=group)
        elif name == "all_to_all_single":
            self.call = lambda: dist.all_to_all_single(self.output, self.input, group=group)
        else:
            raise ValueError(name)

    def fill(self):
        """Inputs with a result that is known exactly in every dtype."""
        if self.op in ("all_reduce", "reduce_scatter"):
            self.input.zero_()
            self.input[self.index :: self.size] = 1
        elif self.op == "all_gather":
            self.input.fill_(self.constant(self.index, 0))
        else:
            for peer, piece in enumerate(self.input.view(self.size, self.chunk).unbind(0)):
                piece.fill_(self.constant(self.index, peer))

    @staticmethod
    def constant(sender, receiver):
        return (sender * 7 + receiver) % 100 + 1

    def is_right(self):
        if self.op in ("all_reduce", "reduce_scatter"):
            return bool((self.output == 1).all())
        mine = 0 if self.op == "all_gather" else self.index
        pieces = self.output.view(self.size, self.chunk).unbind(0)
        return all(bool((piece == self.constant(peer, mine)).all()) for peer, piece in enumerate(pieces))


class Engine:
    """torch.distributed with one backend."""

    def __init__(self, arguments, torch):
        self.torch = torch
        self.backend = arguments.backend
        self.rank = int(os.environ["RANK"])
        self.world = int(os.environ["WORLD_SIZE"])
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.timeout = datetime.timedelta(seconds=arguments.timeout)
        if self.backend == "hccl":
            self.accelerator, self.device = torch.npu, torch.device("npu", local_rank)
        elif self.backend == "nccl":
            self.accelerator, self.device = torch.cuda, torch.device("cuda", local_rank)
        else:
            self.accelerator, self.device = None, torch.device("cpu")
        if self.accelerator is not None:
            self.accelerator.set_device(local_rank)

    def join(self):
        dist = self.torch.distributed
        rendezvous = dist.rendezvous("env://", timeout=self.timeout)
        self.store, _, _ = next(iter(rendezvous))
        self.store.set_timeout(self.timeout)
        dist.init_process_group(
            self.backend,
            store=dist.PrefixStore("engine", self.store),
            rank=self.rank,
            world_size=self.world,
            timeout=self.timeout,
        )

    def synchronize(self):
        if self.accelerator is not None:
            self.accelerator.synchronize()

    def lowest(self, value, group=None):
        """The smallest value of all ranks of the group."""
        tensor = self.torch.tensor([float(value)], dtype=self.torch.float32, device=self.device)
        self.torch.distributed.all_reduce(tensor, op=self.torch.distributed.ReduceOp.MIN, group=group)
        return float(tensor.item())

    def timed(self, call):
        """Microseconds of one call."""
        if self.accelerator is None:
            start = time.perf_counter_ns()
            call()
            return (time.perf_counter_ns() - start) / 1000.0
        begin = self.accelerator.Event(enable_timing=True)
        end = self.accelerator.Event(enable_timing=True)
        self.accelerator.synchronize()
        begin.record()
        call()
        end.record()
        self.accelerator.synchronize()
        return begin.elapsed_time(end) * 1000.0

    def working_calls(self, ops, dtype):
        """For each operator the first call that this engine runs on all ranks, or None with its refusal."""
        if self.backend == "hccl":
            # Other calls would give other kernel names, and communicators must not be made again and again.
            return {op: (Calls.names[op][0], None) for op in ops}
        return {op: self.first_working(op, dtype) for op in ops}

    def first_working(self, op, dtype):
        dist = self.torch.distributed
        refusal = None
        for name in Calls.names[op]:
            # A refused call can leave its group unusable, so every trial has its own.
            group = dist.new_group(list(range(self.world)), timeout=self.timeout)
            works = 1
            try:
                calls = Calls(self.torch, name, op, group, self.world, self.rank, dtype, self.device, 4)
                calls.fill()
                calls.call()
                self.synchronize()
            except Exception as error:  # whatever the engine raises is a refusal
                works, refusal = 0, one_line(error)
            agreed = self.lowest(works) > 0
            try:
                dist.destroy_process_group(group)
            except Exception:
                pass
            if agreed:
                return name, None
        return None, refusal or "refused on another rank"


class Bench:
    """The points of the plan on one rank."""

    def __init__(self, arguments, plan, engine, file):
        self.arguments, self.plan, self.engine, self.file = arguments, plan, engine, file
        self.torch = engine.torch
        self.meeting = Meeting(engine.store, file, arguments.timeout)
        self.current = None
        self.failed = {}
        self.groups = []

    def make_groups(self):
        new_group = self.torch.distributed.new_group
        for group in self.plan["groups"]:
            self.groups.append(new_group(list(group["ranks"]), timeout=self.engine.timeout))

    def choose_calls(self):
        """Finds the dtype and the calls that the engine runs; half precision stands in for bfloat16 where it is refused."""
        ops = list(dict.fromkeys(point["op"] for point in self.plan["configs"]))
        wanted = self.plan["dtype"]
        self.calls, self.dtype_name = self.try_dtype(ops, wanted), wanted
        refused = sum(1 for name, _ in self.calls.values() if name is None)
        if refused and wanted == "torch.bfloat16":
            instead = self.try_dtype(ops, "torch.float16")
            if sum(1 for name, _ in instead.values() if name is None) < refused:
                self.calls, self.dtype_name = instead, "torch.float16"
        self.dtype = getattr(self.torch, self.dtype_name.split(".")[1])

    def try_dtype(self, ops, name):
        return self.engine.working_calls(ops, getattr(self.torch, name.split(".")[1]))

    def write_run(self):
        run = {
            "schema": "perfdb.comm-run/1",
            "backend": self.arguments.backend,
            "timing": self.arguments.timing,
            "world_size": self.engine.world,
            "torch": str(self.torch.__version__),
            "executed_dtype": self.dtype_name,
        }
        path = os.path.join(self.arguments.results, "run.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(run, file)
            file.write("\n")
        os.replace(path + ".new", path)

    def agreed_skip(self):
        """Points that do not fit into the memory of some node; every node knows its own."""
        own = self.arguments.skip
        if self.engine.backend == "gloo":
            store = self.engine.store
            store.set("skip/%d" % self.engine.rank, own)
            own = ",".join(store.get("skip/%d" % rank).decode() for rank in range(self.engine.world))
        return {int(config) for config in own.split(",") if config}

    def ranks(self, config):
        return self.plan["groups"][self.plan["configs"][config]["group"]]["ranks"]

    def is_member(self, config):
        return self.engine.rank in self.ranks(config)

    def is_leader(self, config):
        return self.engine.rank == self.ranks(config)[0]

    def group(self, config):
        return self.groups[self.plan["configs"][config]["group"]]

    def prepare(self, config):
        point = self.plan["configs"][config]
        ranks = self.ranks(config)
        name = self.calls[point["op"]][0]
        index = ranks.index(self.engine.rank)
        return Calls(
            self.torch,
            name,
            point["op"],
            self.group(config),
            len(ranks),
            index,
            self.dtype,
            self.engine.device,
            point["chunk_elements"],
        )

    def fail_point(self, config, reason):
        self.failed[config] = reason
        self.file.write({"config": config, "error": reason})

    def enter(self, config, phase):
        self.current = config
        self.meeting.begin(config, phase)
        self.meeting.wait("%s/%d" % (phase, config), len(self.ranks(config)))

    def distinct(self):
        """The first point of every combination of operator, size and group, with all points of that combination."""
        same = {}
        for config, point in enumerate(self.plan["configs"]):
            same.setdefault((point["op"], point["message_bytes"], point["group"]), []).append(config)
        return list(same.values())

    def verify(self, skipped):
        """Runs every distinct point once and compares the result with what it must be."""
        for configs in self.distinct():
            first = configs[0]
            if not self.is_member(first):
                continue
            name, refusal = self.calls[self.plan["configs"][first]["op"]]
            if first in skipped or name is None:
                reason = "its tensors do not fit into memory" if first in skipped else "no call runs: %s" % refusal
                for config in configs:
                    self.fail_point(config, reason)
                continue
            self.enter(first, "verify")
            reason = self.verified(first)
            if reason:
                for config in configs:
                    self.fail_point(config, reason)
        self.current = None

    def verified(self, config):
        group = self.group(config)
        calls, allocated, problem = None, 1, "another rank could not allocate its tensors"
        try:
            calls = self.prepare(config)
            calls.fill()
        except (RuntimeError, MemoryError) as error:
            allocated, problem = 0, "tensors could not be allocated: %s" % one_line(error)
        if self.engine.lowest(allocated, group) < 1:
            return problem
        calls.call()
        self.engine.synchronize()
        right = calls.is_right()
        key = "wrong/%d" % config
        if not right:
            self.engine.store.set(key, str(self.engine.rank))
        if self.engine.lowest(1 if right else 0, group) < 1:
            return "wrong result on rank %d" % int(self.engine.store.get(key))
        return None

    def warm_up(self):
        for configs in self.distinct():
            config = configs[0]
            if config in self.failed or not self.is_member(config) or self.arguments.warmup < 1:
                continue
            self.enter(config, "warm-up")
            self.call_often(self.prepare(config), self.arguments.warmup)
        self.current = None

    def call_often(self, calls, count):
        for _ in range(count):
            calls.call()
            self.meeting.beat()
        self.engine.synchronize()

    def measure_events(self):
        for config in range(len(self.plan["configs"])):
            if config in self.failed or not self.is_member(config):
                continue
            self.enter(config, "measure")
            samples = self.sample(config)
            name = self.calls[self.plan["configs"][config]["op"]][0]
            self.file.write({"config": config, "api": name, "samples_us": samples, "verified": True})
        self.current = None

    def sample(self, config):
        calls = self.prepare(config)
        samples = []
        while True:
            more = self.agreed_count(config, samples)
            if more < 1:
                return samples
            # Not timed: the ranks have waited for each other outside the engine and do not come in step.
            calls.call()
            for _ in range(more):
                samples.append(self.engine.timed(calls.call))
                self.meeting.beat()

    def agreed_count(self, config, samples):
        """How many calls come next. With a budget the first rank decides, in portions, and the others follow."""
        left = self.arguments.iters - len(samples)
        budget = self.arguments.point_budget
        if left < 1 or budget <= 0:
            return left
        if not samples:
            return min(left, FEWEST_SAMPLES)
        key = "count/%d/%d" % (config, len(samples))
        if not self.is_leader(config):
            return int(self.engine.store.get(key))
        spent = sum(samples) / 1e6
        affordable = int((budget - spent) / (spent / len(samples))) if spent < budget else 0
        count = max(0, min(left, affordable, 2 * len(samples)))
        self.engine.store.set(key, str(count))
        return count

    def measure_kernels(self):
        """Profiler sessions, batch by batch; ranks outside a batch's group wait for its end."""
        for number, batch in enumerate(self.plan["batches"]):
            configs = batch["small"] + batch["large"]
            if configs and self.is_member(configs[0]):
                self.measure_batch(number, batch)
            self.current = None
            self.meeting.wait("batch/%d" % number, self.engine.world)
            self.torch.distributed.barrier()

    def measure_batch(self, number, batch):
        if batch["small"] and not any(config in self.failed for config in batch["small"]):
            self.enter(batch["small"][0], "measure")
            self.session("b%d-small" % number, batch["small"], CALLS_PER_SMALL_POINT)
        elif batch["small"]:
            for config in batch["small"]:
                if config not in self.failed:
                    self.fail_point(config, "another size of its session failed")
        for large, config in enumerate(batch["large"]):
            if config in self.failed:
                continue
            self.enter(config, "measure")
            for session in range(SESSIONS_PER_LARGE_POINT):
                self.session("b%d-large%d-s%d" % (number, large, session), [config], 1)
                self.meeting.beat()

    def session(self, name, configs, calls_per_point):
        points = [self.prepare(config) for config in configs]
        for calls in points:
            self.call_often(calls, self.arguments.warmup)
        steps = [calls.call for calls in points for _ in range(calls_per_point)]
        before = [points[0].call] * PROFILER_WARMUP_STEPS
        if not self.is_leader(configs[0]):
            for call in before + steps:
                call()
            self.engine.synchronize()
            return
        with self.profiler(os.path.join(self.arguments.results, "prof", name), len(steps)) as profiler:
            for call in before + steps:
                call()
                profiler.step()
            self.engine.synchronize()

    def profiler(self, folder, active):
        from torch_npu import profiler

        settings = profiler._ExperimentalConfig(
            profiler_level=profiler.ProfilerLevel.Level1,
            aic_metrics=profiler.AiCMetrics.PipeUtilization,
            l2_cache=False,
            data_simplification=True,
        )
        return profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=0, warmup=PROFILER_WARMUP_STEPS, active=active, repeat=1),
            on_trace_ready=profiler.tensorboard_trace_handler(folder),
            experimental_config=settings,
        )

    def run(self):
        self.make_groups()
        skipped = self.agreed_skip()
        self.choose_calls()
        if self.engine.rank == 0:
            self.write_run()
        self.verify(skipped)
        self.warm_up()
        if self.arguments.timing == "event":
            self.measure_events()
        else:
            self.measure_kernels()
        self.file.write({"done": True})
        self.meeting.wait("finished", self.engine.world)
        self.torch.distributed.barrier()


def one_line(error):
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300]


def main():
    arguments = parse_arguments()
    if arguments.supervisor:
        leave_with(arguments.supervisor)
    with open(os.path.join(arguments.results, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    import torch
    import torch.distributed

    if arguments.backend == "hccl":
        import torch_npu  # noqa: F401 - registers the device and the backend
    engine = Engine(arguments, torch)
    engine.join()
    file = RankFile(arguments.results, engine.rank)
    bench = Bench(arguments, plan, engine, file)
    try:
        bench.run()
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, one_line(error))
        fatal = {"fatal": reason, "time": time.time()}
        if bench.current is not None:
            fatal.update({"config": bench.current, "error": reason})
        file.write(fatal)
        traceback.print_exc()
        try:
            bench.meeting.fail()
        except Exception:
            pass
        sys.stderr.flush()
        # Without the engine's own clean-up, which can wait for ranks that are gone.
        os._exit(1)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
