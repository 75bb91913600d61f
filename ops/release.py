"""`make release`: checks that this commit can be released, and prints what to type. It changes nothing.

1. The tree is clean, the branch is main, and the version has no tag yet.
2. The version is the same everywhere: crates, their dependencies on each other, Cargo.lock, API documents.
3. Every changelog has a dated section for the version, and nothing under "Unreleased".
4. `make advisories`, `make package`, `make semver`, `make guide` and `make check` pass. `make check` runs with release binaries, and a step
   that is skipped is a failure. It is not repeated for a commit for which it passed here. CHECK=skip and ADVISORIES=skip leave these two out,
   and then the release is not confirmed.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from check import standalone
from package import ROOT, metadata, publishable
from terminal import say, series, stop

CHECKED = ROOT / "target/release-checked"


def main():
    if found := faults(ROOT):
        stop("\n".join(["not ready for a release:", *(f"  {fault}" for fault in found)]))
    version = version_of(ROOT)
    commit = git(ROOT, "rev-parse", "HEAD")
    say(f"version {version} of commit {commit[:12]}: tree, versions and changelogs are ready")
    skipped = run_steps(os.environ, CHECKED, commit, make)
    if git(ROOT, "status", "--porcelain"):
        stop("the checks have changed files: commit them, and start again")
    say()
    if os.environ.get("BASELINE") == "none":
        say("BASELINE=none: this is the first publication, so make semver has compared nothing.")
    say(f"The notes of the tag, from CHANGELOG.md: {version}")
    for line in section((ROOT / "CHANGELOG.md").read_text(), version).splitlines():
        say(f"  {line}".rstrip())
    say()
    if skipped:
        stop(f"not confirmed: skipped by {series(skipped)}. Run `make release` without this before you tag.")
    say("Ready. To release it:")
    for command in commands(version, publishable(metadata(ROOT))):
        say(f"  {command}")


def run_steps(environment, checked, commit, make):
    """Runs what must pass, the short steps first. Returns the settings that left a step out."""
    skipped = [f"{name}=skip" for name in ["ADVISORIES", "CHECK"] if environment.get(name) == "skip"]
    if "ADVISORIES=skip" not in skipped:
        make(
            "advisories",
            hint="If it could not download RustSec's database, ADVISORIES=skip continues without it; the release is then not confirmed.",
        )
    for step in ["package", "semver", "guide"]:
        make(step)
    if checked.exists() and checked.read_text() == commit:
        say("== make check passed for this commit before")
        return [name for name in skipped if name != "CHECK=skip"]
    if "CHECK=skip" not in skipped:
        # As CI does: with the binaries that are deployed (docs/adr/0020).
        make("check", BUILD_PROFILE="release", SKIPS="fail")
        checked.parent.mkdir(exist_ok=True)
        checked.write_text(commit)
    return skipped


def faults(root):
    """Whatever is wrong with the tree, the versions or the changelogs."""
    version = version_of(root)
    found = []
    if (branch := git(root, "rev-parse", "--abbrev-ref", "HEAD")) != "main":
        found.append(f"the branch is {branch}: releases are made from main")
    if changed := git(root, "status", "--porcelain"):
        found.append(f"the tree is not clean: {len(changed.splitlines())} files are changed or new")
    if git(root, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists: raise the version in Cargo.toml")
    packages = metadata(root)
    found += wrong_versions(root, version, packages)
    changelogs = [
        root / "CHANGELOG.md",
        *(Path(crate["manifest_path"]).parent / "CHANGELOG.md" for crate in publishable(packages)),
    ]
    for changelog in changelogs:
        name = changelog.relative_to(root)
        found += [f"{name}: {fault}" for fault in changelog_faults(changelog, version)]
    return found


def version_of(root):
    return tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def wrong_versions(root, version, packages):
    found = [
        f"{package['name']} has version {package['version']}, not {version}"
        for package in packages
        if package["version"] != version
    ]
    dependencies = tomllib.loads((root / "Cargo.toml").read_text())["workspace"].get("dependencies", {})
    for crate in publishable(packages):
        required = dependencies.get(crate["name"], {}).get("version")
        if crate["name"] in dependencies and required != version:
            found.append(f"Cargo.toml: the dependency {crate['name']} requires version {required}, not {version}")
    locked = tomllib.loads((root / "Cargo.lock").read_text())["package"]
    names = {package["name"] for package in packages}
    for package in locked:
        # Packages of the workspace have no source.
        if package["name"] in names and "source" not in package and package["version"] != version:
            found.append(f"Cargo.lock has {package['name']} {package['version']}, not {version}: run `cargo check`")
    for name in git(root, "ls-files", "*openapi.json").splitlines():
        stated = json.loads((root / name).read_text())["info"]["version"]
        if stated != version:
            found.append(f"{name} has version {stated}, not {version}: run `make generated`")
    return found


def changelog_faults(path, version):
    if not path.exists():
        return ["does not exist"]
    text = path.read_text()
    found = []
    if section(text, "Unreleased"):
        found.append(f'there are changes under "Unreleased": move them to {version}')
    heading = re.search(rf"(?m)^## {re.escape(version)}(?![\w.])(.*)$", text)
    if heading is None:
        return [*found, f"there is no section `## {version} - <date>`"]
    try:
        date = datetime.date.fromisoformat(heading[1].removeprefix(" - "))
    except ValueError:
        return [*found, f"the section {version} has no date: `## {version} - YYYY-MM-DD`"]
    # A day ahead of UTC it may be tomorrow already.
    if date > datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1):
        found.append(f"the date of {version} is in the future: {date}")
    if not section(text, version):
        found.append(f"the section {version} is empty")
    return found


def section(text, title):
    """What is under the heading of a version, without the heading."""
    match = re.search(rf"(?ms)^## {re.escape(title)}(?: - [^\n]*)?\n(.*?)(?=^## |\Z)", text)
    return match[1].strip() if match else ""


def commands(version, crates):
    notes = f"ops/release.py notes | git tag --annotate --cleanup=verbatim --file=- v{version}"
    placeholders = [crate["name"] for crate in crates if "example.com" in (crate["repository"] or "example.com")]
    publish = [f"cargo publish --package {crate['name']}" for crate in crates]
    if placeholders:
        publish.insert(0, f"set `repository` in Cargo.toml first: it is missing or a placeholder in {series(placeholders)}")
    return [
        f"python3 {notes}",
        "if GitHub has the variables for AWS, pushing the tag starts a deployment to production, which waits for an approval:",
        f"git push origin main v{version}",
        "and the crates, each after those that it needs (first read docs/adr/0019 about the names of the crates):",
        *publish,
    ]


def git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def make(target, hint="", **settings):
    say(" ".join(["== make", target, *(f"{name}={value}" for name, value in settings.items())]))
    if subprocess.run(["make", "--no-print-directory", target], cwd=ROOT, env=standalone() | settings).returncode != 0:
        stop(f"not ready for a release: make {target} failed. {hint}".rstrip())


if __name__ == "__main__":
    if sys.argv[1:] == ["notes"]:
        version = version_of(ROOT)
        say(version)
        say()
        for line in section((ROOT / "CHANGELOG.md").read_text(), version).splitlines():
            say(line)
    else:
        main()
