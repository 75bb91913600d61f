"""`make mutants`: cargo-mutants on the crates of kit and on order-view, or on PACKAGE. It fails if a mutant survives that docs/mutants.md does
not accept. SINCE_COMMIT=main examines only what has changed since that commit; MUTANTS has more options for cargo-mutants.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "target/mutants"
DOCUMENT = ROOT / "docs/mutants.md"

# What cargo-mutants ends with if a mutant survived, or if a test took too long: https://mutants.rs/exit-codes.html
SURVIVED, TIMED_OUT = 2, 3


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    manifests = [*ROOT.glob("crates/kit/*/Cargo.toml"), ROOT / "crates/order-history/order-view/Cargo.toml"]
    names = [tomllib.loads(manifest.read_text())["package"]["name"] for manifest in manifests]
    packages = [os.environ["PACKAGE"]] if os.environ.get("PACKAGE") else sorted(names)
    options = [f"--package={package}" for package in packages]
    if commit := os.environ.get("SINCE_COMMIT"):
        difference = OUTPUT / "since.diff"
        with difference.open("w") as file:
            subprocess.run(["git", "diff", commit], cwd=ROOT, stdout=file, check=True)
        options.append(f"--in-diff={difference}")
    options += shlex.split(os.environ.get("MUTANTS", ""))
    # What an earlier run found does not count.
    shutil.rmtree(OUTPUT / "mutants.out", ignore_errors=True)
    # Each copy of the tree has a target folder of its own.
    environment = {key: value for key, value in os.environ.items() if key != "CARGO_TARGET_DIR"}
    command = ["cargo", "mutants", f"--output={OUTPUT}", "--all-features", *options]
    ended = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if ended not in [0, SURVIVED, TIMED_OUT]:
        sys.exit(f"cargo mutants ended with {ended}")
    if not (OUTPUT / "mutants.out/outcomes.json").exists():
        # A difference that changes no code has no mutants.
        if not commit:
            sys.exit("no mutant was tested")
        print(f"no mutant was tested: no code was changed since {commit}")
        return
    missed = OUTPUT / "mutants.out/missed.txt"
    survivors = [re.sub(r":\d+:\d+: ", ": ", line) for line in missed.read_text().splitlines()] if missed.exists() else []
    # In a table, a `|` is written as `\|`.
    rows = re.findall(r"^\| `(.+?)` \|", DOCUMENT.read_text(), re.MULTILINE)
    accepted = [row.replace(r"\|", "|") for row in rows]
    # Each row accepts one survivor: the same change elsewhere in the function is another one.
    if new := list((Counter(survivors) - Counter(accepted)).elements()):
        sys.exit("\n".join([*new, f"{len(new)} mutants survived that docs/mutants.md does not accept"]))
    print(f"{len(survivors)} mutants survived, all accepted by docs/mutants.md")


if __name__ == "__main__":
    main()
