"""`make check` and the scripts that its steps start, with programs that only pretend: a `make` whose targets are one line each, a `cargo` that
runs no test."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Pretended(unittest.TestCase):
    """A folder with a copy of ops/, and programs before all others in PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(ROOT / "ops", self.root / "ops")
        (self.root / "bin").mkdir()
        self.environment = {name: value for name, value in os.environ.items() if name not in ["SKIPS", "CHECK_JOBS"]}
        self.environment["PATH"] = f"{self.root / 'bin'}:{os.environ['PATH']}"

    def program(self, name, script):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run_it(self, *command, **settings):
        environment = self.environment | settings
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True)

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)


class Check(Pretended):
    def check(self, *steps, **settings):
        return self.run_it(sys.executable, "ops/check.py", *steps, **settings)

    def test_a_skipped_step_fails_only_with_skips_fail(self):
        self.program("make", 'case $2 in sam-local) echo "skipped: no Docker" ;; esac')
        ran = self.check("scale", "sam-local")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, "(?m)^sam-local +skipped .* no Docker$")
        ran = self.check("scale", "sam-local", SKIPS="fail")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("failed, because SKIPS=fail and these steps were skipped: sam-local\n", ran.stdout)
        self.assertEqual(self.check("scale", SKIPS="fail").returncode, 0)

    def test_a_step_that_does_not_run_names_the_step_that_failed(self):
        self.program("make", '[ "$2" != tools ]')
        ran = self.check("tools", "style", "scale")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, "(?m)^style +not run .* it needs tools: FAILED$")
        self.assertRegex(ran.stdout, "(?m)^scale +passed")

    def test_no_place_is_one_place(self):
        self.program("make", "true")
        self.assertEqual(self.check("scale", CHECK_JOBS="0").returncode, 0)

    def test_ctrl_c_lets_the_steps_clean_up_and_prints_the_table(self):
        # It takes a second to clean up, as `make e2e` takes longer.
        self.program("make", 'trap "sleep 1; echo cleaned; exit 1" TERM; echo started; while :; do sleep 0.1; done')
        command = [sys.executable, "ops/check.py", "scale"]
        ran = subprocess.Popen(command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(ran.stdout.close)
        # A check that ignores Ctrl-C must fail here, not run on.
        kill = threading.Timer(60, ran.kill)
        kill.start()
        self.addCleanup(kill.cancel)
        log = self.root / "target/check/scale.log"
        self.assertIn("start", ran.stdout.readline())
        while "started" not in log.read_text():
            pass
        ran.send_signal(signal.SIGINT)
        while "stopping scale; this can take a minute" not in ran.stdout.readline():
            self.assertIsNone(ran.poll())
        # Somebody who does not want to wait.
        ran.send_signal(signal.SIGINT)
        output = ran.stdout.read()
        self.assertEqual(ran.wait(), 130)
        self.assertRegex(output, "(?m)^scale +stopped")
        self.assertIn("cleaned", log.read_text())


class RustTests(Pretended):
    """ops/test."""

    def setUp(self):
        super().setUp()
        self.git("init", "--quiet")
        (self.root / "a.snap").write_text("")
        self.git("add", "a.snap")
        # It reports the folder without symbolic links, as the compiler does.
        self.program(
            "cargo", 'echo "$(pwd -P)/a.snap" >>"$INSTA_SNAPSHOT_REFERENCES_FILE"; echo "test result: ok. 3 passed; 0 failed"'
        )

    def test_all_snapshots_are_used(self):
        ran = self.run_it("ops/test")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("3 passed, 0 failed", ran.stdout)

    def test_the_folder_may_be_a_symbolic_link(self):
        with tempfile.TemporaryDirectory() as other:
            link = Path(other, "link")
            link.symlink_to(self.root)
            ran = subprocess.run(
                ["ops/test"], cwd=link, env=self.environment | {"PWD": str(link)}, capture_output=True, text=True
            )
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_a_snapshot_that_no_test_uses_is_an_error(self):
        (self.root / "b.snap").write_text("")
        self.git("add", "b.snap")
        ran = self.run_it("ops/test")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("No test uses these snapshots; delete them:\nb.snap\n", ran.stderr)

    def test_a_git_that_fails_is_an_error(self):
        self.program("git", "exit 128")
        self.assertNotEqual(self.run_it("ops/test").returncode, 0)


class Versions(Pretended):
    """Tools that are too old stop with a message that says which version is needed."""

    def test_an_old_python(self):
        self.program("python3", 'echo "Python 3.9.6"; exit 1')
        ran = self.run_it("ops/venv", "sam")
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertEqual(ran.stderr, "This command needs Python 3.11 or later as python3; found Python 3.9.6.\n")

    def test_an_old_node(self):
        self.program("node", "echo v18.0.0")
        self.program("npm", "true")
        (self.root / "web").mkdir()
        ran = self.run_it("ops/web")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("needs Node.js 20 or later with npm; found v18.0.0.", ran.stderr)

    def test_an_old_make_and_an_old_bash(self):
        shutil.copy(ROOT / "Makefile", self.root)
        self.assertEqual(self.run_it("make", "help").returncode, 0)
        ran = self.run_it("make", "MAKE_VERSION=3.81", "help")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("`brew install make bash`", ran.stderr)
        self.program("bash", "echo old")
        self.assertEqual(self.run_it("make", "help").returncode, 2)

    def test_a_new_python_installs_again_and_prints_only_the_folder(self):
        # A Python that makes an environment of nothing, and says so on standard output.
        make_it = 'mkdir -p "$4/bin"; printf "#!/bin/sh\\n" >"$4/bin/pip"; chmod 755 "$4/bin/pip"; echo made'
        for version in ["3.12.1", "3.13.0"]:
            self.program("python3", f'case $1 in -c) echo "Python {version}" ;; -m) {make_it} ;; esac')
            first, second = self.run_it("ops/venv", "sam"), self.run_it("ops/venv", "sam")
            self.assertIn("installing", first.stderr)
            self.assertEqual(second.stderr, "")
            for ran in [first, second]:
                self.assertEqual(ran.stdout, f"{self.root.resolve()}/target/venv/sam/bin\n")


class TargetFolder(Pretended):
    def test_make_sets_its_own_target_folder(self):
        shutil.copy(ROOT / "Makefile", self.root)
        self.program("cargo", 'echo "$CARGO_TARGET_DIR"')
        ran = self.run_it("make", "--no-print-directory", "--silent", "everything", CARGO_TARGET_DIR="/elsewhere")
        self.assertEqual(set(ran.stdout.split()), {f"{self.root.resolve()}/target"})

    def test_a_browser_that_is_not_found_fails(self):
        shutil.copy(ROOT / "Makefile", self.root)
        (self.root / "ops/web").write_text("#!/bin/sh\nexit 0\n")
        ran = self.run_it("make", "browser", BUILT="1", BROWSER_PATH="/nowhere/chromium")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("BROWSER_PATH=/nowhere/chromium is not a program", ran.stderr)


class Mutants(Pretended):
    def setUp(self):
        super().setUp()
        package = self.root / "crates/order-history/order-view/Cargo.toml"
        package.parent.mkdir(parents=True)
        package.write_text('[package]\nname = "order-view"\n')
        (self.root / "docs").mkdir()
        (self.root / "docs/mutants.md").write_text("")
        self.found = self.root / "target/mutants/mutants.out"
        self.found.mkdir(parents=True)
        (self.found / "outcomes.json").write_text("{}")
        (self.found / "missed.txt").write_text("src/a.rs:1:2: replace < with >\n")

    def test_what_an_earlier_run_found_does_not_count(self):
        self.program("cargo", "exit 0")
        ran = self.run_it(sys.executable, "ops/mutants.py", SINCE_COMMIT="")
        self.assertEqual((ran.returncode, ran.stderr), (1, "no mutant was tested\n"))

    def test_a_change_without_code_has_no_mutants(self):
        self.program("cargo", "exit 0")
        self.program("git", "exit 0")
        ran = self.run_it(sys.executable, "ops/mutants.py", SINCE_COMMIT="main")
        self.assertEqual((ran.returncode, ran.stdout), (0, "no mutant was tested: no code was changed since main\n"))

    def test_a_survivor_fails_and_copies_have_their_own_target_folder(self):
        missed = f"mkdir -p {self.found}; echo '{{}}' >{self.found}/outcomes.json; echo 'src/a.rs:1:2: replace < with >' >{self.found}/missed.txt"
        self.program("cargo", f'[ -z "$CARGO_TARGET_DIR" ] || exit 1; {missed}; exit 2')
        ran = self.run_it(sys.executable, "ops/mutants.py", SINCE_COMMIT="", CARGO_TARGET_DIR="/elsewhere")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("src/a.rs: replace < with >\n1 mutants survived", ran.stderr)

    def test_a_row_of_the_document_accepts_one_survivor(self):
        (self.root / "docs/mutants.md").write_text("| `src/a.rs: replace \\|\\| with &&` | Equal result. |\n")
        survivors = ["src/a.rs:1:2: replace || with &&", "src/a.rs:7:8: replace || with &&"]
        for missed, code, message in [
            (survivors[:1], 0, "1 mutants survived, all accepted by docs/mutants.md\n"),
            (survivors, 1, "src/a.rs: replace || with &&\n1 mutants survived that docs/mutants.md does not accept\n"),
        ]:
            lines = "\\n".join(missed)
            found = f"mkdir -p {self.found}; echo '{{}}' >{self.found}/outcomes.json"
            self.program("cargo", f"{found}; printf '{lines}\\n' >{self.found}/missed.txt; exit 2")
            ran = self.run_it(sys.executable, "ops/mutants.py", SINCE_COMMIT="")
            self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (code, message))


if __name__ == "__main__":
    unittest.main()
