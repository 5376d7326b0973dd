"""What is written about pitot agrees with what pitot does: manual pages, help, completions, metrics, doctor."""

import json
import os
import re
import shutil
import subprocess

import pytest

from harness import OK, ROOT, USAGE, is_root, read_text

ONLY_SHORT_HELP = ["completion"]  # explained in the overview, without a page of its own
SHELLS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


def commands_of(pitot):
    """Every command that the short help lists, but for those without a page."""
    names = re.findall(r"^  ([a-z]+)\b", pitot("-h", status=OK).out, re.M)
    assert {"run", "report", "history", "doctor", "init", "metrics"} <= set(names)
    return [name for name in names if name not in ONLY_SHORT_HELP]


def options_of_help(text):
    """{long name: short letter or None} as -h lists them."""
    found = re.findall(r"^  (?:-(\w), |    )--([a-z][a-z-]*)", text, re.M)
    return {name: letter or None for letter, name in found if name != "help"}


def options_of_page(text):
    """The same as the manual page's source tags them: .It Fl o , Fl -output Ar file, or .It Fl o , -output Ar file"""
    options = {}
    for line in re.findall(r"^\.It (Fl .*)", text, re.M):
        letter = None
        for name in re.findall(r"(?:\bFl|,) (-[a-z][a-z-]*|\w)(?=\s|$)", line):
            if not name.startswith("-"):
                letter = name
            elif name != "-help":
                options[name[1:]], letter = letter, None
    return options


def test_the_manual_pages_and_the_option_tables_name_the_same_options(pitot):
    for command in commands_of(pitot):
        table = options_of_help(pitot(command, "-h", status=OK).out)
        page = options_of_page(read_text(os.path.join(ROOT, f"docs/man/pitot-{command}.1")))
        assert (table or command == "span") and page == table, command  # span has none


def test_help_prints_the_manual_page(pitot):
    for command in commands_of(pitot):
        text = pitot(command, "--help", status=OK).out
        assert f"pitot {command}" in text or f"pitot-{command}" in text
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES"):
            assert heading in text.splitlines(), command
    assert "completion" in pitot("completion", "--help", status=OK).out


def test_every_command_stands_in_the_overview_and_every_page_in_the_tree(pitot):
    listed = pitot("--help", status=OK).out
    for command in [*commands_of(pitot), *ONLY_SHORT_HELP]:
        assert re.search(rf"^\s+{command}\b", listed, re.M), command
    for page in os.listdir(os.path.join(ROOT, "docs/man")):
        for name, section in re.findall(r"^\.Xr (pitot\S*) (\d)", read_text(os.path.join(ROOT, "docs/man", page)), re.M):
            assert os.path.exists(os.path.join(ROOT, f"docs/man/{name}.{section}")), f"{page} refers to {name}({section})"


def test_every_key_of_a_pipeline_stands_in_its_manual_page():
    page = read_text(os.path.join(ROOT, "docs/man/pitot-pipeline.5"))
    keys = set()
    for name in ("pipeline", "stage", "profile", "quality_spec", "overlay_spec"):
        source = read_text(os.path.join(ROOT, f"src/config/{name}.c"))
        keys.update(re.findall(r'\{"([a-z_]+)", (?:read|load|refuse)_', source))
    assert {"stages", "needs", "survivors", "absolute", "pointer", "interval"} <= keys
    missing = [key for key in sorted(keys) if not re.search(rf"\b{key}\b", page)]
    assert not missing


@pytest.mark.parametrize("shell", SHELLS)
def test_completions_are_valid_shell(pitot, shell):
    text = pitot("completion", shell, status=OK).out
    for command in commands_of(pitot):
        assert command in text
    for name in options_of_help(pitot("run", "-h").out):
        assert name in text, f"--{name} is not completed"
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([program, *SHELLS[shell][1:]], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_commands_and_options(pitot):
    script = pitot("completion", "bash", status=OK).out + """
    ask() {
        COMP_WORDS=(pitot "$@") COMP_CWORD=$# COMPREPLY=()
        COMP_LINE="pitot $*" COMP_POINT=${#COMP_LINE}
        "$(complete -p pitot | sed 's/.*-F \\([^ ]*\\).*/\\1/')" pitot "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s ' "${COMPREPLY[@]}"; echo
    }
    ask re; ask run --no-cg; ask report --verb
    """
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split() for line in answer] == [["report"], ["--no-cgroup"], ["--verbose"]]


def test_metrics_documentation_is_what_the_registry_says(pitot):
    assert pitot("metrics", "--format", "md", status=OK).out == read_text(os.path.join(ROOT, "docs/metrics.md"))


def test_all_formats_of_metrics_name_every_metric(pitot):
    rows = json.loads(pitot("metrics", "--format", "json", status=OK).out)
    assert len(rows) > 50 and len({row["name"] for row in rows}) == len(rows)
    term = pitot("metrics", status=OK).out
    for row in rows:
        assert row["name"] in term and row["unit"] and row["meaning"]


def test_doctor_lists_every_source_with_reason_and_fix(pitot):
    rows = json.loads(pitot("doctor", "--json", status=OK).out)
    names = [row["name"] for row in rows]
    wanted = ["cgroup", "exit records", "process I/O", "system", "psi", "rapl", "rapl_perf", "nvml", "nvidia_smi", "amdgpu", "pmu", "pss"]
    assert set(wanted) <= set(names) and len(set(names)) == len(names)
    for row in rows:
        assert row["what"] and isinstance(row["available"], bool) and "fix" in row
        assert row["source"] if row["available"] else row["reason"]
    text = pitot("doctor", status=OK).out
    for row in rows:
        assert row["name"] in text


def test_doctor_tells_a_normal_user_the_exact_command(pitot):
    if not is_root():
        pytest.skip("needs root, to become somebody without rights")
    os.chmod(pitot.folder, 0o755)
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
    rows = {row["name"]: row for row in json.loads(pitot("doctor", "--json", prefix=prefix, status=OK).out)}
    for name in ("cgroup", "exit records"):
        assert not rows[name]["available"] and rows[name]["reason"]
    assert "systemd-run" in rows["cgroup"]["fix"] and "setcap" in rows["exit records"]["fix"]
    text = pitot("doctor", prefix=prefix, status=OK).out
    assert rows["exit records"]["fix"].split("  ")[0] in text


def test_wrong_usage_is_64_and_says_what_was_meant(pitot):
    for args, meant in (
        (["rnu"], "run"),
        (["run", "--reapet", "3", "--", "true"], "repeat"),
        (["report", "--format", "jsn"], "json"),
        (["run", "--jobs", "x", "--", "true"], "jobs"),
        (["run", "--"], "command"),
    ):
        finished = pitot(*args, status=USAGE)
        assert meant in finished.err and not finished.out
