"""The files in deploy/: shellcheck, check-jsonschema, and the Slurm script with stand-ins for Slurm and Ray."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY, SCHEMA = ROOT / "deploy", Path(__file__).with_name("kubernetes.schema.json")
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def test_shell_scripts_pass_shellcheck() -> None:
    scripts = sorted(DEPLOY.rglob("*.sh"))
    assert scripts
    found = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def check_jsonschema(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check(*manifests: Path) -> subprocess.CompletedProcess[str]:
    return check_jsonschema("--schemafile", SCHEMA, *manifests)


def test_manifests_match_their_schema() -> None:
    assert check_jsonschema("--check-metaschema", SCHEMA).returncode == 0
    assert [path.name for path in MANIFESTS] == ["network-policy.yaml", "ray-cluster.yaml", "volume.yaml"]
    found = check(*MANIFESTS)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("mode: token", "mode: disabled"),
        ("serviceType: ClusterIP", "serviceType: LoadBalancer"),
        ("maxReplicas: 64", "maxReplica: 64"),
        ("memory: 8Gi", "memory: 8"),
    ],
)
def test_the_schema_refuses_what_must_not_be(was: str, now: str, tmp_path: Path) -> None:
    text = (DEPLOY / "kubernetes" / "ray-cluster.yaml").read_text()
    assert was in text
    broken = tmp_path / "broken.yaml"
    broken.write_text(text.replace(was, now))
    assert check(broken).returncode == 1


def test_the_manifest_fits_the_image_and_the_pinned_ray() -> None:
    cluster = yaml.safe_load((DEPLOY / "kubernetes" / "ray-cluster.yaml").read_text())
    image = (DEPLOY / "Dockerfile").read_text()
    pinned = re.search(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None and cluster["spec"]["rayVersion"] == pinned[1]
    assert re.search(r"^ARG EXTRAS=.*\bcluster\b", image, re.MULTILINE)
    head = cluster["spec"]["headGroupSpec"]["template"]["spec"]
    assert f"--uid {head['securityContext']['runAsUser']} " in image
    claim = yaml.safe_load((DEPLOY / "kubernetes" / "volume.yaml").read_text())
    assert head["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    policy = yaml.safe_load((DEPLOY / "kubernetes" / "network-policy.yaml").read_text())
    assert policy["spec"]["podSelector"]["matchLabels"] == {"ray.io/cluster": cluster["metadata"]["name"]}


STAND_INS = {
    "scontrol": "printf 'one\\ntwo\\nthree\\n'",
    "srun": 'while [ "${1#--}" != "$1" ]; do echo "srun $1" >> calls; shift; done; exec "$@"',
    "ray": 'echo "ray $* $RAY_AUTH_MODE ${#RAY_AUTH_TOKEN}" >> calls; [ "$1" = status ] || exec sleep 60',
    "tabia": 'trap "echo saved >> calls; exit 143" TERM; echo "tabia $*" >> calls\n'
    # Nodes start in the background, so the command may run before they have.
    "until grep -q 'start --head' calls && grep -q 'start --address' calls; do sleep 0.05; done\n"
    "while [ -e keep-running ]; do sleep 0.05; done; exit 3",
}
"""Programs that write down how they were called."""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A directory with the stand-ins in bin/."""
    (tmp_path / "bin").mkdir()
    for name, body in STAND_INS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\n{body}\n")
        program.chmod(0o755)
    return tmp_path


def start(job: Path) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": f"{job / 'bin'}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "10123",
        "SLURM_JOB_NODELIST": "one,two,three",
        "SLURM_JOB_NUM_NODES": "3",
        "SLURM_CPUS_PER_TASK": "5",
        "TABIA_HEAD_ADDRESS": "10.0.0.1",
    }
    command = ["bash", str(DEPLOY / "slurm.sh"), "train", "connect4", "--actors", "8"]
    return subprocess.Popen(command, cwd=job, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def calls(job: Path) -> list[str]:
    return (job / "calls").read_text().splitlines() if (job / "calls").exists() else []


def test_a_slurm_job_starts_ray_on_every_node_with_a_token_and_ends_with_the_status_of_the_command(job: Path) -> None:
    assert start(job).wait(120) == 3
    made = calls(job)
    (head,) = [call for call in made if call.startswith("ray start --head")]
    (worker,) = [call for call in made if call.startswith("ray start --address")]
    assert "--node-ip-address=10.0.0.1 --port=20123 " in head and "--include-dashboard=false" in head
    assert "--address=10.0.0.1:20123 " in worker
    assert head.endswith(" token 64") and worker.endswith(" token 64"), "32 random bytes in the environment"
    assert "srun --ntasks=2" in made and "srun --exclude=one" in made
    assert "tabia train connect4 --actors 8 --ray 10.0.0.1:20123" in made


def test_the_signal_before_the_end_of_a_slurm_job_reaches_the_command(job: Path) -> None:
    (job / "keep-running").touch()
    running = start(job)
    until = time.monotonic() + 120
    while not any(call.startswith("tabia") for call in calls(job)):
        assert time.monotonic() < until and running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(120) == 143
    assert "saved" in calls(job)
