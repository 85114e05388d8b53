"""few.py TOOLS DATA ANSWER [DRAW [COUNTS]]: how often intervals hold where few rows of a slice are known, 2 to 32 or COUNTS (`48,100`).

TOOLS is the folder with make_tasks.py, DATA that of the tables, ANSWER the example answer_tasks. DRAW is a word by which rows are drawn.

Of four slices of each table the known rows are drawn from all (`random`), or are a row and its nearest (`near`: a few shapes of one model);
40 others are asked, of `near` half of them among the next nearest. By design, class and number of rows: the share of durations that the
intervals hold, the median factor on either side, and the interval score (Winkler, in logarithms; less is better).
"""
import collections, csv, io, json, math, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

tools, data, answer = sys.argv[1:4]
draw_name, counts = (sys.argv[4:] + ["few", "2,3,4,5,6,8,11,12,16,24,32"][len(sys.argv[4:6]) :])[:2]
sys.path.insert(0, tools)
import make_tasks

COUNTS = [int(count) for count in counts.split(",")]
DRAWS, ASKED = 4, 40


def logs(point):
    return [math.log2(value + 1) for value in point[2]]


def tasks():
    for table in make_tasks.load(data, "visible"):
        keys = sorted(table.slices, key=lambda key: make_tasks.rank(table.name, draw_name, key))
        for draw in range(DRAWS):
            key = keys[draw % len(keys)]
            points = table.slices[key]
            if len(points) < 2 * max(COUNTS):
                continue
            for design in ("random", "near"):
                rank = lambda point, *more: make_tasks.rank(table.name, draw_name, draw, *more, point[0])
                order = sorted(points, key=lambda point: rank(point, design, key))
                if design == "near":
                    first = logs(order[0])
                    order.sort(key=lambda point: (sum(abs(a - b) for a, b in zip(logs(point), first)), rank(point)))
                for count in COUNTS:
                    yield task(table, key, design, count, order, rank)


def task(table, key, design, count, order, rank):
    known, others = order[:count], sorted(order[count:], key=lambda point: rank(point, count, "ask"))
    next_ones = sorted(order[count : count + 60], key=lambda point: rank(point, "near"))[: ASKED // 2] if design == "near" else []
    asked = next_ones + [point for point in others if point not in next_ones][: ASKED - len(next_ones)]
    spec = table.spec
    head = {name: spec[name] for name in ("table", "family", "group", "axes", "size_axis", "config", "constants")}
    text = io.StringIO()
    text.write("#" + json.dumps({"task": "few", "kind": design, **head}) + "\n")
    rows = csv.writer(text)
    rows.writerow(["role", "point"] + spec["group"] + spec["axes"] + ["time_us"])
    rows.writerows(["known", point[0], *point[1], *point[2], repr(point[3])] for point in known)
    rows.writerows(["ask", point[0], *point[1], *point[2], ""] for point in asked)
    size, axes = table.size_axis(order), table.config_axes()
    configuration = lambda point: tuple(point[2][axis] for axis in axes)
    configurations = {configuration(point) for point in known}
    largest = math.inf if size is None else max(point[2][size] for point in known)
    class_of = lambda point: (
        "new" if configuration(point) not in configurations else "beyond" if size is not None and point[2][size] > largest else "inside"
    )
    return design, count, text.getvalue(), {point[0]: (point[3], class_of(point)) for point in asked}


def run(task):
    design, count, text, truth = task
    found = subprocess.run([answer], input=text, capture_output=True, text=True, check=True).stdout
    for row in csv.DictReader(io.StringIO(found)):
        true_us, class_of = truth[row["point"]]
        low, high, true = (math.log(us) for us in (float(row["low_us"]), float(row["high_us"]), true_us))
        missed = max(low - true, true - high, 0.0)
        yield design, class_of, count, missed <= 0.0, (high - low) / 2, high - low + 20 * missed


with ThreadPoolExecutor(os.cpu_count()) as pool:
    scored = [score for scores in pool.map(lambda task: list(run(task)), tasks()) for score in scores]
for title, key in [("class", lambda score: score[:2]), ("rows", lambda score: (f"{score[2]:2}",)), ("all", lambda score: ("all",))]:
    cells = collections.defaultdict(list)
    for score in scored:
        cells[key(score)].append(score)
    for name, cell in sorted(cells.items()):
        held, score = sum(one[3] for one in cell) / len(cell), sum(one[5] for one in cell) / len(cell)
        width = math.exp(sorted(one[4] for one in cell)[len(cell) // 2])
        print(f"{' '.join(name):16} {len(cell):6} asked  {100 * held:5.1f} %  x/÷ {width:.2f}  {score:.2f}")
