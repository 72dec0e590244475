"""Tools for the documentation: the pictures of concepts, the API reference, the site."""
