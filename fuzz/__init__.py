"""Try hostile inputs on everything that reads: see README.md."""
