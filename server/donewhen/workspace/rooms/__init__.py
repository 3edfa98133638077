"""Rooms (`ports.Rooms`): `overlay` mounts one at the workspace's own path, `copying` makes a copy in another folder.

`choosing` takes the best kind that works here, `mounting` says what is mounted and by which program, `home` which parts
of the person's folder are visible, `places` keeps each room's folder and removes remains of crashes, `layers` writes
the files that differ. `live` holds rooms for what workers run (`ports.LiveRooms`), within `limits`.
"""
