"""Which text of an editor is a person's unsaved work (A20)."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from donewhen.lsp.documents import MAX_BYTES, OpenDocuments, Texts, Unsaved


class Client:
    """An editor with one file, and what the server knows of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.documents = OpenDocuments(None)
        texts = Texts(lambda: self.documents)
        self.unsaved = Unsaved(texts)
        texts.named(path.as_uri())

    def open(self, text: str | None = None) -> None:
        text = self.path.read_text(encoding="utf-8") if text is None else text
        self.documents.put_text_document(types.TextDocumentItem(self.path.as_uri(), types.LanguageKind.Python, 1, text))
        self.unsaved.note_opened(self.path, text)

    def edit(self, text: str) -> None:
        named = types.VersionedTextDocumentIdentifier(2, self.path.as_uri())
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.documents.update_text_document(named, change)

    def save(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")
        self.unsaved.saved(self.path, text)

    def close(self) -> None:
        self.documents.remove_text_document(self.path.as_uri())
        self.unsaved.closed(self.path)

    @property
    def text(self) -> str | None:
        return self.unsaved.unsaved_text(self.path)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    path = tmp_path / "a.py"
    path.write_text("saved\n", encoding="utf-8")
    return Client(path)


@pytest.mark.conformance("A20")
def test_a_persons_edit_is_unsaved_until_it_is_saved_or_dropped(client: Client) -> None:
    assert client.text is None
    client.open()
    assert client.text is None
    client.edit("typed\n")
    assert client.text == "typed\n"
    client.edit("saved\n")
    assert client.text is None
    client.edit("typed\n")
    client.save("typed\n")
    assert client.text is None
    client.edit("more\n")
    client.close()
    assert client.text is None


@pytest.mark.conformance("A20")
def test_an_editor_that_hasnt_read_the_file_again_holds_nobodys_work(client: Client) -> None:
    client.open()
    client.path.write_text("by the worker\n")
    assert client.text is None
    client.edit("by the worker\n")  # the editor reads it again
    assert client.text is None
    client.path.write_text("by the worker, again\n")
    assert client.text is None
    client.edit("by the worker\nand the person\n")
    assert client.text == "by the worker\nand the person\n"


def test_text_of_an_earlier_session_is_unsaved_too(client: Client) -> None:
    client.open("kept by the editor\n")
    assert client.text == "kept by the editor\n"


def test_a_file_that_isnt_there_yet_is_unsaved(client: Client) -> None:
    client.path.unlink()
    client.open("new\n")
    assert client.text == "new\n"


def test_a_file_that_was_deleted_is_no_reason_to_think_so(client: Client) -> None:
    client.open()
    client.path.unlink()
    assert client.text is None


@pytest.mark.parametrize(
    ("disk", "shown"),
    [
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        ("café\n".encode("latin-1"), "café\n"),
        (b"x" * (MAX_BYTES + 1), "x"),
    ],
    ids=["line ends", "byte-order mark", "another encoding", "large"],
)
def test_how_a_file_is_stored_makes_no_difference(disk: bytes, shown: str, client: Client) -> None:
    client.path.write_bytes(disk)
    client.open(shown)
    assert client.text is None
    client.edit("typed")
    assert client.text == "typed"
