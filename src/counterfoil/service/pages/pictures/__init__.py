"""
Pictures of what is true: where the lines go, as numbers and words. The templates of pictures/ draw them as SVG.

Each is drawn twice, for a desk and for a phone, so that its words are readable on both; the style sheet shows one.
"""

from counterfoil.service.pages.pictures.area import OccupancyPicture, occupancy_picture
from counterfoil.service.pages.pictures.bars import TimelinePicture, length_of, timeline_picture

__all__ = ["OccupancyPicture", "TimelinePicture", "length_of", "occupancy_picture", "timeline_picture"]
