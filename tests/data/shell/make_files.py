#!/usr/bin/env python3
"""Writes files.tsv: which files of a folder command lines read, look at and write, as strace sees it on Linux. Each line has the command line and three lists of
paths with blanks between them; `.` is the folder itself. Lines are made at random of programs, options and files, in one folder that is made anew for each.

    python3 tests/data/shell/make_files.py > tests/data/shell/files.tsv
"""

import os
import random
import re
import shutil
import subprocess
import tempfile

NAMES = ["a", "b", "c", "d", "d/e", "d/f", "n", "1", "x1"]
PROGRAMS = {
    "cat": "-n -A -E", "head": "-n 1|-c 2|-n1|-1|-q", "tail": "-n 1|-c 2|-q", "wc": "-l -w --lines --files0-from=a", "ls": "-l -a -R -d --color=never -I a",
    "stat": "-L|-c %n|--format=%n", "du": "-s|-d 1|--max-depth=1", "sort": "-r|-o a|-ob|--output=c|-k 1|-t x|-u|--output c", "uniq": "-c|-d|-f 1|-i",
    "cut": "-c 1|-f 1|-d x|--output-delimiter=a", "paste": "-s|-d x", "tac": "-s x", "nl": "-b a", "diff": "-q|-r|-U 1|--brief", "cmp": "-s|-n 1", "comm": "-1|-3",
    "md5sum": "-b|-c", "sha256sum": "-c|--tag", "od": "-c|-A n|-N 2", "grep": "-r|-e x|-f b|-n|-il|-A 1|-c|--include=a|--file=c|-m 1|-R", "find":
    "-name a|-delete|-newer b|-fprint c|-type f|-maxdepth 1|-exec cat {} +|-o", "rm": "-f|-r|-rf|--force", "rmdir": "-p", "mkdir": "-p|-m 700", "touch": "-r a|-c|-d 2020-01-01",
    "tee": "-a", "truncate": "-s 1|-c|-r a", "chmod": "-R|-v", "mv": "-f|-t d|--target-directory=d|-v|-T", "cp": "-r|-t d|-a|-T|--archive|-p", "ln": "-f|-s|-v",
    "sed": "-n|-i|-e p|-e s/x/y/|-i.bak|-f a|-E", "realpath": "-e", "readlink": "-f", "basename": "", "test": "-f|-e|-d", "xargs": "cat|-a a", "env": "cat", "dd": "if=a|of=b", "tar": "cf c",
    "echo": "-n", "printf": "", "awk": "1", "split": "-l 1", "shuf": "-o b|-e",
}
FIRST = {"grep": ["x", "a"], "sed": ["p", "s/x/y/", "1d", "w c", "s/x/y/w b", "$p", "r a"], "chmod": ["700", "u+x"], "printf": ["a"], "cut": [], "awk": ["1"]}
CALL = re.compile(r'^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+|\?)')
READS, LOOKS = {"openat", "open"}, {"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat"}
WRITES = {"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "creat", "truncate", "link", "linkat", "symlink", "symlinkat", "chmod",
          "fchmodat", "fchmodat2", "utimensat"}


def command(chance: random.Random) -> str:
    name = chance.choice(sorted(PROGRAMS))
    written = PROGRAMS[name]
    options = [option for option in (written.split("|") if "|" in written else written.split(" ")) if option]
    words = [chance.choice(options) for _ in range(chance.randrange(3)) if options]
    words += [chance.choice(FIRST[name])] if FIRST.get(name) and chance.random() < 0.9 else []
    words += [chance.choice(NAMES) for _ in range(chance.randrange(4))]
    if chance.random() < 0.2:
        chance.shuffle(words)
    words = ["'" + word + "'" if re.search(r"[ $;{]", word) and not word.startswith("-") and name in FIRST else word for word in words]
    return " ".join([name, *words])


def line(chance: random.Random) -> str:
    first = command(chance)
    match chance.randrange(8):
        case 0: return f"cd d && {first}"
        case 1: return f"{first} > {chance.choice(NAMES)}"
        case 2: return f"{first} < {chance.choice(NAMES)}"
        case 3: return f"{command(chance)} | {first}"
        case 4: return f"(cd d; {first}); {command(chance)}"
        case _: return first


def run(text: str) -> tuple[set[str], set[str], set[str]]:
    # the name of a folder that no other path has in it
    root = os.path.realpath(tempfile.mkdtemp(prefix="files-"))
    for folder in ["d"]:
        os.mkdir(f"{root}/{folder}")
    for name in ["a", "b", "c", "d/e", "n"]:
        with open(f"{root}/{name}", "w") as file:
            file.write("x1\n")
    trace = f"{root}.trace"
    subprocess.run(["strace", "-f", "-y", "-qq", "-o", trace, "-e", "trace=" + ",".join("?" + call for call in sorted(READS | LOOKS | WRITES)), "bash", "--norc", "-c", text], cwd=root,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
    found = (set(), set(), set())
    folders = {}
    with open(trace, errors="replace") as file:
        for entry in file:
            process, entry = entry.split(" ", 1)
            match = CALL.match(entry.strip())
            if not match:
                continue
            call, arguments, _ = match.groups()
            # relative to the folder that `-y` shows, or to that of the process
            for folder, path in re.findall(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"', arguments):
                path = os.path.normpath(os.path.join(folder or root, path))
                if path != root and not path.startswith(root + "/") or path == root and call not in READS:
                    continue
                path = os.path.relpath(path, root)
                if path != "." and not any(path == name or name.startswith(path + "/") for name in NAMES):
                    continue
                is_write = call in WRITES or call in READS and re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments)
                found[2 if is_write else 0 if call in READS else 1].add(path)
    os.remove(trace)
    shutil.rmtree(root)
    return found


def main() -> None:
    chance = random.Random(20261128)
    seen = set()
    while len(seen) < 1500:
        text = line(chance)
        if text in seen or not all(shutil.which(name) for name in re.findall(r"(?:^|[|;(&]) *(\w+)", text) if name not in ("cd", "echo", "printf", "test")):
            continue
        seen.add(text)
        print(text, *(" ".join(sorted(paths)) for paths in run(text)), sep="\t")


main()
