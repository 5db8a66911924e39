"""The real ``stripe`` SDK behind two small drivers, and the check of an event's signature."""
