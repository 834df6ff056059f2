"""recombine: does your model compose, where does it fail, and why?"""

__version__ = "0.1.0"
