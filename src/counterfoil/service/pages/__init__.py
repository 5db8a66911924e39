"""Pages for people: plain forms that work without script; a script only saves a reload."""
