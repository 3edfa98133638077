"""Rooms: `opening` is the one way into one, by its specification (`showing.RoomSpec`), and `mounting` has the programs
that mount it.

`live` holds rooms for what workers run (`ports.LiveRooms`), `trials` those in which checks are tried (`ports.Rooms`),
or copies where none can be mounted (`copying`). `showing` says what is mounted, `home` which parts of the person's
folder are visible, `guarding` what in the workspace nobody changes, `limits` what commands may take; `places` keeps
each room's folder and removes remains of crashes, `layers` writes the files that differ.
"""
