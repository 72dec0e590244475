"""Bytes: files that are whole, memories taken apart, things as plain data."""
