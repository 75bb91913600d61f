"""What stops a release: each fault alone, in a small repository that is otherwise ready."""

import contextlib
import datetime
import io
import subprocess
import tempfile
import unittest
from pathlib import Path

import release
import semver
from package import metadata, problems, publishable

ROOT_MANIFEST = """[workspace]
resolver = "3"
members = ["a", "b", "private"]

[workspace.package]
version = "1.2.0"

[workspace.dependencies]
a = { version = "1.2.0", path = "a" }
"""

# `b` needs `a` only for its tests: also then it is published after `a`.
MANIFESTS = {
    "a": '[package]\nname = "a"\nversion.workspace = true\nedition = "2024"\n',
    "b": '[package]\nname = "b"\nversion.workspace = true\nedition = "2024"\n[dev-dependencies]\na.workspace = true\n',
    "private": '[package]\nname = "private"\nversion.workspace = true\nedition = "2024"\npublish = false\n',
}

CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-01-31\n\n### Added\n- A thing.\n\n## 1.1.0 - 2026-01-01\n\n- Old.\n"
)


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("Cargo.toml", ROOT_MANIFEST)
        self.write("CHANGELOG.md", CHANGELOG)
        self.write("api/openapi.json", '{"info": {"version": "1.2.0"}}')
        for name, manifest in MANIFESTS.items():
            self.write(f"{name}/Cargo.toml", manifest)
            self.write(f"{name}/src/lib.rs", "")
            if name != "private":
                self.write(f"{name}/CHANGELOG.md", CHANGELOG)
        subprocess.run(["cargo", "generate-lockfile", "--offline", "--quiet"], cwd=self.root, check=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def replace(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        self.write(name, text.replace(old, new, 1))

    def git(self, *arguments):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=test")

    def check(self, *expected):
        """After a commit of what the test has changed, these are all the faults."""
        if release.git(self.root, "status", "--porcelain"):
            self.commit()
        self.assertEqual(release.faults(self.root), list(expected))

    def test_a_repository_that_is_ready_has_no_faults(self):
        self.check()

    def test_changed_files_stop_it(self):
        self.write("new.txt", "")
        self.assertEqual(release.faults(self.root), ["the tree is not clean: 1 files are changed or new"])

    def test_another_branch_stops_it(self):
        self.git("checkout", "--quiet", "-b", "topic")
        self.check("the branch is topic: releases are made from main")

    def test_a_tag_of_this_version_stops_it(self):
        self.git("tag", "v1.2.0")
        self.check("the tag v1.2.0 exists: raise the version in Cargo.toml")

    def test_a_crate_with_another_version_stops_it(self):
        self.replace("private/Cargo.toml", "version.workspace = true", 'version = "1.1.0"')
        subprocess.run(["cargo", "generate-lockfile", "--offline", "--quiet"], cwd=self.root, check=True)
        self.check(
            "private has version 1.1.0, not 1.2.0",
            "Cargo.lock has private 1.1.0, not 1.2.0: run `cargo check`",
        )

    def test_a_dependency_on_another_version_stops_it(self):
        self.replace("Cargo.toml", 'a = { version = "1.2.0"', 'a = { version = "1.1.0"')
        self.check("Cargo.toml: the dependency a requires version 1.1.0, not 1.2.0")

    def test_an_old_lock_file_stops_it(self):
        self.replace("Cargo.lock", 'name = "b"\nversion = "1.2.0"', 'name = "b"\nversion = "1.1.0"')
        self.check("Cargo.lock has b 1.1.0, not 1.2.0: run `cargo check`")

    def test_an_api_document_with_another_version_stops_it(self):
        self.replace("api/openapi.json", "1.2.0", "1.1.0")
        self.check("api/openapi.json has version 1.1.0, not 1.2.0: run `make generated`")

    def test_what_is_not_released_stops_it(self):
        self.replace("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n- Another thing.\n")
        self.check('CHANGELOG.md: there are changes under "Unreleased": move them to 1.2.0')

    def test_a_changelog_without_the_version_stops_it(self):
        for heading in ["## 1.1.5 - 2026-01-31", "## 1.2.00 - 2026-01-31", "## 1.2.0.1 - 2026-01-31"]:
            self.write("b/CHANGELOG.md", CHANGELOG.replace("## 1.2.0 - 2026-01-31", heading))
            self.check("b/CHANGELOG.md: there is no section `## 1.2.0 - <date>`")

    def test_a_crate_without_a_changelog_stops_it(self):
        (self.root / "a/CHANGELOG.md").unlink()
        self.check("a/CHANGELOG.md: does not exist")

    def test_a_section_without_a_date_stops_it(self):
        for date in ["", " - soon", " - 2026-02-30", " 2026-01-31"]:
            self.write("CHANGELOG.md", CHANGELOG.replace(" - 2026-01-31", date))
            self.check("CHANGELOG.md: the section 1.2.0 has no date: `## 1.2.0 - YYYY-MM-DD`")

    def test_a_date_in_the_future_stops_it(self):
        future = datetime.date.today() + datetime.timedelta(days=3)
        self.replace("CHANGELOG.md", "2026-01-31", future.isoformat())
        self.check(f"CHANGELOG.md: the date of 1.2.0 is in the future: {future}")

    def test_an_empty_section_stops_it(self):
        self.replace("CHANGELOG.md", "### Added\n- A thing.\n", "")
        self.check("CHANGELOG.md: the section 1.2.0 is empty")

    def test_all_faults_are_reported_at_once(self):
        self.git("tag", "v1.2.0")
        self.replace("api/openapi.json", "1.2.0", "1.1.0")
        self.assertEqual(len(release.faults(self.root)), 3)

    def test_the_notes_are_the_section_of_the_version(self):
        self.assertEqual(release.section(CHANGELOG, "1.2.0"), "### Added\n- A thing.")
        self.assertEqual(release.section(CHANGELOG, "1.1.0"), "- Old.")
        self.assertEqual(release.section(CHANGELOG, "1.2"), "")

    def test_crates_are_published_after_those_that_they_need(self):
        crates = publishable(metadata(self.root))
        self.assertEqual([crate["name"] for crate in crates], ["a", "b"])
        published = [line for line in release.commands("1.2.0", crates) if line.startswith("cargo publish")]
        self.assertEqual(published, ["cargo publish --package a", "cargo publish --package b"])

    def test_the_baseline_is_the_newest_release_tag(self):
        self.assertIsNone(semver.last_tag(self.root))
        self.git("tag", "other")
        self.assertIsNone(semver.last_tag(self.root))
        self.git("tag", "v1.1.0")
        self.write("new.txt", "")
        self.commit()
        self.assertEqual(semver.last_tag(self.root), "v1.1.0")

    def stops(self, text, wanted=None):
        with self.assertRaises(SystemExit) as stopped:
            semver.baseline_of(self.root, wanted)
        self.assertIn(text, str(stopped.exception))

    def test_a_baseline_must_be_a_commit(self):
        self.stops("BASELINE=v9 is not a commit", "v9")
        self.stops("BASELINE=--help is not a commit", "--help")
        self.assertEqual(semver.baseline_of(self.root, "HEAD"), "HEAD")

    def test_without_the_tag_of_an_older_version_the_first_publication_must_be_explicit(self):
        self.stops("no tag v1.1.0: fetch the tags, or set BASELINE=<commit>")
        self.assertIsNone(semver.baseline_of(self.root, "none"))
        self.git("tag", "v1.1.0")
        self.assertEqual(semver.baseline_of(self.root, None), "v1.1.0")

    def test_a_changelog_with_one_version_has_no_baseline(self):
        self.replace("CHANGELOG.md", "## 1.1.0 - 2026-01-01\n\n- Old.\n", "")
        self.assertIsNone(semver.baseline_of(self.root, None))

    def test_a_placeholder_as_repository_is_reported_before_the_crates(self):
        crates = publishable(metadata(self.root))
        for repository, is_reported in [(None, True), ("https://example.com/x", True), ("https://github.com/x/y", False)]:
            lines = release.commands("1.2.0", [crate | {"repository": repository} for crate in crates])
            publish = lines.index("cargo publish --package a")
            self.assertEqual(lines[publish - 1].startswith("set `repository` in Cargo.toml first"), is_reported)

    def test_the_deployment_is_announced_before_the_push(self):
        lines = release.commands("1.2.0", publishable(metadata(self.root)))
        self.assertIn("starts a deployment to production", lines[lines.index("git push origin main v1.2.0") - 1])


class Steps(unittest.TestCase):
    """What `make release` runs."""

    def run_steps(self, **environment):
        made = []
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            self.checked = Path(folder, "checked")
            self.checked.write_text(environment.pop("checked", ""))
            make = lambda target, hint="", **settings: made.append((target, settings))  # noqa: E731
            skipped = release.run_steps(environment, self.checked, "c0ffee", make)
            return made, skipped, self.checked.read_text()

    def test_everything_passes_with_release_binaries_and_without_skipped_steps(self):
        made, skipped, checked = self.run_steps()
        names = ["advisories", "package", "semver", "guide", "check"]
        self.assertEqual([name for name, _ in made], names)
        self.assertEqual(made[-1][1], {"BUILD_PROFILE": "release", "SKIPS": "fail"})
        self.assertEqual((skipped, checked), ([], "c0ffee"))

    def test_what_is_skipped_is_returned_and_not_remembered(self):
        made, skipped, checked = self.run_steps(CHECK="skip", ADVISORIES="skip")
        self.assertEqual([name for name, _ in made], ["package", "semver", "guide"])
        self.assertEqual((skipped, checked), (["ADVISORIES=skip", "CHECK=skip"], ""))

    def test_a_commit_is_checked_once(self):
        made, skipped, _ = self.run_steps(checked="c0ffee", CHECK="skip")
        self.assertNotIn("check", [name for name, _ in made])
        self.assertEqual(skipped, [])


class Package(unittest.TestCase):
    """What a stranger would miss in a package."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        for name in ["CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]:
            (self.package / name).write_text("")
        (self.package / "README.md").write_text("[docs](https://example.com) [below](#below) [code](src/lib.rs)")
        (self.package / "src").mkdir()
        (self.package / "src/lib.rs").write_text("//! An archive for payments.")
        (self.package / "Cargo.toml").write_text(
            '[package]\nname = "a"\ndescription = "d"\nrepository = "r"\nkeywords = ["k"]\ncategories = ["c"]\n'
        )

    def check(self, *expected):
        self.assertEqual(problems(self.package, ["archive", "order-view"]), list(expected))

    def test_a_good_package_has_no_problems(self):
        self.check()

    def test_every_file_and_every_key_is_needed(self):
        (self.package / "LICENSE-MIT").unlink()
        (self.package / "Cargo.toml").write_text(
            '[package]\nname = "a"\ndescription = ""\nrepository = "r"\nkeywords = ["k"]\n'
        )
        self.check("LICENSE-MIT is missing", "Cargo.toml has no description", "Cargo.toml has no categories")

    def test_a_link_out_of_the_package_is_a_problem(self):
        (self.package / "README.md").write_text("[decision](../../docs/adr/0001.md)")
        self.check("README.md links to ../../docs/adr/0001.md, which is not in the package")

    def test_a_crate_that_is_not_published_is_not_named(self):
        (self.package / "src/lib.rs").write_text("//! As order-view does for FTGO.")
        self.check(
            "src/lib.rs names FTGO, which is not published",
            "src/lib.rs names order-view, which is not published",
        )


if __name__ == "__main__":
    unittest.main()
