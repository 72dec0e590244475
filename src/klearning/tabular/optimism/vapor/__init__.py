"""VAPOR: the occupancy that is best on optimistic rewards."""
