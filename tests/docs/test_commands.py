"""Every command that the documentation shows is run, file by file from top to bottom, in a copy of the project.

Looked at are fenced blocks marked sh or console in all *.md files of the project's root and of docs/. In a console block a
command begins with "$ " and what follows it is output; in an sh block every line is a command. Run are those that begin
with pitot, ./something, sqlite3 or cd, and those of the TOOLS that are installed; a line that ends with a backslash goes on.
Each has to end with status 0. ./check, which runs this test, is asked for its list only.

A comment on the line before the block, which readers of the page do not see, changes that:

    <!-- no-test: reason -->    the block is not run; the reason is printed as a skip
    <!-- exit: 1 -->            the last command of the block ends with this status
    <!-- setup: command -->     run before the block, to make what a reader would have
    <!-- budget: 10s -->        what a `pitot compare` of the block may take here; a reader has more time
"""

import glob
import os
import re
import shlex
import shutil
import subprocess

import pytest

from harness import BUILD, LIMIT_S, ROOT, Pitot

FENCE = re.compile(r"^```(\w*)\s*$")
MARK = re.compile(r"^<!-- (no-test|exit|setup|budget): (.*?) -->\s*$")
RUN = re.compile(r"^(pitot|sqlite3|cd|\./\S+)(\s|$)")
TOOLS = ("go", "callgrind_annotate")  # readers of exports


class Block:
    def __init__(self, line, marks):
        self.line = line
        self.marks = marks
        self.commands = []

    def add(self, language, line):
        if language == "console":
            line = line[2:] if line.startswith("$ ") else "" if not self.goes_on() else line.removeprefix("> ")
        if self.goes_on():
            self.commands[-1] = self.commands[-1][:-1] + line
        elif RUN.match(line) or self.is_tool(line):
            self.commands.append(line)

    @staticmethod
    def is_tool(line):
        name = line.split(" ", 1)[0]
        return name in TOOLS and shutil.which(name) is not None

    def goes_on(self):
        return bool(self.commands) and self.commands[-1].endswith("\\")


def blocks_of(path):
    """The blocks with a command that is to be run."""
    found, marks, language, block = [], {}, None, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            fence, mark = FENCE.match(line), MARK.match(line)
            if language is None and mark:
                marks[mark[1]] = mark[2]
            elif language is None and fence:
                language, block = fence[1] or "text", Block(number, marks)
            elif fence:
                if block.commands:
                    found.append(block)
                language, marks = None, {}
            elif language in ("sh", "console"):
                block.add(language, line)
            elif language is None and line:
                marks = {}
    return found


FILES = sorted(glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))
PAGES = {os.path.relpath(path, ROOT): blocks_of(path) for path in FILES}
RUNNABLE = [page for page, blocks in PAGES.items() if any("no-test" not in block.marks for block in blocks)]
UNTESTED = [
    pytest.param(block.marks["no-test"], id=f"{page}:{block.line}")
    for page, blocks in PAGES.items()
    for block in blocks
    if "no-test" in block.marks
]


def copy_project(target):
    """What git knows, and the build."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:
        # An unpacked archive has no list; builds are left out by their name.
        names = [
            os.path.relpath(path, ROOT)
            for path in glob.glob(os.path.join(ROOT, "**"), recursive=True)
            if os.path.isfile(path) and not os.path.relpath(path, ROOT).startswith("build")
        ]
    for name in names:
        path = os.path.join(ROOT, name)
        if os.path.isfile(path):
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copy2(path, os.path.join(target, name))
    # With its objects, so that ./demo has nothing left to build; without what tests and demos have made.
    unwanted = shutil.ignore_patterns("check", "demo", "unit", "fuzz", "cppcheck")
    shutil.copytree(BUILD, os.path.join(target, "build"), ignore=unwanted, copy_function=shutil.copy2)


@pytest.mark.parametrize("page", RUNNABLE)
def test_the_commands_of_a_page_work(page):
    pitot = Pitot()
    try:
        project = pitot.path("project")
        copy_project(project)
        env = dict(pitot.env, PATH=os.path.join(project, "build") + ":" + pitot.env["PATH"], ROOT=project)
        folder = project
        for block in PAGES[page]:
            if "no-test" in block.marks:
                continue
            for command in [block.marks["setup"]] if "setup" in block.marks else []:
                subprocess.run(["sh", "-c", command], cwd=folder, env=env, check=True, timeout=LIMIT_S)
            for number, command in enumerate(block.commands):
                last = number == len(block.commands) - 1
                if "budget" in block.marks and command.startswith("pitot compare "):
                    command += f" --budget {block.marks['budget']}"
                folder = run_command(command, folder, env, f"{page}:{block.line}", int(block.marks.get("exit", 0)) if last else 0)
    finally:
        pitot.close()


def run_command(command, folder, env, place, wanted):
    """Returns the folder to go on in."""
    words = shlex.split(command, comments=True)
    if words[0] == "cd":
        return os.path.join(folder, words[1])
    if words[0] == "./check":
        command = "./check --list"
    finished = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert finished.returncode == wanted, f"{place}: {command}\n{finished.returncode}\n{finished.stdout}{finished.stderr}"
    return folder


if UNTESTED:

    @pytest.mark.parametrize("reason", UNTESTED)
    def test_a_command_that_is_not_run_has_a_reason(reason):
        assert reason.strip()
        pytest.skip(reason)


def test_commands_are_found_in_every_kind_of_block(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        """
text pitot run
```sh
pitot init   # comment
other command
pitot run \\
  --quiet
```
<!-- exit: 1 -->
<!-- setup: touch x -->

```console
$ pitot report
pitot says this
$ ./demo
```
<!-- no-test: takes a day -->
```sh
pitot serve
```
<!-- no-test: not for the next block -->
words between
```sh
pitot doctor
```
```yaml
pitot: no command
```
""",
        encoding="utf-8",
    )
    blocks = blocks_of(page)
    assert [block.commands for block in blocks] == [
        ["pitot init   # comment", "pitot run   --quiet"],
        ["pitot report", "./demo"],
        ["pitot serve"],
        ["pitot doctor"],
    ]
    assert [block.marks for block in blocks] == [
        {},
        {"exit": "1", "setup": "touch x"},
        {"no-test": "takes a day"},
        {},
    ]


def test_relative_links_of_the_pages_lead_somewhere():
    broken = []
    for path in FILES:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if not re.match(r"[a-z]+:", target) and not os.path.exists(os.path.join(os.path.dirname(path), target)):
                broken.append(f"{os.path.relpath(path, ROOT)}: {target}")
    assert not broken
