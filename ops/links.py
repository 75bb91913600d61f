"""A part of `make style`: the links of every document, without the internet. A relative link must name a file or folder of the repository, and
the part after # a heading of that document, as GitHub and docs.rs make anchors of headings. Links of rustdoc, such as `crate::Store`, are
checked by `cargo doc`.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+).+?\1")
LINK = re.compile(
    r"""\]\(<?([^()\s<>]+(?:\([^()\s]*\))?)>?(?:\s+"[^"]*")?\)|^\[[^\]^]+\]:\s+<?(\S+?)>?(?:\s+"[^"]*")?$|(?:href|src)="([^"]+)\"""",
    re.MULTILINE,
)
HEADING = re.compile(r"^ {0,3}#{1,6} +(.+?)(?: +#+)? *$", re.MULTILINE)
ANCHOR = re.compile(r"""<a (?:id|name)="([^"]+)">""")
# Those of the internet, and paths of Rust, as rustdoc reads them.
ELSEWHERE = re.compile(r"^(?:[a-z][a-z+.-]*:[^:]|//|(?:\w+@)?[\w:]*::|mod@|macro@|fn@|struct@|trait@)")


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    documents = [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]
    checked, broken = 0, []
    for document in documents:
        for line, link in links(document):
            checked += 1
            if reason := why_broken(document, link):
                broken.append(f"{document.relative_to(ROOT)}:{line}: {link}: {reason}")
    if broken:
        sys.exit("\n".join([*broken, f"{len(broken)} links are broken"]))
    print(f"all {checked} links in {len(documents)} documents are valid")


def links(document):
    """The links of a document that stay in the repository, with their lines."""
    text = without_code(document.read_text())
    for match in LINK.finditer(text):
        link = next(group for group in match.groups() if group)
        if not ELSEWHERE.match(link):
            yield text.count("\n", 0, match.start()) + 1, link


def why_broken(document, link):
    """Why a link leads nowhere, or None."""
    path, _, anchor = link.partition("#")
    target = document
    if path:
        target = (ROOT / path.lstrip("/") if path.startswith("/") else document.parent / unquote(path)).resolve()
    if not target.is_relative_to(ROOT) or not target.exists():
        return "there is no such file"
    if not anchor:
        return None
    if target.suffix != ".md":
        # Lines of a file of code.
        return None if re.fullmatch(r"L\d+(-L\d+)?", anchor) else "only a document has headings"
    return None if unquote(anchor) in anchors(target) else "there is no such heading"


def anchors(document):
    """The anchors that GitHub makes of a document's headings."""
    text = FENCE.sub("", document.read_text())
    found, seen = set(ANCHOR.findall(text)), Counter()
    for heading in HEADING.findall(text):
        # Of a link only its text counts, and of code and emphasis what is inside.
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def without_code(text):
    """A document without code, but with all of its lines."""
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return CODE.sub("", text)


if __name__ == "__main__":
    main()
