"""``python -m benchmarks.threads NAME=FOLDER ...``: builds of Ogive beside each other, on calls that threads share.

A folder holds a package ``ogive`` with its native extension; "here" is the one that this Python imports. Every build has a
process of its own, or several that compute at the same time (--processes), and may have threads of its own: one=here@1.
Builds take turns. A figure is the median over all rounds, and the median of its ratios to the first build's, round by round.

Two ways to call: "in a row", and "after a pause" of some milliseconds, in which threads fall asleep. For the latter the
first calls together are timed: they wait for threads to wake.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.tables import duration, size_name

SIZES = (1 << 16, 1 << 20)

#: The program of a build's process: for each line that it reads, a turn; the answer is seconds a call.
CONTESTANT = """
import os, sys, time
threads, pause, calls, folder = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if folder:  # an editable install comes before all folders
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
    sys.path.insert(0, folder)
import numpy as np, ogive
assert os.path.abspath(ogive.__file__).startswith(folder), ogive.__file__
ogive.set_num_threads(threads)
print("ready", flush=True)
operands = {}
for line in sys.stdin:
    way, size, processor = line.split()
    size = int(size)
    if size not in operands:
        operands[size] = np.linspace(-4, 4, size, dtype=np.float32), np.empty(size, np.float32)
    x, out = operands[size]
    if hasattr(os, "sched_setaffinity"):  # every build begins on the same processor, which it may leave
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {sorted(allowed)[int(processor) % len(allowed)]})
        os.sched_setaffinity(0, allowed)
    def timed(calls):
        begin = time.perf_counter()
        for _ in range(calls):
            ogive.celu(x, alpha=1.5, out=out)
        return (time.perf_counter() - begin) / calls
    if way == "row":
        warm = time.perf_counter() + 0.008
        while time.perf_counter() < warm:
            timed(1)
        seconds = timed(100)
    else:
        seconds = 0
        for _ in range(5):
            time.sleep(pause)
            seconds += timed(calls) / 5
    print(seconds, flush=True)
    time.sleep(0.005)  # threads stop spinning before the next build's turn
"""


class _Build:
    def __init__(self, name: str, folder: str, processes: int, arguments: list[str]) -> None:
        self.name = name
        self.processes: list[subprocess.Popen[str]] = []
        command = [
            sys.executable,
            "-c",
            CONTESTANT,
            *arguments,
            "" if folder == "here" else str(Path(folder).resolve()),
        ]
        for _ in range(processes):  # one after the other: an editable install may build itself when it is imported
            self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            self._answer(self.processes[-1])

    def turn(self, way: str, size: int, round_number: int) -> float:
        for number, process in enumerate(self.processes):
            assert process.stdin is not None
            process.stdin.write(f"{way} {size} {round_number + number}\n")
            process.stdin.flush()
        return statistics.mean(float(self._answer(process)) for process in self.processes)

    def _answer(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        answer = process.stdout.readline()
        if not answer:
            raise click.ClickException(
                f"{self.name}: its process ended with {process.wait()}; its error output says why"
            )
        return answer

    def close(self) -> None:
        for process in self.processes:
            process.communicate()


@click.command(help=__doc__)
@click.argument("builds", nargs=-1, required=True)
@click.option("--threads", default=2, show_default=True, help="Threads of each process.")
@click.option("--processes", default=1, show_default=True, help="Processes of a build that compute at the same time.")
@click.option("--rounds", default=40, show_default=True)
@click.option("--pause", default=0.005, show_default=True, help="Seconds before the first of the calls after a pause.")
@click.option("--calls", default=8, show_default=True, help="How many calls after a pause are timed together.")
def main(builds: tuple[str, ...], threads: int, processes: int, rounds: int, pause: float, calls: int) -> None:
    contestants = []
    for build in builds:
        name, equals, folder = build.partition("=")
        folder, _, own = folder.partition("@")
        if not equals or (folder != "here" and not (Path(folder) / "ogive").is_dir()):
            raise click.BadParameter(
                f"{build!r} is not NAME=FOLDER[@THREADS] with a package ogive in the folder, nor NAME=here"
            )
        contestants.append(_Build(name, folder, processes, [own or str(threads), str(pause), str(calls)]))
    table = Table(box=None, title=f"celu, float32; {threads} threads, {processes} process(es), {rounds} rounds")
    for column in ("calls", "elements", *(build.name for build in contestants)):
        table.add_column(column, justify="right")
    for way, words in (("row", "in a row"), ("pause", "after a pause")):
        for size in SIZES:
            found: dict[str, list[float]] = {build.name: [] for build in contestants}
            for number in range(rounds):
                first_turn = number % len(contestants)  # nobody always follows the same one
                for build in contestants[first_turn:] + contestants[:first_turn]:
                    found[build.name].append(build.turn(way, size, number))
            first = found[contestants[0].name]
            cells = []
            for build in contestants:
                ratio = statistics.median(a / b for a, b in zip(found[build.name], first, strict=True))
                cells.append(f"{duration(statistics.median(found[build.name]))} ({ratio:.2f})")
            table.add_row(words, size_name(size), *cells)
    for build in contestants:
        build.close()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
