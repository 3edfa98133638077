#!/bin/sh
# Draws media/icon.png from media/icon.svg, with any Chromium.
set -eu
cd "$(dirname "$0")/../media"
exec "${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --default-background-color=00000000 \
  --force-device-scale-factor=1 --window-size=256,256 --screenshot=icon.png "file://$PWD/icon.svg"
