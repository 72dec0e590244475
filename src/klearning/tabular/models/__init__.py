"""An MDP and the sweeps over one."""
