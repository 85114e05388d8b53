#!/usr/bin/env python3
"""A public database calibrated to a few rows of a hidden version: the tables in calibration.md.

    calibration.py DATA PERFDB [--system h100_sxm] [--framework vllm] [--public 0.19.0] [--hidden 0.24.0] [--share 0.02]
    calibration.py DATA PERFDB --few 6 20 100 [--draws 10]

DATA: `aic-core/src/aiconfigurator_core/systems/data` of github.com/ai-dynamo/aiconfigurator. Both versions are imported; of the hidden one
a share of the rows, which depends on a hash alone, is what was "measured here". calibrate-database scales the public version to them, and
every other hidden row that the public version has is compared: its error under no calibration, one factor for all rows, the measured rows
alone (queried between rows where they answer, else the public duration), and the calibrated database with its 90 % interval. With --few, this many rows
are measured instead, drawn several times: from all rows, and from the rows of two tables.
"""
import argparse, csv, hashlib, json, math, re, shutil, subprocess, sys, tempfile
from collections import defaultdict
from pathlib import Path


def chance(*key):
    """A number from 0 to 1 that depends on the key alone."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, key)).encode()).digest()[:7], "big") / 2.0**56


def run(*command, text=None):
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def imported(program, data, options, folder):
    """Both versions of a framework as databases."""
    for family in sorted((data / options.system).iterdir()):
        for version in (options.public, options.hidden):
            source = family / options.framework / version
            if source.is_dir():
                shutil.copytree(source, folder / "source" / options.system / family.name / options.framework / version)
    run(program, "db", "import", "--from", "aiconfigurator", folder / "source" / options.system, "--database-path", folder / "databases")
    return [folder / "databases" / options.system / options.framework / version for version in (options.public, options.hidden)]


def tables(database):
    """Rows of each compute table."""
    for path in sorted(database.glob("*.csv")):
        with open(path, newline="") as lines:
            rows = list(csv.DictReader(lines))
        if rows and "Input Shapes" in rows[0]:
            yield path, rows


def case(row):
    return row["Input Shapes"], row["Input Data Types"], row.get("EP Size", "")


def counterpart(name, names):
    """The public table of a hidden one: of the same name, or the longest that it goes on from."""
    found = [other for other in names if name == other or re.match(re.escape(other) + r"_(?!window|block|static|wo|kv)", name)]
    return max(found, key=len, default=None)


def quantile(numbers, share):
    ordered = sorted(numbers)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def percent(logarithm):
    return 100 * (math.exp(logarithm) - 1)


def answered(program, database, table, rows):
    """What the measured rows alone say of others of their table."""
    lines = []
    for number, row in enumerate(rows):
        pairs = zip(row["Input Shapes"].split(";"), row["Input Data Types"].split(";"))
        inputs = [{"shape": [int(size) for size in shape.split(",")], "dtype": dtype} for shape, dtype in pairs]
        lines.append(json.dumps({"id": number, "query": {"kernel": table, "inputs": inputs}}) + "\n")
    shown = run(program, "db", "query", database, "--manifest", "-", "--semantics", "best", "-o", "-.json", "-q", text="".join(lines))
    answers = [json.loads(line)["answer"] for line in shown.splitlines()]
    return [answer["duration_us"] if answer["hit"] else None for answer in answers]


def few(program, public, hidden, folder, counts, draws):
    """The mean over draws of the 90th percentile of errors and of coverage, with this many measured rows."""
    public_rows = {path.stem: {case(row): float(row["Average Duration(us)"]) for row in rows} for path, rows in tables(public)}
    known_tables = {path.stem: rows for path, rows in tables(hidden) if counterpart(path.stem, public_rows)}
    pairs = [
        (name, row) for name, rows in known_tables.items() for row in rows if case(row) in public_rows[counterpart(name, public_rows)]
    ]
    print("| measured | drawn from | of no calibration | half of an interval, median | coverage | of the worst draw in ten |")
    print("|---|---|---|---|---|---|")
    for count in counts:
        for two_tables in (False, True):
            seen = []
            for draw in range(draws):
                from_ = sorted(known_tables, key=lambda name: chance("table", draw, name))[: 2 if two_tables else None]
                choices = [pair for pair in pairs if pair[0] in from_]
                mine, own = folder / "few", folder / "own"
                for path in (mine, own):
                    shutil.rmtree(path, ignore_errors=True)
                mine.mkdir()
                shutil.copy(hidden / "op_mapping.yaml", mine)
                measured = defaultdict(list)
                for name, row in sorted(choices, key=lambda pair: chance("few", draw, pair[0], *case(pair[1])))[:count]:
                    measured[name].append(row)
                for name, rows in measured.items():
                    with open(mine / f"{name}.csv", "w", newline="") as out:
                        writer = csv.DictWriter(out, rows[0].keys())
                        writer.writeheader()
                        writer.writerows(rows)
                run(program, "db", "calibrate", public, "--with", mine, "-o", own, "--top", 0)
                found = {path.stem: {case(row): row for row in rows} for path, rows in tables(own)}
                before, after, halves, inside = [], [], [], []
                for name, row in pairs:
                    calibrated = found[counterpart(name, public_rows)][case(row)]
                    if calibrated["Duration Source"] != "calibrated":
                        continue
                    us, own_us = float(row["Average Duration(us)"]), float(calibrated["Average Duration(us)"])
                    low, high = float(calibrated["Duration Low(us)"]), float(calibrated["Duration High(us)"])
                    before.append(abs(math.log(public_rows[counterpart(name, public_rows)][case(row)] / us)))
                    after.append(abs(math.log(own_us / us)))
                    halves.append(high / own_us - 1)
                    inside.append(low <= us <= high)
                of_none = percent(quantile(after, 0.9)) / percent(quantile(before, 0.9))
                seen.append((of_none, quantile(halves, 0.5), sum(inside) / len(inside)))
            mean = [100 * sum(column) / len(seen) for column in zip(*seen)]
            worst = 100 * quantile([share for *_, share in seen], 0.1)
            where = "two tables" if two_tables else "all rows"
            print(f"| {count} | {where} | {mean[0]:.0f} % | ± {mean[1]:.0f} % | {mean[2]:.1f} % | {worst:.1f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("perfdb", type=Path)
    for name, default in (("system", "h100_sxm"), ("framework", "vllm"), ("public", "0.19.0"), ("hidden", "0.24.0")):
        parser.add_argument("--" + name, default=default)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--most", type=int, default=300, help="rows of a table that the measured rows alone are queried for")
    parser.add_argument("--few", type=int, nargs="+", help="numbers of measured rows, instead of a share")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    program = options.perfdb.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        public, hidden = imported(program, options.data, options, folder)
        if options.few:
            return few(program, public, hidden, folder, options.few, options.draws)
        mine = folder / "mine"
        mine.mkdir()
        shutil.copy(hidden / "op_mapping.yaml", mine)
        held_out, logs = {}, []
        public_rows = {path.stem: {case(row): float(row["Average Duration(us)"]) for row in rows} for path, rows in tables(public)}
        for path, rows in tables(hidden):
            other = counterpart(path.stem, public_rows)
            known = [row for row in rows if chance(path.stem, *case(row)) < options.share]
            if known:
                with open(mine / path.name, "w", newline="") as out:
                    writer = csv.DictWriter(out, rows[0].keys())
                    writer.writeheader()
                    writer.writerows(known)
            if other is None:
                continue
            pairs = [(row, public_rows[other][case(row)]) for row in rows if case(row) in public_rows[other]]
            logs += [math.log(float(row["Average Duration(us)"]) / us) for row, us in pairs if row in known]
            held_out[path.stem] = other, [(row, us) for row, us in pairs if row not in known]
        calibrated = folder / "calibrated"
        print(run(program, "db", "calibrate", public, "--with", mine, "-o", calibrated, "--top", 0).splitlines()[0])
        calibrated_rows = {path.stem: {case(row): row for row in rows} for path, rows in tables(calibrated)}
        factor = sum(logs) / len(logs)
        errors, coverage, by_class = defaultdict(list), [], defaultdict(lambda: defaultdict(list))
        classes = dict(re.findall(r"^  (\S+): \{class: (\w+)", (hidden / "op_mapping.yaml").read_text(), re.M))
        for name, (other, pairs) in held_out.items():
            asked = sorted(pairs, key=lambda pair: chance("asked", name, *case(pair[0])))[: options.most]
            alone = answered(program, mine, name, [row for row, _ in asked]) if (mine / f"{name}.csv").exists() else [None] * len(asked)
            found = {case(row): us for (row, _), us in zip(asked, alone)}
            for row, public_us in pairs:
                us = float(row["Average Duration(us)"])
                own = calibrated_rows[other][case(row)]
                if own["Duration Source"] != "calibrated":
                    continue  # Another table of the hidden version was measured in its place.
                error = {
                    "no calibration": public_us, "one factor": public_us * math.exp(factor),
                    "calibrated": float(own["Average Duration(us)"]),
                }
                if case(row) in found:
                    error["measured rows alone"] = found[case(row)] or public_us
                is_inside = float(own["Duration Low(us)"]) <= us <= float(own["Duration High(us)"])
                coverage.append(is_inside)
                by_class[classes[name]]["inside"].append(is_inside)
                for method, predicted in error.items():
                    errors[method].append(abs(math.log(predicted / us)))
                    by_class[classes[name]][method].append(abs(math.log(predicted / us)))
        print(f"{sum(len(pairs) for _, pairs in held_out.values())} hidden rows that the public version has, {len(logs)} measured")
        print("| | median error | 90th percentile | of no calibration | coverage of the 90 % interval |\n|---|---|---|---|---|")
        worst = percent(quantile(errors["no calibration"], 0.9))
        for method, all_ in errors.items():
            middle, high = percent(quantile(all_, 0.5)), percent(quantile(all_, 0.9))
            inside = f"{100 * sum(coverage) / len(coverage):.1f} %" if method == "calibrated" else ""
            print(f"| {method} | {middle:.1f} % | {high:.1f} % | {100 * high / worst:.0f} % | {inside} |")
        print("\n| class | rows | no calibration, 90th percentile | calibrated | coverage |\n|---|---|---|---|---|")
        for name, of in sorted(by_class.items()):
            before, after = (percent(quantile(of[method], 0.9)) for method in ("no calibration", "calibrated"))
            print(f"| {name} | {len(of['inside'])} | {before:.1f} % | {after:.1f} % | {100 * sum(of['inside']) / len(of['inside']):.1f} % |")


if __name__ == "__main__":
    main()
