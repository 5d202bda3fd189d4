"""`python -m redlane.proxy`: what the daemon starts."""

from redlane.proxy.main import main

if __name__ == "__main__":
    main()
