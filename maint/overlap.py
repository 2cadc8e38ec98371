"""The tables and plots of maint/compare --overlap and --series.

Both take (peer, variant) -> series for each case, where a series has medians over the rounds in
microseconds, under the names that pcoll-bench gives: VARIANT, VARIANT.start, VARIANT.overlap and so on.
"""

import os
import subprocess
import sys

GRAINS = {"none": "tests only", "4x4": "products of 4x4", "40x40": "products of 40x40",
          "all": "computation in one piece"}  # as in bench/series.c
VARIANTS = ("offload", "stock", "nonblocking")
TERMINALS = (("svg size 1280,800 dynamic", "svg"), ("pngcairo size 1280,800", "png"))


def microseconds(value):
    return "-" if value is None else f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def settings(found):
    """The (peer, variant) that were timed, in the order in which they ran."""
    return [(peer, name) for peer, name in found if name in VARIANTS]


def value(found, setting, what):
    peer, variant = setting
    series = found.get((peer, f"{variant}.{what}" if what else variant))
    return series.median if series else None


def hidden(whole, exposed, away):
    """The share of what work can hide that it has hidden: see bench/overlap.c."""
    share = (whole - exposed) / min(whole, whole * away) if whole else 0
    return max(0, min(1, share))


def size_of(case):
    return "-" if case[0] == "barrier" else case[1]


def print_overlap(cases, away):
    """cases: (case, found) for each collective and size."""
    print(f"{'collective':20} {'size':>5} {'setting':20} {'time':>8} {'exposed':>8} {'hidden':>7} "
          f"{'cpu':>8} {'start':>8}")
    for case, found in cases:
        for setting in settings(found):
            whole, exposed = value(found, setting, ""), value(found, setting, "overlap")
            share = "-" if exposed is None else f"{100 * hidden(whole, exposed, away):.0f} %"
            print(f"{case[0]:20} {size_of(case):>5} {' '.join(setting):20} {microseconds(whole):>8} "
                  f"{microseconds(exposed):>8} {share:>7} "
                  f"{microseconds(value(found, setting, 'cpu')):>8} "
                  f"{microseconds(value(found, setting, 'start')):>8}")
    print(f"\ntime: start and wait alone; exposed: what they add to computation of {away:g} times that; hidden:\n"
          "share of the time that this computation has hidden; cpu: CPU time of all threads of a rank\n"
          "beyond the computation; start: MPI_Start alone.  Medians over the rounds, of the rank with the most.")


def print_series(cases):
    print(f"{'collective':20} {'size':>5} {'setting':20} {'start':>8}"
          + "".join(f" {grain:>8} {'cpu':>8}" for grain in GRAINS))
    for case, found in cases:
        for setting in settings(found):
            cells = [value(found, setting, f"{grain}.{kind}") for grain in GRAINS
                     for kind in ("time", "cpu")]
            print(f"{case[0]:20} {size_of(case):>5} {' '.join(setting):20} "
                  f"{microseconds(value(found, setting, 'start')):>8}"
                  + "".join(f" {microseconds(cell):>8}" for cell in cells))
    print("\nTime until the operation is complete while the rank computes in pieces, with an MPI_Test after each\n"
          "(none: no computation; all: one piece as long as the operation, then MPI_Wait), and CPU time of\n"
          "all threads of a rank beyond the computation.  Medians over the rounds, of the rank with the most.")


SAID = {("kernel", "offload"): "tcp_kernel", ("ours", "offload"): "plan", ("thread", "offload"): "plan, a thread",
        ("node", "offload"): "plan, the node's agent", ("off", "stock"): "stock, persistent",
        ("off", "nonblocking"): "stock, nonblocking", ("async", "stock"): "stock, persistent, its thread",
        ("async", "nonblocking"): "stock, nonblocking, its thread",
        ("openmpi", "nonblocking"): "Open MPI, nonblocking"}


def series_rows(cases):
    """What a file of bench/results has: a row for each setting and size; time and CPU time of each grain."""
    return {"columns": [f"{title} {what}" for title in GRAINS.values() for what in ("time", "CPU")],
            "rows": [[f"{case[0]}, {SAID[setting]}", size_of(case),
                      *(value(found, setting, f"{grain}.{kind}") for grain in GRAINS for kind in ("time", "cpu"))]
                     for case, found in cases for setting in settings(found)]}


def bytes_of(size):
    return int(size[:-1]) << {"K": 10, "M": 20}[size[-1]] if size[-1] in "KM" else int(size)


def write_data(path, curves):
    """A block for each setting: bytes, start, then CPU time and time for each grain."""
    with open(path, "w", encoding="utf-8") as file:
        for setting, rows in curves.items():
            print(f"# {' '.join(setting)}: bytes, start us, then for each of {', '.join(GRAINS)}: CPU us "
                  "beyond computation, time us", file=file)
            for row in rows:
                print(*("?" if cell is None else f"{cell:.5g}" for cell in row), file=file)
            print("\n", file=file)


def panel(name, title, column, curves):
    """One graph, without what was not measured or is 0, which no logarithmic scale shows."""
    lines = [f"'{name}.dat' index {i} using 1:(${column} > 0 ? ${column} : 1/0) with linespoints "
             f"lt {i + 1} lw 2" for i, setting in enumerate(curves)
             if any(row[column - 1] for row in curves[setting])]
    return f"set title '{title}' noenhanced\nplot " + ", \\\n  ".join(lines) + "\n"


def legend(curves):
    entries = ["NaN notitle"] + [f"keyentry with linespoints lt {i + 1} lw 2 title '{' '.join(setting)}'"
                                 for i, setting in enumerate(curves)]
    return ("reset\nunset border\nunset tics\nset key center noenhanced\nplot [0:1][0:1] "
            + ", \\\n  ".join(entries) + "\n")


def script(coll, curves):
    text = ""
    for terminal, suffix in TERMINALS:
        text += (f"reset\nset terminal {terminal}\nset output '{coll}.{suffix}'\n"
                 f"set multiplot layout 2,3 title '{coll}: CPU time beyond computation'\n"
                 "set datafile missing '?'\nset logscale xy\nset logscale x 2\nset grid\nunset key\n"
                 "set format x '%.0b %BB'\nset xtics rotate by 30 right\nset ylabel 'us'\n")
        for i, title in enumerate(GRAINS.values()):
            text += panel(coll, title, 3 + 2 * i, curves)
        text += panel(coll, "MPI_Start alone", 2, curves) + legend(curves) + "unset multiplot\n"
    return text


SHARES, RATIOS = ("4x4", "40x40"), ("4x4", "40x40", "all")  # figures 4, 5 and 6 of KACC's document


def panels_of(result):
    """(title, {setting: [(bytes, value)]}) of the share of the CPU time that is not for products, in percent, and of the
    time of tcp_kernel over that of each other setting."""
    def cells(row, grain):
        at = 2 + result["columns"].index(f"{GRAINS[grain]} time")
        return row[at:at + 2]

    names = list(dict.fromkeys(row[0].split(", ", 1)[1] for row in result["rows"]))
    found = {(row[0].split(", ", 1)[1], row[1]): row for row in result["rows"]}
    sizes = list(dict.fromkeys(row[1] for row in result["rows"]))
    ours = SAID["kernel", "offload"]
    for grain in SHARES:
        curves = {name: [(bytes_of(size), *cells(found[name, size], grain)) for size in sizes if (name, size) in found]
                  for name in names}
        yield f"{GRAINS[grain]}:\\nCPU time not for them, %", {name: [
            (size, min(100, 100 * cpu / time)) for size, time, cpu in points] for name, points in curves.items()}
    for grain in RATIOS:
        yield f"{GRAINS[grain]}:\\ntime, {ours} / other", {name: [
            (bytes_of(size), cells(found[ours, size], grain)[0] / cells(found[name, size], grain)[0])
            for size in sizes if (name, size) in found] for name in names if name != ours}


def draw_series(parts, path):
    """parts: (title, file of results) for each row of panels. Writes one picture with gnuplot."""
    width = len(SHARES) + len(RATIOS)
    text = (f"set terminal svg size {280 * width},{300 * len(parts)} font ',11' background 'white'\nset output '{path}'\n"
            f"set multiplot layout {len(parts)},{width}\nset logscale x 2\nset format x '%.0b %BB'\nset grid\n"
            "set xtics 8 rotate by 30 right\nset key font ',9' noenhanced\n"
            + "".join(f"set linetype {i + 1} lc rgb '{color}' pt {i + 4}\n"
                      for i, color in enumerate(("#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#555555"))))
    colors = {}
    for title, result in parts:
        for at, (what, curves) in enumerate(panels_of(result)):
            shares = at < len(SHARES)
            text += f"set title \"{what}\" font ',11' noenhanced\nset ylabel '{title if at == 0 else ''}'\n"
            text += "set yrange [0:105]\n" if shares else "set yrange [0:1.6]\n"
            text += "set key top right\n" if at == 1 else "unset key\n"
            for name, points in curves.items():
                colors.setdefault(name, len(colors) + 1)
                text += f"$c{colors[name]} << E\n" + "".join(f"{x} {y:.4g}\n" for x, y in points) + "E\n"
            text += "plot " + ", ".join(f"$c{colors[name]} with linespoints lt {colors[name]} lw 1.5 title '{name}'"
                                        for name in curves) + ("\n" if shares else ", 1 lt 0 notitle\n")
    subprocess.run(["gnuplot"], input=text + "unset multiplot\n", text=True, check=True)


def plot(cases, folder):
    """Write COLLECTIVE.dat and .gp for each collective that has sizes, and have gnuplot draw them."""
    os.makedirs(folder, exist_ok=True)
    plots = {}
    for case, found in cases:
        for setting in settings(found) if case[0] != "barrier" else ():
            cells = [value(found, setting, f"{grain}.{kind}") for grain in GRAINS
                     for kind in ("cpu", "time")]
            plots.setdefault(case[0], {}).setdefault(setting, []).append(
                [bytes_of(case[1]), value(found, setting, "start"), *cells])
    for coll, curves in plots.items():
        write_data(os.path.join(folder, f"{coll}.dat"), curves)
        with open(os.path.join(folder, f"{coll}.gp"), "w", encoding="utf-8") as file:
            file.write(script(coll, curves))
        try:
            subprocess.run(["gnuplot", f"{coll}.gp"], cwd=folder, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{folder}: no pictures because gnuplot failed (Debian: gnuplot-nox): {error}; run later: "
                  f"gnuplot {coll}.gp", file=sys.stderr)
