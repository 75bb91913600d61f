"""How tests/guide reads a document."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/guide"))

import guide  # noqa: E402


class Blocks(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "README.md")
            path.write_text(text)
            return list(guide.blocks(path))

    def test_files_and_commands(self):
        file, command = self.read("`a.txt`\n\n```\nx\n```\nThen:\n```sh\ncat a.txt\n```\n")
        self.assertEqual((file.file, file.text), ("a.txt", "x\n"))
        self.assertEqual((command.file, command.language), (None, "sh"))

    def test_a_block_that_would_be_overlooked_is_an_error(self):
        for text in ["1. Run:\n   ```sh\n   true\n   ```\n", "~~~sh\ntrue\n~~~\n"]:
            with self.assertRaisesRegex(guide.Broken, "README.md:[12]: a block must begin with ``` at the start of a line"):
                self.read(text)

    def test_the_blocks_of_the_guide_can_be_read(self):
        for path in guide.documents([]):
            self.assertTrue(list(guide.blocks(path)), path)

    def test_a_document_that_is_not_followed_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(guide, "GUIDE", Path(folder)):
            Path(folder, "more.md").write_text("")
            with self.assertRaisesRegex(guide.Broken, "this test does not follow more.md: name it"):
                guide.documents([])

    def test_the_folder_of_the_repository_may_have_a_space_in_its_name(self):
        repository = "git clone https://example.com/x "
        with mock.patch.object(guide.tomllib, "loads") as loads, mock.patch.object(guide, "ROOT", mock.MagicMock()) as root:
            loads.return_value = {"workspace": {"package": {"repository": "https://example.com/x"}}}
            root.__str__.return_value = "/a b"
            self.assertEqual(guide.cloned_by_a_link(f"{repository}kit"), "ln -s '/a b' kit")


if __name__ == "__main__":
    unittest.main()
