"""`make package`: packages every crate that can be published, as `cargo publish` would, and then uses the packages as a stranger would.

1. `cargo package` builds each package from its own files; packages that are not published yet replace each other.
2. Each package has a README, a changelog and licences, no broken links, and no name of a crate that is not published.
3. The packages are unpacked outside of this workspace. There, their documentation tests pass and every example runs.

Nothing is uploaded.
"""

import json
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

from terminal import amount, count, say, stop

ROOT = Path(__file__).resolve().parents[1]
UNPACKED = ROOT / "target/package/unpacked"

REQUIRED = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml"]


def main():
    packages = metadata(ROOT)
    crates = publishable(packages)
    unpublished = [package["name"] for package in packages if package not in crates]
    names = [f"--package={crate['name']}" for crate in crates]
    run("cargo", "package", "--quiet", "--allow-dirty", "--all-features", *names, cwd=ROOT)
    shutil.rmtree(UNPACKED, ignore_errors=True)
    UNPACKED.mkdir(parents=True)
    faults = []
    for crate in crates:
        archive = ROOT / f"target/package/{folder(crate)}.crate"
        with tarfile.open(archive) as files:
            files.extractall(UNPACKED, filter="data")
        found = problems(UNPACKED / folder(crate), unpublished)
        faults += [f"{crate['name']}: {fault}" for fault in found]
        say(f"{folder(crate):<28} {amount(archive.stat().st_size):>9}  {crate['description']}")
    if faults:
        stop("\n".join(faults))
    use(crates)
    say(
        f"{count(len(crates), 'package')} in target/package: documentation tests pass and every example runs, without this workspace"
    )


def metadata(root):
    """The packages of the workspace, as cargo describes them."""
    command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    return json.loads(subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True).stdout)["packages"]


def publishable(packages):
    """The packages that may be published, each after those that it depends on."""
    # `publish = false` is an empty list of registries.
    waiting = {package["name"]: package for package in packages if package["publish"] != []}
    ordered = []
    while waiting:
        needed = {name: needs(package) & waiting.keys() - {name} for name, package in waiting.items()}
        ready = sorted(name for name in waiting if not needed[name])
        if not ready:
            stop(f"these crates depend on each other: {', '.join(sorted(waiting))}")
        ordered += [waiting.pop(name) for name in ready]
    return ordered


def needs(package):
    # A dependency without a version is not part of the published crate.
    return {dependency["name"] for dependency in package["dependencies"] if dependency["req"] != "*"}


def folder(crate):
    return f"{crate['name']}-{crate['version']}"


def problems(package, unpublished):
    """What a stranger would miss in an unpacked package, or not understand."""
    found = [f"{name} is missing" for name in REQUIRED if not (package / name).is_file()]
    manifest = tomllib.loads((package / "Cargo.toml").read_text())["package"]
    found += [
        f"Cargo.toml has no {key}" for key in ["description", "repository", "keywords", "categories"] if not manifest.get(key)
    ]
    # A name in one word, such as `archive`, may mean something else.
    foreign = "|".join(["ftgo", *(re.escape(name) for name in unpublished if "-" in name)])
    for path in sorted(package.rglob("*")):
        if path.suffix not in [".rs", ".md"]:
            continue
        text, name = path.read_text(), path.relative_to(package)
        found += [
            f"{name} names {word}, which is not published" for word in sorted(set(re.findall(rf"(?i)\b(?:{foreign})\b", text)))
        ]
        if path.suffix == ".md":
            targets = re.findall(r"\]\(([^)\s]+)\)", text)
            local = [target for target in targets if not re.match(r"https?://|#", target)]
            found += [
                f"{name} links to {target}, which is not in the package"
                for target in local
                if not (path.parent / target).exists()
            ]
    return found


def use(crates):
    """Runs the documentation tests and the examples of the unpacked packages, which find each other, and nothing else of this workspace."""
    # With the same profile, dependencies that have the same features as in this workspace are built once.
    profiles = re.findall(r"(?ms)^\[profile\.dev.*?(?=^\[|^#|\Z)", (ROOT / "Cargo.toml").read_text())
    members = ", ".join(f'"{folder(crate)}"' for crate in crates)
    patches = "".join(f'{crate["name"]} = {{ path = "{folder(crate)}" }}\n' for crate in crates)
    workspace = f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}\n{"".join(profiles)}'
    (UNPACKED / "Cargo.toml").write_text(workspace)
    # The versions of the other dependencies are those that are tested here.
    shutil.copy(ROOT / "Cargo.lock", UNPACKED)
    target = f"--target-dir={ROOT / 'target'}"
    run("cargo", "test", "--quiet", "--workspace", "--doc", "--all-features", target, cwd=UNPACKED)
    examples = [
        (package["name"], target["name"])
        for package in metadata(UNPACKED)
        for target in package["targets"]
        if target["kind"] == ["example"]
    ]
    if without := [crate["name"] for crate in crates if crate["name"] not in dict(examples)]:
        stop(f"no example: {', '.join(without)}")
    # Together, so that all of them have the same features of the same dependencies.
    run("cargo", "build", "--quiet", "--workspace", "--examples", "--all-features", target, cwd=UNPACKED)
    for crate, example in examples:
        say(f"== {crate}: example {example}")
        run(ROOT / f"target/debug/examples/{example}", cwd=UNPACKED)


def run(*command, cwd):
    if (code := subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL).returncode) != 0:
        stop(f"failed ({code}): {' '.join(str(part) for part in command)}")


if __name__ == "__main__":
    main()
