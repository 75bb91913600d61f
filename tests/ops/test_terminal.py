"""Displayed text cannot control the terminal."""

import ast
import sys
import unicodedata
import unittest
from pathlib import Path

from terminal import escaped, series

OPS = Path(__file__).resolve().parents[2] / "ops"

# These programs print nothing that comes from messages, logs or AWS: the output of the first two is only for the program that starts
# them, and the others are developers' checks of this repository.
OTHERS = ["terminal.py", "invoke.py", "check.py", "links.py", "mutants.py"]


class Series(unittest.TestCase):
    def test_is_readable_text(self):
        for names, expected in [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]:
            self.assertEqual(series(names), expected)


class Escaped(unittest.TestCase):
    def test_visible_characters_are_unchanged(self):
        for text in ["", "OrderCreated 0000019ca9450a07-0242ac1200080001", "Crème brûlée, 麻婆豆腐, 🍕", '{"a":"\\u001b"}']:
            self.assertEqual(escaped(text), text)

    def test_control_characters_become_escapes(self):
        for text, expected in [
            ("\x1b[2J", "\\x1b[2J"),  # Clears the screen.
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),  # Sets the window's title.
            ("\x9b2J", "\\x9b2J"),  # The same as a C1 control character.
            ("a\rb\nc\x08\x7f\0", "a\\rb\\nc\\x08\\x7f\\x00"),
            ("\u202egnp.exe", "\\u202egnp.exe"),  # Changes the direction of the following text.
            ("\u2066\u2069\u200f\u061c", "\\u2066\\u2069\\u200f\\u061c"),
            ("a\u200bb\ufeff\u2028", "a\\u200bb\\ufeff\\u2028"),
            ("\ud800", "\\ud800"),
            ("\U000e0041", "\\U000e0041"),  # A tag character, which is invisible.
        ]:
            with self.subTest(expected):
                self.assertEqual(escaped(text), expected)

    def test_no_character_of_a_dangerous_category_is_left(self):
        for number in range(sys.maxunicode + 1):
            for character in escaped(chr(number)):
                self.assertNotIn(unicodedata.category(character), ["Cc", "Cf", "Cs", "Zl", "Zp"], hex(number))

    def test_values_that_are_not_text_are_converted(self):
        self.assertEqual(escaped(None), "None")
        self.assertEqual(escaped(b"\x1b"), "b'\\x1b'")


class EveryLine(unittest.TestCase):
    def test_all_output_uses_the_escaping_function(self):
        programs = [path for path in OPS.glob("*.py") if path.name not in OTHERS]
        self.assertGreater(len(programs), 5)
        for path in programs:
            for call in [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]:
                name = ast.unparse(call.func)
                with self.subTest(f"{path.name} {call.lineno}"):
                    self.assertNotIn(name, ["print", "input", "sys.stdout.write", "sys.stderr.write"])
                    # With a number, it prints nothing.
                    if name == "sys.exit":
                        self.assertIn(ast.unparse(call.args[0]), ["130", "code", "program.returncode"])


if __name__ == "__main__":
    unittest.main()
