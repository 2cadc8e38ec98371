"""The MPI libraries that maint/compare runs: how each is compiled for, started and steered."""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOSTS = os.path.join(ROOT, "maint/hosts")
KINDS = ("stock", "blocking", "nonblocking", "halo", "ihalo", "halo-packed")


class Peer:
    """An MPI library: its compiler, its launcher, and pcoll-bench compiled for it."""

    def __init__(self, name, mpicc, mpiexec, options=(), variants=KINDS, hosts=0, settings=(), launcher=()):
        self.name, self.mpicc, self.mpiexec = name, mpicc, mpiexec
        self.settings = dict(settings)
        self.launcher = list(launcher) or [mpiexec]
        if hosts and not launcher:
            self.launcher = [HOSTS, "run", "--prefix=" + os.path.dirname(os.path.dirname(mpiexec)), "-ppn", str(hosts)]
        self.options, self.variants = list(options), variants
        self.place = []  # a command that runs the benchmark
        self.bench = os.path.join(ROOT, "build/bench", re.sub(r"\W+", "-", mpicc).strip("-"), "pcoll-bench")

    def exists(self):
        return bool(shutil.which(self.mpicc) and shutil.which(self.mpiexec))

    def compile(self):
        sources = sorted(glob.glob(os.path.join(ROOT, "bench", "*.[ch]")))
        made = os.path.getmtime(self.bench) if os.path.exists(self.bench) else 0
        if made > max(map(os.path.getmtime, sources + [shutil.which(self.mpicc)])):
            return
        os.makedirs(os.path.dirname(self.bench), exist_ok=True)
        units = [name for name in sources if name.endswith(".c")]
        subprocess.run([self.mpicc, "-std=c11", "-O2", "-Wno-stringop-overread",
                        "-Wno-stringop-overflow", "-o", self.bench, *units, "-lm"], check=True)

    def run(self, ranks, arguments, seconds=600):
        """Return the JSON of one run, or a text that says why there is none."""
        with tempfile.NamedTemporaryFile(suffix=".json") as output:
            line = [*self.launcher, *self.options, "-n", str(ranks), *self.place, self.bench,
                    "--variants=" + ",".join(self.variants), "-o", output.name, *arguments]
            try:
                done = subprocess.run(line, capture_output=True, text=True, timeout=seconds,
                                      check=False, env={**os.environ, **self.settings})
            except subprocess.TimeoutExpired:
                return f"{self.name}: timed out after {seconds:.0f} s: {' '.join(line)}"
            try:
                with open(output.name, encoding="utf-8") as file:
                    return json.load(file)
            except ValueError:
                return f"{self.name}: {' '.join(line)}\n{done.stdout}{done.stderr}"


def openmpi_options(crowded):
    options = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader"]
    if os.geteuid() == 0:
        options.append("--allow-run-as-root")
    if crowded:
        options += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return options


def mpich_5():
    """The prefix of MPICH 5.0.1: stock, or otherwise ours."""
    folder = os.path.join(ROOT, "build/5.0.1")
    return next((path for name in ("install-stock", "install") if os.path.isdir(path := os.path.join(folder, name))),
                folder)


# Switches off all plans; the backend then does not change how MPICH waits, either.
with open(os.path.join(ROOT, "bench/collectives.h"), encoding="utf-8") as header:
    COLLECTIVES = re.findall(r"^ +COLLECTIVE\([A-Z_]+, (\w+), ", header.read(), re.M)
AGENT, AGENTS, ASYNC = "MPIR_CVAR_COLL_OFFLOAD_AGENT", ("thread", "node"), "MPIR_CVAR_ASYNC_PROGRESS"
KERNEL = {"MPIR_CVAR_COLL_OFFLOAD_MEDIUM": "tcp_kernel"}
PROGRESSING = ("stock", "nonblocking")
# The barrier before each operation of --apart and --use-data is the one that programs have.
DEFAULT = {"MPIR_CVAR_COLL_OFFLOAD_PROMOTE": "auto"}
THROTTLE = "MPIR_CVAR_CH4_PROGRESS_THROTTLE"  # of 5.0 on: a rank that waits yields its core
THROTTLED = {THROTTLE: "1", f"{THROTTLE}_NO_PROGRESS_COUNT": "1"}
OFF = {f"MPIR_CVAR_{coll.upper()}_INIT_DEVICE_COLLECTIVE": "0" for coll in COLLECTIVES}


def place_of(away):
    """A command that gives the rank that computes the last core, and all others the first one."""
    cores = sorted(os.sched_getaffinity(0))
    return ["sh", "-c", f"if [ ${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} = {away} ]; then core={cores[-1]}; else core={cores[0]}; fi; "
            'exec taskset -c $core "$@"', "sh"]


def with_overlap(args, prefix, installed, crowded):
    """The settings that differ in who progresses an operation while its rank computes."""
    peers = [installed("ours", prefix, ("offload",)),
             *(installed(agent, prefix, ("offload",), {AGENT: agent}) for agent in AGENTS),
             installed("off", prefix, PROGRESSING, OFF), installed("async", prefix, PROGRESSING, {**OFF, ASYNC: "1"})]
    if args.hosts:
        peers.append(installed("kernel", prefix, ("offload",), KERNEL))
    peers.append(Peer("openmpi", "mpicc.openmpi", "mpiexec.openmpi", () if args.hosts else openmpi_options(crowded),
                      ("nonblocking",), launcher=[HOSTS, "openmpi"] if args.hosts else ()))
    for peer in peers:
        peer.place = place_of(args.away) if args.away is not None else []
    return peers


def all_peers(args):
    def installed(name, prefix, variants, settings=()):
        return Peer(name, os.path.join(prefix, "bin/mpicc"), os.path.join(prefix, "bin/mpiexec"),
                    variants=variants, hosts=args.hosts, settings=settings)

    crowded = args.ranks > len(os.sched_getaffinity(0))
    prefix = os.path.abspath(args.prefix)
    if args.overlap or args.series:
        peers = with_overlap(args, prefix, installed, crowded)
        return [peer for peer in peers if peer.name in (args.peers or peer.name).split(",")]
    peers = [installed("ours", prefix, ("offload",), DEFAULT), installed("off", prefix, KINDS, OFF),
             installed("yield", prefix + "-yield", KINDS),
             installed("mpich5", mpich_5(), KINDS, {**OFF, **(THROTTLED if crowded else {})})]
    if not args.hosts:
        peers += [Peer("mpich", "mpicc.mpich", "mpiexec.mpich"),
                  Peer("openmpi", "mpicc.openmpi", "mpiexec.openmpi", openmpi_options(crowded))]
    return [peer for peer in peers if peer.name in (args.peers or peer.name).split(",")]
