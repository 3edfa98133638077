"""Rooms (`ports.Rooms`): `overlay` mounts one at the workspace's own path, `copying` makes a copy in another folder.

`choosing` takes the best that works here, `mounting` says what is mounted and by which program, `home` what of the
person's folder is seen, `places` keeps each room's folder and removes what crashes left, `layers` writes the files that
differ. `live` holds rooms for what workers run (`ports.LiveRooms`), within `limits`.
"""
