"""`make plan` cleans up on AWS: tested with the real sam on an emulator of AWS."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import deploy
from emulator import emulator
from stage import ORDER_HISTORY, SAM, Stage

TEMPLATE = """
Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Parameters: {Memory: {Type: Number, Default: 128}}
Resources:
  Function:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: code
      Handler: bootstrap
      Runtime: provided.al2023
      AutoPublishAlias: live
      MemorySize: !Ref Memory
"""
ARGUMENTS = ["--config-env", "default", "--parameter-overrides"]

# Kills its parent process when the change set exists, before the parent knows the name.
INTERRUPTED = f"""#!/usr/bin/env bash
[[ $1 == package ]] && exec {SAM} "$@"
{SAM} "$@" >/dev/null 2>&1
kill -TERM $PPID
exec sleep 60
"""


class Plan(unittest.TestCase):
    def setUp(self):
        self.aws = self.enterContext(emulator())
        self.enterContext(mock.patch.dict(os.environ, self.aws.environment))
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.template = self.folder / "template.yaml"
        self.template.write_text(TEMPLATE)
        (self.folder / "code").mkdir()
        (self.folder / "code/bootstrap").write_text("one")
        self.stage = Stage("development", ORDER_HISTORY)

    def plan(self, memory=128):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            deploy.plan(self.stage, [*ARGUMENTS, f"Memory={memory}"], self.template)
        return shown.getvalue()

    def deploy(self):
        config = ["--config-file", deploy.ROOT / "samconfig.toml", "--template-file", self.template]
        subprocess.run([SAM, "deploy", *ARGUMENTS, "Memory=128", *config], check=True, capture_output=True)

    def folders(self):
        """The folders in sam's bucket."""
        s3 = self.aws.client("s3")
        names = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        keys = [found["Key"] for name in names for found in s3.list_objects_v2(Bucket=name).get("Contents", [])]
        return {key.split("/")[0] for key in keys}

    def change_sets(self):
        return list(deploy.change_sets(self.aws.client("cloudformation"), self.stage))

    def test_it_writes_only_to_its_own_folder(self):
        self.assertIn("AWS::Lambda::Function", self.plan())
        self.assertEqual(self.folders(), {"ftgo-order-history-plan"})
        self.assertIsNone(self.stage.stack())

    def test_code_that_is_already_deployed_is_not_a_change(self):
        self.deploy()
        before = self.change_sets()
        self.assertIn("no changes", self.plan())
        self.assertRegex(self.plan(memory=256), r"modify +AWS::Lambda::Function +Function  \(MemorySize\)")
        (self.folder / "code/bootstrap").write_text("two")
        self.assertRegex(self.plan(), r"modify +AWS::Lambda::Function +Function  \(Code\)")
        self.assertEqual(self.change_sets(), before)

    def test_an_interruption_leaves_no_change_set(self):
        self.deploy()
        before = self.change_sets()
        sam = self.folder / "sam"
        sam.write_text(INTERRUPTED)
        sam.chmod(0o755)
        # In a separate process, because the signal ends it.
        program = (
            "import sys, pathlib, deploy, stage; deploy.SAM = sys.argv[1];"
            "deploy.plan(stage.Stage('development', stage.ORDER_HISTORY), sys.argv[3:], pathlib.Path(sys.argv[2]))"
        )
        command = [sys.executable, "-c", program, sam, self.template, *ARGUMENTS, "Memory=256"]
        ended = subprocess.run(command, capture_output=True, text=True)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("KeyboardInterrupt", ended.stderr)
        self.assertEqual(self.change_sets(), before)


if __name__ == "__main__":
    unittest.main()
