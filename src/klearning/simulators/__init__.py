"""An agent meets somebody's simulator, and our worlds as simulators."""
