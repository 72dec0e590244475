"""An agent meets a world of ours."""
