"""Make docs/images/demo.svg and report.png from a real run: python -m research.make_demo_images (needs chromium)."""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text

from research._page import IMAGES

CHROMIUM = (
    "chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    " --disable-component-update --hide-scrollbars"
).split()


def run_in_terminal(command: list[str], folder: str) -> str:
    """Return what a person sees: the output of a command that believes it talks to a terminal."""
    seen = bytearray()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 4096)
        seen.extend(data)
        return data

    environment = ["env", f"--chdir={folder}", "TERM=xterm-256color", "COLUMNS=86", "LINES=50"]
    pty.spawn([*environment, *command], read)
    return seen.decode().replace("\r\n", "\n")


def main() -> None:
    program = str(Path(sys.executable).with_name("kinfolk"))
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # stages, on standard error, are erased from the screen when they end
        text = run_in_terminal(["sh", "-c", f"{program} demo 2> stages"], folder).replace(folder, "/home/you/kinfolk")
        console = Console(record=True, width=86, file=(Path(folder) / "null").open("w"), force_terminal=True)
        console.print("[bold green]$[/bold green] kinfolk demo")
        console.print(Text.from_ansi(text.strip()))
        svg = console.export_svg(title="kinfolk demo")
        # the fonts of the reader's machine: a picture loads nothing from elsewhere
        (IMAGES / "demo.svg").write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL))
        page = Path(folder) / "kinfolk-demo" / "report.html"
        shot = f"--screenshot={IMAGES / 'report.png'}"
        if shutil.which("chromium") is None:
            sys.exit("chromium is missing: make browser")
        profile = f"--user-data-dir={folder}/profile"
        subprocess.run([*CHROMIUM, profile, "--window-size=1120,1640", shot, page.as_uri()], check=True)
        with Image.open(IMAGES / "report.png") as image:
            image.convert("RGB").quantize(128).save(IMAGES / "report.png", optimize=True)


if __name__ == "__main__":
    main()
