"""`make deploy`: a build, and `sam deploy` of $STAGE with its parameters from samconfig.toml and those of $PARAMETERS.

Both, because parameters on sam's command line replace samconfig's whole list.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from stage import ROOT, TEMPLATE, assignments, stage

stage = stage(os.environ.get("STAGE", "development"), or_local=False)
architecture = os.environ["ARCH"]
given = stage.parameters | assignments(shlex.split(os.environ.get("PARAMETERS", ""))) | {"Architecture": architecture}

known = TEMPLATE["Parameters"]
if unknown := [name for name in given if name not in known]:
    sys.exit(f"template.yaml has no parameter {', '.join(unknown)}; it has {', '.join(known)}")
missing = [name for name, parameter in known.items() if "Default" not in parameter and name not in given]
if missing:
    needs = f"{stage.stack_name} needs {' and '.join(missing)}"
    given_so = " ".join(f"{name}=…" for name in missing)
    how = f'make deploy STAGE={stage.name} PARAMETERS="{given_so}", or put them into samconfig.toml'
    try:
        # A stack that is there keeps what is not given.
        if stage.stack() is None:
            sys.exit(f"{needs}: {how}")
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"{needs}, unless it is there already ({error}): {how}")

if subprocess.run([ROOT / "ops/build", architecture]).returncode != 0:
    sys.exit("the build failed")
sam = Path(sys.executable).with_name("sam")
parameters = [f"{name}={value}" for name, value in given.items()]
os.execv(sam, ["sam", "deploy", "--config-env", stage.config_env, "--parameter-overrides", *parameters])
