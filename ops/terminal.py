"""What a person reads. Nothing else in ops writes to the terminal.

Texts come from messages, logs and AWS, and whoever may send a message chooses what is in them: a terminal must not obey them.
"""

import sys

# In a locale without UTF-8, what it cannot show is escaped, too.
for stream in [sys.stdout, sys.stderr]:
    stream.reconfigure(errors="backslashreplace")


def escaped(text):
    """The text in one line, with what is not a visible character as an escape such as `\\x1b`.

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
    """What the person at the terminal types, or nothing where there is nobody."""
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
