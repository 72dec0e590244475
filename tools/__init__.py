"""What is made of the documentation: the pictures of concepts, the API reference, the site."""
