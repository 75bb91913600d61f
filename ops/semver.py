"""`make semver`: compares the public API of every published crate with the last release, and fails if the version does not allow the change.

The last release is the newest tag `v*` before this commit. BASELINE names another commit to compare with. BASELINE=none is for the first
publication: there is nothing to compare with.
"""

import os
import re
import shutil
import subprocess

from package import ROOT, metadata, publishable
from terminal import say, stop

VERSION = "0.51.0"


def main():
    baseline = baseline_of(ROOT, os.environ.get("BASELINE"))
    if baseline is None:
        say("first publication: nothing to compare with")
        return
    crates = publishable(metadata(ROOT))
    known = [crate["name"] for crate in crates if existed(crate, baseline)]
    for crate in crates:
        if crate["name"] not in known:
            say(f"{crate['name']} is new since {baseline}: nothing to compare with")
    if not known:
        return
    if shutil.which("cargo-semver-checks") is None:
        say("installing cargo-semver-checks (once, some minutes)")
        run("cargo", "install", "--locked", "--quiet", f"cargo-semver-checks@{VERSION}")
    say(f"comparing with {baseline}: {', '.join(known)}")
    run("cargo", "semver-checks", f"--baseline-rev={baseline}", "--all-features", *(f"--package={name}" for name in known))


def baseline_of(root, wanted):
    """The commit to compare with, or None if nothing was published before. Stops if that is not certain."""
    if wanted == "none":
        return None
    if wanted:
        command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}"]
        if subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL).returncode != 0:
            stop(f"BASELINE={wanted} is not a commit of this repository")
        return wanted
    if tag := last_tag(root):
        return tag
    _, *older = re.findall(r"(?m)^## (\d\S*)", (root / "CHANGELOG.md").read_text()) or [None]
    if older:
        stop(
            f"no tag v{older[0]}: fetch the tags, or set BASELINE=<commit>. If no version was published before: BASELINE=none (docs/adr/0019)"
        )
    return None


def last_tag(root):
    """The newest release tag before this commit, or None."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match=v*"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return found.stdout.strip() or None


def existed(crate, baseline):
    manifest = os.path.relpath(crate["manifest_path"], ROOT)
    return (
        subprocess.run(["git", "cat-file", "-e", f"{baseline}:{manifest}"], cwd=ROOT, stderr=subprocess.DEVNULL).returncode == 0
    )


def run(*command):
    if (code := subprocess.run(command, cwd=ROOT).returncode) != 0:
        stop(f"failed ({code}): {' '.join(command)}")


if __name__ == "__main__":
    main()
