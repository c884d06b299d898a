# SPDX-License-Identifier: Apache-2.0
"""Machine code of the kernels, read from what cuobjdump and nvdisasm print: instructions, loops, stretches, register
banks. For tools/check-sass, which judges it, and bench/project, which counts it; both tools on PATH.
"""
import re
import struct
import subprocess
import tempfile
from pathlib import Path

TARGET_LINE = re.compile(r"^\s*\.target\s+(sm_\w+)")
SECTION_LINE = re.compile(r"^\s*\.section\s+\.text\.([\w$.]+)")
OTHER_SECTION_LINE = re.compile(r"^\s*\.section\s")
LABEL_LINE = re.compile(r"^(\.L_x_\w+):")
# With "nvdisasm -hex" the encoding follows, its second half on the next line.
CODE_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*(?:/\* 0x([0-9a-f]{16}) \*/)?\s*$")
ENCODING_LINE = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
# With "nvdisasm -gi" the places in the source, innermost first, before the first instruction that has them.
PLACE_LINE = re.compile(r'^\s*//## File "(.*?)", line (\d+)')
BARRIERS = ("BAR", "SYNCS", "WARPSYNC", "UCGABAR_ARV", "UCGABAR_WAIT")
JUMPS = ("BRA", "BRX", "JMP", "JMX", "BRXU", "JMXU", "EXIT", "RET")


class Instruction:
    def __init__(self, address, text):
        self.address = address
        self.control = 0     # the second half of the encoding, where it is printed
        self.places = ()     # (file, line), innermost first, where they are printed
        match = re.match(r"(@!?U?P\w+\s+)?([A-Z0-9_]+)(\S*)\s*(.*)", text)
        self.predicate, self.name, self.modifiers, self.operands = match.groups() if match else (None, "?", "", text)

    def targets(self):
        """Labels that it may jump to; nvdisasm lists those of an indirect branch in a comment."""
        return re.findall(r"\.L_x_\w+", self.operands) if self.name in JUMPS else []

    def falls_through(self):
        # "@P0 BRA x", "BRA P1, x" and "BRA.DIV ..." may all go on with the next instruction.
        return (self.name not in JUMPS or bool(self.predicate) or bool(re.match(r"!?U?P\w", self.operands))
                or ".DIV" in self.modifiers)


def parse_sass(text):
    """{(arch, function): [Instruction]} of listings by nvdisasm -c; code.labels of each: label -> address."""
    functions, arch, code, pending, places, last = {}, None, None, [], (), None
    for line in text.splitlines():
        if match := TARGET_LINE.match(line):
            arch, code = match[1], None
        elif match := SECTION_LINE.match(line):
            code = functions.setdefault((arch, match[1]), Code())
        elif OTHER_SECTION_LINE.match(line):
            code = None
        elif code is not None and (match := LABEL_LINE.match(line)):
            pending.append(match[1])
        elif code is not None and (match := CODE_LINE.match(line)):
            last = Instruction(int(match[1], 16), match[2])
            last.places = places
            code.append(last)
            code.labels.update(dict.fromkeys(pending, code[-1].address))
            pending = []
        elif code is not None and (match := PLACE_LINE.match(line)):
            # The first place after an instruction begins a new list.
            places = (*(places if last is None else ()), (match[1], int(match[2])))
            last = None
        elif last is not None and (match := ENCODING_LINE.match(line)):
            last.control = int(match[1], 16)
    return functions


class Code(list):
    def __init__(self):
        super().__init__()
        self.labels = {}


def blocks_of(code):
    """The basic blocks of a function, in the order of their addresses."""
    starts = {code[0].address} | set(code.labels.values())
    for before, after in zip(code, code[1:]):
        if before.name in JUMPS:
            starts.add(after.address)
    blocks = []
    for instruction in code:
        if instruction.address in starts:
            blocks.append([])
        blocks[-1].append(instruction)
    return blocks


def successors_of(code, blocks):
    """For each block the numbers of those that may come next."""
    owner = {instruction.address: number for number, block in enumerate(blocks) for instruction in block}
    successors = [set() for _ in blocks]
    for number, block in enumerate(blocks):
        last = block[-1]
        successors[number] |= {owner[code.labels[label]] for label in last.targets() if label in code.labels}
        if last.falls_through() and number + 1 < len(blocks):
            successors[number].add(number + 1)
    return successors


def loops(code):
    """The natural loops of a function, one per branch back, each as the list of its instructions."""
    blocks = blocks_of(code)
    successors = successors_of(code, blocks)
    predecessors = [set() for _ in blocks]
    for number, nexts in enumerate(successors):
        for after in nexts:
            predecessors[after].add(number)

    # Dominators, as bit sets. Blocks that nothing is seen to reach count as entries too.
    roots = {0} | {number for number in range(len(blocks)) if not predecessors[number]}
    everything = (1 << len(blocks)) - 1
    dominators = [1 << n if n in roots else everything for n in range(len(blocks))]
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks)):
            if number in roots:
                continue
            common = everything
            for before in predecessors[number]:
                common &= dominators[before]
            common |= 1 << number
            if common != dominators[number]:
                dominators[number] = common
                changed = True

    found = []
    for tail, nexts in enumerate(successors):
        for head in nexts:
            if not dominators[tail] >> head & 1:
                continue
            body, todo = {head}, [tail]
            while todo:
                block = todo.pop()
                if block not in body:
                    body.add(block)
                    todo += predecessors[block]
            found.append([i for block in sorted(body) for i in blocks[block]])
    return found


def count(code, *names):
    return sum(i.name in names for i in code)


def scalar_ffma(code):
    return sum(i.name in ("FFMA", "FFMA32I") for i in code)


def stretches_of(loop, labels):
    """The loop's instructions, cut at barriers, branches and labels."""
    stretches, starts = [[]], set(labels.values())
    for instruction in loop:
        if instruction.address in starts or instruction.name in BARRIERS:
            stretches.append([])
        stretches[-1].append(instruction)
        if instruction.name in JUMPS:
            stretches.append([])
    return stretches


def bank_costs(code):
    """Clocks of each instruction by the register banks, 0 for what is no FFMA: the larger number of operands that one
    bank has to give. Banks are even and odd registers; an operand that the last FFMA marked for reuse in the same place
    is free."""
    costs, kept = [], {}
    for instruction in code:
        if instruction.name != "FFMA":
            kept = {}
            costs.append(0)
            continue
        reads, keep = [0, 0], {}
        for place, operand in enumerate(instruction.operands.split(",")[1:]):
            match = re.search(r"\bR(\d+)(\.reuse)?", operand)
            if not match:
                continue
            register = int(match[1])
            if kept.get(place) != register:
                reads[register % 2] += 1
            if match[2]:
                keep[place] = register
        kept = keep
        costs.append(max(1, *reads))
    return costs


def bank_clocks(code):
    """Clocks per FFMA by the register banks."""
    return sum(bank_costs(code)) / count(code, "FFMA")


def output_of(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


FATBIN_MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)  # magic, version, bytes of the head; a 64-bit size follows


def explain(error):
    """What went wrong on the way to a listing, in words: a file or tool that is missing, a tool that failed, or what a
    ValueError says."""
    if isinstance(error, FileNotFoundError):
        return f"not found: {error.filename}"
    if isinstance(error, subprocess.CalledProcessError):
        return f"{error.cmd[0]} failed: {error.stderr.strip()}"
    return str(error) if isinstance(error, ValueError) else repr(error)


def disassemble(path, *options):
    """What `nvdisasm -c` prints of all the code in a library, object file or cubin."""
    content = Path(path).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        cubins = []
        if b"\x7fELF" == content[:4] and struct.unpack_from("<H", content, 18)[0] == 190:  # EM_CUDA
            cubins.append(Path(path).resolve())
        # The kernels are all in files of one name, and cuobjdump names what it extracts by it: one would overwrite the
        # other. So each fat binary goes into a folder of its own.
        start = content.find(FATBIN_MAGIC)
        while start >= 0:
            end = start + 16 + struct.unpack_from("<Q", content, start + 8)[0]
            here = Path(folder) / f"{start:x}"
            here.mkdir()
            (here / "x.fatbin").write_bytes(content[start:end])
            if "ELF" in output_of("cuobjdump", "-lelf", "x.fatbin", cwd=here):
                output_of("cuobjdump", "-xelf", "all", "x.fatbin", cwd=here)
            cubins += sorted(here.glob("*.cubin"))
            start = content.find(FATBIN_MAGIC, end)
        return "".join(output_of("nvdisasm", "-c", *options, str(cubin)) for cubin in cubins)
