"""What an import reads: a file, the files of a folder, the members of a zip. No file is ever written."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from django.conf import settings

from core.errors import TooLargeError
from core.words import gettext as _
from memory.transfer.json_stream import BrokenFileError

ZIP_START: Final = b"PK\x03\x04"
HEAD_BYTES: Final = 64 * 1024
# The files of data exports that hold memories or conversations; everything else in them is passed over unread.
_EXPORTED: Final = re.compile(r"(?:conversations(?:-\d+)?|memories|memory)\.json|memories/[^/]+\.json", re.ASCII)
_ANY_TABLE: Final = re.compile(r"[^/]+\.(?:json|jsonl|ndjson|csv)", re.ASCII)
MAX_MEMBERS: Final = 20_000
# Of the list of members: so many, of names as long as they are in exports.
MAX_DIRECTORY_BYTES: Final = 8 * 1024 * 1024
_MEMBER_START: Final = b"PK\x01\x02"
# Every one that is read has the whole list of members read anew.
MAX_READ_MEMBERS: Final = 100
UNREADABLE: Final = _("The zip is damaged, encrypted, or packed in a way that can't be read")
TOO_LARGE_INSIDE: Final = _("The zip holds more than an import may have; see MAX_IMPORT_BYTES")


@dataclass(frozen=True, slots=True)
class Document:
    """One file, or one member of a zip. `name` is shown to people and tells the kinds of an export's files apart."""

    path: Path
    name: str
    member: str | None = None

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open it for reading; a member of a zip gives no more bytes than an import may have."""
        if self.member is None:
            with self.path.open("rb") as file:
                yield file
            return
        with _open_zip(self.path) as archive:
            try:
                member = archive.open(self.member)
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError):
                raise BrokenFileError(UNREADABLE) from None
            with member:
                yield io.BufferedReader(_Bounded(member, settings.MAX_IMPORT_BYTES))

    def read_head(self) -> bytes:
        """The first HEAD_BYTES."""
        with self.open() as file:
            return file.read(HEAD_BYTES)


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than so many bytes: what a zip says of its sizes need not be true."""

    def __init__(self, stream: IO[bytes], max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        try:
            read = self._stream.read(len(view))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError):
            raise BrokenFileError(_("The zip is damaged")) from None
        self._left -= len(read)
        if self._left < 0:
            raise TooLargeError(TOO_LARGE_INSIDE)
        view[: len(read)] = read
        return len(read)


class _ZipFile(io.BufferedReader):
    """A zip whose list of members is bounded while `is_opening`: `zipfile` reads it in one go, as long as it is said to
    be, and makes an object of each entry. How many entries it is said to have tells nothing."""

    is_opening = True

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.is_opening:
            return super().read(size)
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise _refuse_members()
        data = super().read(size)
        if data.count(_MEMBER_START) > MAX_MEMBERS:
            raise _refuse_members()
        return data


def list_documents(path: Path) -> list[Document]:
    """Return what there is to read at `path`, in a fixed order; BrokenFileError when there is nothing."""
    if path.is_dir():
        documents = _list_folder(path)
        if not documents:
            raise BrokenFileError(_("The folder holds no conversations.json, memories.json or zip of an export"))
        return documents
    if path.stat().st_size > settings.MAX_IMPORT_BYTES:
        told = _("The file is larger than %(bytes)d bytes; see MAX_IMPORT_BYTES")
        raise TooLargeError(told % {"bytes": settings.MAX_IMPORT_BYTES})
    with path.open("rb") as file:
        is_zip = file.read(len(ZIP_START)) == ZIP_START
    if not is_zip:
        return [Document(path, path.name)]
    documents = _list_zip(path)
    if not documents:
        raise BrokenFileError(_("The zip holds no conversations.json, memories.json, JSON, JSONL or CSV file"))
    return documents


def _list_folder(folder: Path) -> list[Document]:
    documents: list[Document] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or path.is_symlink():
            continue
        if path.suffix == ".zip":
            documents += _list_zip(path)
        elif _EXPORTED.fullmatch(name) or _EXPORTED.fullmatch(path.name):
            documents.append(Document(path, name))
    return documents


def _list_zip(path: Path) -> list[Document]:
    with _open_zip(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist() if not info.is_dir()}
    exported = [name for name in sizes if _is_exported(name)]
    if not exported:
        tables = [name for name in sizes if _ANY_TABLE.fullmatch(name)]
        exported = tables if len(tables) == 1 else []
    if len(exported) > MAX_READ_MEMBERS:
        raise TooLargeError(_("The zip holds more than %(count)d files to import") % {"count": MAX_READ_MEMBERS})
    # A member gives no more than it says of itself, so this bounds them all together.
    if sum(sizes[name] for name in exported) > settings.MAX_IMPORT_BYTES:
        raise TooLargeError(TOO_LARGE_INSIDE)
    return [Document(path, name, name) for name in sorted(exported)]


def _is_exported(name: str) -> bool:
    """Also below the one folder that some programs put everything into."""
    return bool(_EXPORTED.fullmatch(name) or _EXPORTED.fullmatch(name.partition("/")[2]))


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    with ExitStack() as opened:
        try:
            file = opened.enter_context(_ZipFile(io.FileIO(path)))
            archive = opened.enter_context(zipfile.ZipFile(file))
        except NotImplementedError:
            raise BrokenFileError(UNREADABLE) from None
        except (zipfile.BadZipFile, OSError, ValueError):
            raise BrokenFileError(_("The zip is damaged")) from None
        file.is_opening = False
        yield archive


def _refuse_members() -> TooLargeError:
    told = _("The zip lists more than %(count)s files, or very long names; pack only the files to import")
    return TooLargeError(told % {"count": f"{MAX_MEMBERS:,}"})
