"""Line mode: a prompt and lines that are only ever added, for dumb terminals, screen readers and pipes."""

from tcoder.frontends.plain.start import run as run
