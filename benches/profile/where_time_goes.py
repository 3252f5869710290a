"""Where one wave of blind rotations spends its time on a CUDA device, by phase of the algorithm.

    where_time_goes.py --xtask XTASK --set M3 --transform fft --json FILE
    where_time_goes.py --timeline TRACE --json FILE
    where_time_goes.py --table FILE..

The first form profiles one launch of `blind_rotate` in `xtask cuda-check bench SET`
with Nsight Compute and writes what it found as JSON. The second adds to that
what a whole batch spends outside rotations, from what `cargo xtask bench --timeline TRACE` wrote.
The third prints such files as a table.

A profiler samples what every warp does. Each sampled instruction came from a line of
cuda/bootstrap/ or cuda/lib/, inlined at other lines; the functions around those lines name the
phase. Needs ncu with its Python module, nvdisasm, counters that the user may read, and an xtask
built with --features line-info.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import date

# Which phase a function belongs to, or all of a struct. Of the functions around an instruction the
# innermost one decides: what the compiler notes of the outer ones mixes up lambdas that were
# unrolled beside each other.
PHASES = {
    "ends": [
        "combine",
        "load_tables",
        "initialise",
        "sample_extract",
        "extract_torus",
        "job_of",
        "place",
    ],
    "rounding": ["accumulate", "digit_value", "decompose", "Accumulators"],
    "transforms": [
        "forward_transform",
        "inverse_transform",
        "load_digits",
        "store_column",
        "forward_levels",
        "inverse_levels",
    ]
    + [
        "inverse_first_levels",
        "forward_first",
        "forward_second",
        "inverse_first",
        "inverse_second",
    ],
    "monomials": [
        "fetch_monomials",
        "Turns",
        "Monomial",
        "GroupedMonomials",
        "apply_monomial",
        "fft.cuh:multiply",
        "flip_sign",
    ],
    "products": [
        "products",
        "products_at",
        "grouped_products_at",
        "multiply_bundle",
        "fft.cuh:multiply_add",
        "KeyStream",
        "prefetch_key",
    ],
}
PHASE_OF = {name: phase for phase, names in PHASES.items() for name in names}
COLUMNS = ["transforms", "rounding", "products", "keys", "monomials", "barriers", "ends", "other"]

PIPES = {
    "f64": "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "multiply": "sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "alu": "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "shared": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "issue": "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
}
BYTES = {"l2_bytes": "lts__t_bytes.sum", "dram_bytes": "dram__bytes.sum"}
TIME = "gpu__time_duration.sum"
SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
GROUP = "group:smsp__pcsamp_warp_stall_reasons"


def run(command, **more):
    """Runs a command and returns what it printed; says what failed otherwise."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")
    return done.stdout


def profile(xtask, name, transform, cache, report):
    """Profiles the second launch of blind_rotate; what cuda-check printed of the plan."""
    metrics = [GROUP, TIME, *PIPES.values(), *BYTES.values()]
    # Plans of whole ciphertexts a block, one wave's worth or a little more a launch.
    environment = os.environ | {
        "SPREAD": "0",
        "ROUNDS": "1",
        "TRANSFORMS": transform,
        "XDG_CACHE_HOME": cache,
    }
    environment.setdefault("BATCH", "3168")
    out = run(
        [
            "ncu",
            "--clock-control",
            "none",
            "--kernel-id",
            "::blind_rotate:2",
            "--metrics",
            ",".join(metrics),
            "-f",
            "--export",
            report,
        ]
        + [xtask, "cuda-check", "bench", name],
        env=environment,
    )
    lines = [line for line in out.splitlines() if line.startswith('{"set"')]
    if not lines:
        sys.exit(f"cuda-check printed no result:\n{out[-2000:]}")
    return json.loads(lines[0])


def functions(folder):
    """For each source file, the lines at which functions begin: [(line, name)]."""
    begins = {}
    declared = re.compile(
        r"^\s*(?:template <.*?> )?(?:static )?(?:FUNCTION|CONSTANT_FUNCTION)\b[^(]*?"
        r"\b(operator\(\)|\w+)\("
    )
    opened = re.compile(r"^(?:template <.*> )?struct (\w+)")
    for path in glob.glob(f"{folder}/*/*.cu") + glob.glob(f"{folder}/*/*.cuh"):
        found, struct = [], None
        for number, line in enumerate(open(path), 1):
            if line.startswith("}"):
                struct = None
            struct = (opened.match(line) or [None, struct])[1]
            if match := declared.match(line):
                name = match[1]
                found.append(
                    (
                        number,
                        [name, f"{os.path.basename(path)}:{name}"] + ([struct] if struct else []),
                    )
                )
            elif "__global__" in line or "blind_rotate(const" in line:
                found.append((number, ["kernel"]))
        begins[os.path.basename(path)] = found
    return begins


def names_at(begins, file, line):
    """The function that encloses a line, that with its file, and its struct."""
    names = []
    for number, found in begins.get(file, []):
        if number > line:
            break
        names = found
    return names


INLINED = re.compile(r'File "([^"]+)", line (\d+)')
CODE = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(.*?)\s*;")


def disassembly(cubin):
    """{offset: (instruction, [(file, line)] from the innermost)} of blind_rotate."""
    code, chain, wanted, fresh = {}, [], False, True
    for line in run(["nvdisasm", "-c", "-gi", cubin]).splitlines():
        if line.startswith(".text."):
            wanted = line.startswith(".text.blind_rotate:")
        elif "//##" in line:
            if fresh:
                chain, fresh = [], False
            match = INLINED.search(line)
            chain.append((os.path.basename(match[1]), int(match[2])))
        elif wanted and (match := CODE.match(line)):
            code[int(match[1], 16)] = (match[2], chain)
            fresh = True
    return code


def mnemonic(text):
    return re.sub(r"^@!?U?P\w+\s+", "", text.strip().rstrip(";")).split()[0]


def phase_of(names, instruction, reason):
    """Where a sample belongs.

    Waits for barriers, and for global memory while products run, have a column of their own."""
    if reason == "barrier" or (
        reason not in ("selected", "not_selected") and instruction.startswith(("BAR", "WARPSYNC"))
    ):
        return "barriers"
    phase = next((PHASE_OF[n] for n in names if n in PHASE_OF), "other")
    return "keys" if phase == "products" and reason in ("long_scoreboard", "lg_throttle") else phase


def analyse(report, cache, sources):
    import ncu_report

    group = ncu_report.load_report(report).range_by_idx(0)
    action = group.action_by_idx(0)

    def value(metric):
        return action.metric_by_name(metric).value()

    reasons = {
        n: action.metric_by_name(n)
        for n in action.metric_names()
        if n.startswith(SAMPLES) and not n.endswith("_not_issued")
    }
    samples, first = {}, None
    for name, metric in reasons.items():
        at = metric.correlation_ids()
        for i in range(metric.num_instances()):
            pc = at.as_uint64(i)
            samples.setdefault(pc, Counter())[name[len(SAMPLES) :]] += metric.as_uint64(i)
    first = min(samples)
    texts = {pc - first: action.sass_by_pc(pc) for pc in samples}

    def alike(cubin):
        code = disassembly(cubin)
        same = [o for o in texts if o in code and mnemonic(code[o][0]) == mnemonic(texts[o])]
        return len(same) == len(texts), code

    for cubin in glob.glob(f"{cache}/girih/cuda/blind_rotate-*.cubin"):
        matches, code = alike(cubin)
        if matches:
            break
    else:
        sys.exit(f"no cubin under {cache} is the kernel of {report}")
    if not any(chain for _, chain in code.values()):
        sys.exit("the kernel names no lines: build xtask with --features line-info")

    begins, phases, stalls = functions(sources), Counter(), Counter()
    for pc, counts in samples.items():
        instruction, chain = code[pc - first]
        names = [n for file, line in chain for n in names_at(begins, file, line)]
        for reason, count in counts.items():
            where = phase_of(names, mnemonic(instruction), reason)
            phases[where] += count
            stalls[reason] += count
    total = sum(phases.values())

    def share(counts):
        return {k: round(v / total, 4) for k, v in counts.most_common() if v}

    return {
        "milliseconds": value(TIME) / 1e6,
        "blocks": int(value("launch__grid_size")),
        "threads": int(value("launch__block_size")),
        "registers": int(value("launch__registers_per_thread")),
        "percent_of_peak": {k: round(value(m), 1) for k, m in PIPES.items()},
        **{k: int(value(m)) for k, m in BYTES.items()},
        "samples": total,
        "phases": share(phases),
        "warps_waiting": share(stalls),
    }


def batch(path):
    """Shares of the last batch of a timeline: rotations ran, key switches alone, no kernel."""
    events = json.load(open(path))
    last = max((e for e in events if e["name"] == "a batch"), key=lambda e: e["ts"])
    begin, end = last["ts"], last["ts"] + last["dur"]
    kinds = {"rotation": "blind_rotate", "key_switch": "key_switch", "combine": "combine"}
    edges = []
    for e in events:
        for kind, name in kinds.items():
            if e["name"].startswith(name) and e["ts"] < end and e["ts"] + e["dur"] > begin:
                edges += [(max(e["ts"], begin), kind, 1), (min(e["ts"] + e["dur"], end), kind, -1)]
    running, times, now = Counter(), Counter(), begin
    for at, kind, step in sorted(edges) + [(end, "rotation", 0)]:
        # Beside a rotation other kernels cost no time of their own.
        times[next((k for k in kinds if running[k] > 0), "no_kernel")] += at - now
        running[kind] += step
        now = at
    return {
        "batch_milliseconds": last["dur"] / 1e3,
        "batch": {k: round(v / last["dur"], 4) for k, v in times.items()},
    }


def records(paths):
    """The records of files: single ones, and those that `cargo xtask fold` put into one."""
    for path in paths:
        content = json.load(open(path))
        yield from content["records"].values() if "records" in content else [content]


def table(paths):
    heads = [
        "set",
        *COLUMNS[:-1],
        "f64",
        "multiply",
        "shared",
        "issue",
        "L2",
        "DRAM, KB",
        "key switch",
        "no kernel",
    ]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for r in records(paths):
        p, busy = r["phases"], r["percent_of_peak"]
        p["ends"] = p.get("ends", 0) + p.get("other", 0)
        cells = [f"{100 * p.get(c, 0):.0f}" for c in COLUMNS[:-1]]
        cells += [f"{busy[c]:.0f}" for c in ("f64", "multiply", "shared", "issue", "l2")]
        name = (
            r["set"]
            + (f" r={r['r']}" if r["r"] > 1 else "")
            + ("" if r["transform"] == "fft" else ", NTT")
        )
        cells += [f"{r['dram_bytes'] / r['ciphertexts'] / 1e3:.0f}"]
        cells += [
            f"{100 * r['batch'].get(k, 0):.1f}" if "batch" in r else ""
            for k in ("key_switch", "no_kernel")
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", nargs="+", metavar="FILE")
    parser.add_argument("--xtask", metavar="FILE", help="the binary of `cargo xtask`")
    parser.add_argument("--set")
    parser.add_argument("--transform", choices=["fft", "ntt"], default="fft")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--timeline",
        metavar="TRACE",
        help="what `bench --timeline` wrote, for the record of --json",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="keep the profiler's report as FILE.ncu-rep"
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="cache folder that holds kernels of this set and transform only",
    )
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    if options.timeline:
        if not options.json:
            parser.error("--json names the record that a timeline is for")
        record = json.load(open(options.json)) | batch(options.timeline)
        open(options.json, "w").write(json.dumps(record, indent=2) + "\n")
        return None
    if not (options.xtask and options.set):
        parser.error("--xtask and --set say what is profiled")
    if not (shutil.which("ncu") and shutil.which("nvdisasm")):
        sys.exit("ncu and nvdisasm must be on the path (CUDA toolkit)")
    # ncu's Python module lies beside it.
    home = os.path.dirname(os.path.realpath(shutil.which("ncu")))
    sys.path += [
        d
        for d in glob.glob(f"{home}/extras/python")
        + glob.glob("/opt/nvidia/nsight-compute/*/extras/python")
    ]
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cuda")
    with tempfile.TemporaryDirectory() as scratch:
        cache = options.cache or scratch
        report = options.report or f"{scratch}/report"
        result = profile(options.xtask, options.set, options.transform, cache, report)
        found = analyse(f"{report}.ncu-rep", cache, sources)
    plan = result["plan"]
    record = {
        "set": options.set,
        "r": result["r"],
        "transform": options.transform,
        "ciphertexts": found["blocks"] * plan["groups"],
        **found,
        "plan": plan,
        "commit": os.environ.get("GIRIH_COMMIT", "unknown"),
        "date": date.today().isoformat(),
    }
    text = json.dumps(record, indent=2)
    if options.json:
        open(options.json, "w").write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
