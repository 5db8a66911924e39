"""The institution's own pages: its code, its places, its people."""

from counterfoil.service.pages.portal import addresses, entrance, people, places

#: The routers of all of them: those before the door, and those behind it.
portal = (entrance.entrance, addresses.pages, places.home, places.pages, people.pages)
