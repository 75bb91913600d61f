"""The output for people. Nothing else in ops writes to the terminal.

Texts come from messages, logs and AWS. Senders of messages choose their content, so it must not control the terminal.
"""

import json
import sys

# In a locale without UTF-8, characters that it cannot show are escaped too.
for stream in [sys.stdout, sys.stderr]:
    stream.reconfigure(errors="backslashreplace")


def escaped(text):
    """The text in one line, with every character that is not visible as an escape such as `\\x1b`.

    That is: control characters of both sets, DEL, line ends, marks of direction, characters without width, half surrogates.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def say(text=""):
    """Shows one line."""
    print(escaped(text), flush=True)


def stop(text):
    """Ends the program, with the reason in one or more lines."""
    sys.exit("\n".join(escaped(line) for line in str(text).split("\n")))


def typed(question):
    """The input of the person at the terminal, or nothing if there is none."""
    try:
        return input(escaped(question) + " ").strip()
    except EOFError:
        return ""


def count(number, noun):
    """`1 message`, `2 messages`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def series(names):
    """`a`, `a and b`, `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def grouped(number):
    """`1,234,567`."""
    return f"{number:,}"


def amount(number):
    """A number of bytes: `999 bytes`, `1.5 GB`."""
    for unit, size in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)]:
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"


def duration(seconds):
    """The largest two units: `2 h 5 min`, `40 s`."""
    units = [("d", seconds // 86400), ("h", seconds // 3600 % 24), ("min", seconds // 60 % 60), ("s", seconds % 60)]
    first = next((n for n, (_, number) in enumerate(units) if number), 3)
    return " ".join(f"{number} {unit}" for unit, number in units[first : first + 2])


class Status:
    """One line on standard error that is rewritten, if it is a terminal; otherwise a line of JSON each time."""

    def __init__(self):
        self.is_terminal = sys.stderr.isatty()
        self.is_shown = False

    def show(self, text, **members):
        """Shows the text, or its members."""
        self.write(f"\r\x1b[2K{escaped(text)}" if self.is_terminal else f"{json.dumps(members)}\n")
        self.is_shown = self.is_terminal

    def tell(self, message, **members):
        """Shows a message on a line of its own."""
        self.end()
        self.write(
            f"{escaped(message)}\n" if self.is_terminal else f"{json.dumps({'level': 'INFO', 'message': message} | members)}\n"
        )

    def end(self):
        """Ends the line, so that the following output starts on a new one."""
        if self.is_shown:
            self.write("\n")
        self.is_shown = False

    def write(self, text):
        sys.stderr.write(text)
        sys.stderr.flush()
