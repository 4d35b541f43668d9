"""The front end without a screen: for scripts, CI and pipes."""

from tcoder.frontends.headless.runner import run as run
