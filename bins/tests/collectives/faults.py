"""Makes one rank misbehave at one call of one collective, as FAULT, FAULT_RANK and FAULT_CALL say."""
import os
import signal
import sys
import time

if os.environ.get("FAULT") and os.environ.get("RANK") == os.environ.get("FAULT_RANK"):
    import torch.distributed as distributed

    calls = 0

    def rank_file():
        folder = next(argument for argument in sys.argv if os.path.exists(os.path.join(argument, "plan.json")))
        return os.path.join(folder, "rank%s.jsonl" % os.environ["RANK"])

    def misbehave(output):
        fault = os.environ["FAULT"]
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == "raise":
            raise ValueError("raised on purpose")
        elif fault == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif fault == "spin":
            time.sleep(10000)
        elif fault == "wrong":
            (output[0] if isinstance(output, list) else output).add_(1)
        elif fault == "rubbish":
            with open(rank_file(), "a") as file:
                file.write("\x00\x01 no json \u00e9\n")
            # Until the tool has read it: the point must not be over by then.
            time.sleep(10)
        elif fault == "chatter":
            sys.stdout.write("{\"config\": 0}\n" * 200000)
            sys.stderr.write("EADDR address x\n" * 200000)

    def faulty(original):
        def call(output, *arguments, **keywords):
            global calls
            result = original(output, *arguments, **keywords)
            calls += 1
            if calls == int(os.environ["FAULT_CALL"]):
                misbehave(output)
            return result

        return call

    for name in ("all_gather", "all_gather_into_tensor"):
        setattr(distributed, name, faulty(getattr(distributed, name)))
