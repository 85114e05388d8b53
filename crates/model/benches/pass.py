#!/usr/bin/env python3
"""How often the interval of a sum of kernels holds the true sum, by what errors of one kernel type are taken to share.

    pass.py OUT      (OUT as filled by tasks.sh)

A pass is five tables, 2, 5 or 12 asked points of each; a point counts so often that each is an equal part of its table's share, which is
drawn between 0.2 and 2. 600 passes for each kind of task, from a fixed seed.
"""
import csv, math, random, sys
from collections import defaultdict

SHARED = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
PASSES = 600

def main():
    out = sys.argv[1]
    truth = {(r['task'], r['point']): float(r['time_us']) for r in csv.DictReader(open(f'{out}/truth/truth_visible.csv'))}
    cells = defaultdict(lambda: defaultdict(list))
    for r in csv.DictReader(open(f'{out}/predictions.csv')):
        table, kind = r['task'].rsplit('__', 1)
        times = [float(r[column]) for column in ('predicted_us', 'low_us', 'high_us')]
        cells[kind][table].append((truth[r['task'], r['point']], *times))
    print('kind'.ljust(18) + ''.join(f'{share:12.1f}' for share in SHARED) + '   (sums held, %; median half width, %)')
    random.seed(1)
    for kind in sorted(cells):
        held, widths = defaultdict(int), defaultdict(list)
        for _ in range(PASSES):
            true_sum = predicted_sum = 0.0
            types = []
            for table in random.sample(sorted(cells[kind]), min(5, len(cells[kind]))):
                share = random.uniform(0.2, 2)
                points = [random.choice(cells[kind][table]) for _ in range(random.choice([2, 5, 12]))]
                below = above = below_squared = above_squared = 0.0
                for true, predicted, low, high in points:
                    count = share / len(points) / predicted
                    true_sum += true * count
                    predicted_sum += predicted * count
                    down, up = (predicted - low) * count, (high - predicted) * count
                    below += down; below_squared += down * down
                    above += up; above_squared += up * up
                types.append((below, below_squared, above, above_squared))
            for share in SHARED:
                half = lambda total, squares: math.sqrt(sum((1 - share) * t[squares] + share * t[total] ** 2 for t in types))
                low, high = half(0, 1), half(2, 3)
                held[share] += predicted_sum - low <= true_sum <= predicted_sum + high
                widths[share].append((low + high) / 2 / predicted_sum)
        cell = lambda share: f'{100 * held[share] / PASSES:5.1f} ±{100 * sorted(widths[share])[PASSES // 2]:4.1f}'
        print(kind.ljust(18) + ''.join(f'{cell(share):>12s}' for share in SHARED))

if __name__ == '__main__':
    main()
