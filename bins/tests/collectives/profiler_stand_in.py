"""Stands in for the profiler of NPUs: writes a kernel table with one entry per step after the warm-up."""
import os, time
class ProfilerLevel: Level1 = 1
class AiCMetrics: PipeUtilization = 1
class ProfilerActivity: CPU, NPU = 0, 1
class _ExperimentalConfig:
    def __init__(self, profiler_level, aic_metrics, l2_cache, data_simplification): pass
def schedule(wait, warmup, active, repeat): return warmup, active
def tensorboard_trace_handler(folder): return folder
class profile:
    def __init__(self, activities, schedule, on_trace_ready, experimental_config):
        (self.warmup, self.active), self.folder = schedule, on_trace_ready
    def __enter__(self): self.steps = []; self.last = time.perf_counter(); return self
    def step(self):
        now = time.perf_counter(); self.steps.append((now - self.last) * 1e6); self.last = now
    def __exit__(self, *_):
        assert len(self.steps) == self.warmup + self.active
        out = os.path.join(self.folder, "host_1_ascend_pt", "ASCEND_PROFILER_OUTPUT"); os.makedirs(out)
        with open(os.path.join(out, "kernel_details.csv"), "w") as file:
            file.write("Name,Type,Duration(us)\n")
            for step in self.steps[self.warmup:]:
                file.write("hcom_x__1,%s,%.3f\n" % (os.environ["PREFIX"], step))
                file.write("hcom_x_AivKernel_1,%sAivKernel,%.3f\n" % (os.environ["PREFIX"], step))
