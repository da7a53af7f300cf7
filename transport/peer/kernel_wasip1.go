package peer

// setUserTimeout does nothing. Only the simulation is built for wasip1, and it has its own network.
func setUserTimeout(uintptr) {}
