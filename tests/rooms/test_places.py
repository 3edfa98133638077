"""The folders of rooms, where several are taken and swept at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from donewhen.workspace.rooms.places import RoomFolder, sweep
from tests.rooms.conftest import remains


def test_a_sweep_never_takes_a_folder_that_is_being_made(tmp_path: Path) -> None:
    rooms = tmp_path / "rooms"

    def taken(_: int) -> bool:
        place = RoomFolder(rooms)
        sweep(rooms)
        (place.folder / "layer").mkdir()
        sweep(rooms)
        stands = (place.folder / "layer").is_dir()
        place.close()
        return stands

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(taken, range(400)))
    assert remains(rooms) == []


def test_what_a_crash_left_is_removed_by_the_next_room_and_so_is_what_was_only_put_aside(tmp_path: Path) -> None:
    for name in ("crashed", "aside.gone"):
        (tmp_path / name / "layer").mkdir(parents=True)
    (tmp_path / "crashed.lock").touch()
    RoomFolder(tmp_path).close()
    assert remains(tmp_path) == []


def test_a_room_closes_though_its_folder_was_moved_away(tmp_path: Path) -> None:
    room = RoomFolder(tmp_path / "state" / "rooms")
    (tmp_path / "state").rename(tmp_path / "moved")
    room.close()
    assert not (tmp_path / "state").exists()
    sweep(tmp_path / "moved" / "rooms")
    assert remains(tmp_path / "moved" / "rooms") == []
