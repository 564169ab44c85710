"""What the tools of healthy nodes print, and the system files that go with it."""
