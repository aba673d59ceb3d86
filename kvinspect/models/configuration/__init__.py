"""What the configuration of a release refuses before any layer is made, a module for each part of it."""
