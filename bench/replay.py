# SPDX-License-Identifier: Apache-2.0
"""One SM with four schedulers, or two of them: replays instructions of machine code, with the stalls and scoreboards of
their encodings. What is in it, and what is not, is said in bench/project, which uses it.
"""
import heapq
from collections import defaultdict

# Bytes a clock between an SM and the L2; of the stores: 64 KB in 2191 clocks (docs/pair-timeline.svg).
SM_LOAD_BYTES, SM_STORE_BYTES = 64, 32

# Clocks, of a Hopper; nothing tells that a Blackwell's differ by more than a few. Loads from shared memory, shuffles
# and reciprocals: measured on an H200 by dependent chains (28 with the loop around them), 33 for 16 bytes as published;
# an mbarrier: half of a published round trip of 123; st.async to the other CTA: measured one way.
SHARED_LATENCY = {32: 28, 64: 30, 128: 33}
SHUFFLE_LATENCY, MUFU_LATENCY = 24, 24
STORE_READ_LATENCY = 12  # until a store has read its registers
GLOBAL_LATENCY, BULK_LATENCY = 300, 470
BARRIER_LATENCY, PEER_LATENCY = 60, 250
NAMED_LATENCY = 30  # of a named barrier, nobody has measured it here: as a load, it does not leave the SM
OTHER_LATENCY = 20  # of what has a scoreboard and is none of these
# What the FMA pipe and the ALU take for a warp instruction, in clocks; everything else is only issued.
FMA_PIPE = {"FFMA": 1, "FMUL": 1, "FADD": 1, "FFMA2": 2, "FMUL2": 2, "FADD2": 2, "IMAD": 2, "HFMA2": 1}
ALU_CLOCKS = 2
ALU = ("MOV", "LOP3", "IADD3", "VIADD", "ISETP", "FSETP", "FSEL", "SEL", "SHF", "LEA", "PRMT", "PLOP3", "VIMNMX",
       "CS2R", "FMNMX", "VIADDMNMX")


class Op:
    """One instruction: what it waits for, what it takes."""
    __slots__ = ("stall", "mask", "write", "read", "pipe", "pipe_clocks", "bank", "passes", "latency", "bytes", "store",
                 "ffma", "shared_store", "test", "arrival")

    def __init__(self, instruction, bank, ways):
        control = instruction.control >> 41  # stall 4 bits, yield 1, scoreboard written 3, read 3, waited for 6
        self.stall = max(control & 15, 1)
        self.write, self.read = control >> 5 & 7, control >> 8 & 7
        self.mask = [b for b in range(6) if control >> 11 + b & 1]
        name, modifiers = instruction.name, instruction.modifiers
        self.pipe, self.pipe_clocks, self.bank = None, 0, max(bank - 1, 0)
        self.passes, self.latency, self.bytes = 0, OTHER_LATENCY, 0
        self.store, self.shared_store = name == "STG", name == "STS"
        self.test, self.arrival = (name == "SYNCS" and what in modifiers for what in (".PHASECHK", ".ARRIVE"))
        self.ffma = {"FFMA": 1, "FFMA2": 2}.get(name, 0)
        if name in FMA_PIPE:
            self.pipe, self.pipe_clocks = 0, 1 if ".MOV" in modifiers else FMA_PIPE[name]
        elif name in ALU:
            self.pipe, self.pipe_clocks = 1, ALU_CLOCKS
        elif name == "MUFU":
            self.pipe, self.pipe_clocks, self.latency = 2, 8, MUFU_LATENCY
        elif name == "SHFL":
            self.passes, self.latency = 1, SHUFFLE_LATENCY
        elif name in ("LDS", "STS", "STAS"):
            width = 128 if ".128" in modifiers else 64 if ".64" in modifiers else 32
            # 16 bytes in 2 passes: of 32 words at most 16 differ (docs/performance.md).
            self.passes = {128: 2, 64: 1, 32: 1}[width] * ways
            self.latency = SHARED_LATENCY[width] if name == "LDS" else STORE_READ_LATENCY
        elif name in ("LDG", "STG"):
            self.bytes, self.latency = 128, GLOBAL_LATENCY if name == "LDG" else STORE_READ_LATENCY


class Scheduler:
    def __init__(self):
        self.free, self.pipes, self.issued, self.fma = 0, [0, 0, 0], 0, 0


class Warp:
    def __init__(self, sm, number, program):
        self.sm, self.scheduler, self.program = sm, sm.schedulers[number % 4], program
        self.n, self.boards, self.ops, self.at = number, [0] * 6, (), 0


class Sm:
    def __init__(self, bytes_a_clock):
        self.schedulers = [Scheduler() for _ in range(4)]
        self.shared = self.passes = 0
        self.memory = [0, 0]
        self.rate = bytes_a_clock

    def transfer(self, now, size, store, copy):
        """When the bytes are there. The copy engine and the threads do not queue behind one another."""
        done = max(self.memory[copy], now) + size / min(self.rate, SM_STORE_BYTES if store else SM_LOAD_BYTES)
        self.memory[copy] = done
        return done


class Replay:
    """Runs programs: generators of ("run", ops), ("arrive", barrier, number wanted, latency), ("wait", barrier) and
    ("copy", bytes, barrier or None, number wanted). A barrier is any name, of one phase of it."""

    def __init__(self):
        self.queue, self.order = [], 0
        self.arrived, self.complete, self.waiting = defaultdict(list), {}, defaultdict(list)
        self.end = 0

    def push(self, when, warp):
        self.order += 1
        heapq.heappush(self.queue, (when, self.order, warp))

    def arrive(self, when, barrier, wanted):
        self.arrived[barrier].append(when)
        if len(self.arrived[barrier]) == wanted:
            self.complete[barrier] = max(self.arrived.pop(barrier))
            for warp in self.waiting.pop(barrier, ()):
                self.push(self.complete[barrier], warp)

    def advance(self, now, warp):
        """The warp has nothing left to issue: the next thing of its program."""
        for what, *args in warp.program:
            if what == "run":
                if args[0]:
                    warp.ops, warp.at = args[0], 0
                    self.push(now, warp)
                    return
            elif what == "arrive":
                self.arrive(now + args[2], args[0], args[1])
            elif what == "copy":
                done = warp.sm.transfer(now, args[0], args[1] is None, True)
                if args[1] is not None:
                    self.arrive(done + BULK_LATENCY, args[1], args[2])
            elif args[0] not in self.complete:
                self.waiting[args[0]].append(warp)
                return
            else:
                now = max(now, self.complete[args[0]])
        self.end = max(self.end, now)

    def run(self, warps):
        for warp in warps:
            self.advance(0, warp)
        while self.queue:
            now, *_, warp = heapq.heappop(self.queue)
            if warp.at == len(warp.ops):
                self.advance(now, warp)
                continue
            op, scheduler, sm = warp.ops[warp.at], warp.scheduler, warp.sm
            ready = max(now, scheduler.free)
            for board in op.mask:
                ready = max(ready, warp.boards[board])
            if op.pipe is not None:
                ready = max(ready, scheduler.pipes[op.pipe])
            if ready > now:
                self.push(ready, warp)
                continue
            scheduler.free = now + 1 + op.bank
            scheduler.issued += 1
            if op.pipe is not None:
                scheduler.pipes[op.pipe] = now + op.pipe_clocks
                if op.pipe == 0:
                    scheduler.fma += op.pipe_clocks + op.bank
            start = now
            if op.passes:
                start = max(now, sm.shared)
                sm.shared = start + op.passes
                sm.passes += op.passes
            elif op.bytes:
                start = sm.transfer(now, op.bytes, op.store, False)
            if op.write != 7:
                warp.boards[op.write] = max(warp.boards[op.write], start + op.latency + max(op.passes - 1, 0))
            if op.read != 7:
                warp.boards[op.read] = max(warp.boards[op.read], start + STORE_READ_LATENCY)
            warp.at += 1
            self.push(now + op.stall, warp)
        if self.waiting:
            raise ValueError(f"nobody completes {sorted(map(str, self.waiting))[:3]}")
        return self.end
