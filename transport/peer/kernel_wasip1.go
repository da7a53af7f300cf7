package peer

// setUserTimeout has no kernel to ask: the simulation, which is all that is built
// for wasip1, has its own network.
func setUserTimeout(uintptr) {}
