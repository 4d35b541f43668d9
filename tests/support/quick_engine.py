"""The engine's own process, except that it looks around twenty times a second: so that a test need not wait."""

from tcoder.models import engine_server

if __name__ == "__main__":
    engine_server.main(tick_s=0.05)
