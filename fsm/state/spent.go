package state

import "rmd/yarn"

// spent is what a container amounts to when it is held until a time: as YARN
// counts it, from its grant to its end, each container rounded down to whole
// resource-seconds by itself.
func (c *Container) spent(untilMillis int64) yarn.Resource {
	return c.Size.Seconds(untilMillis - c.AllocatedMillis)
}

// Spent is what an application has used over time, in resource-seconds of each
// kind: the memorySeconds and vcoreSeconds of YARN's reports. Containers that
// have ended are in the record; those that have not are added up to the time
// given, in Unix milliseconds, by a walk over them.
func (s *State) Spent(a *App, nowMillis int64) yarn.Resource {
	total, live := a.Spent, a.Live
	for slot := a.Containers; slot != 0 && live > 0; {
		c := s.Containers.Get(slot)
		if c.State.Live() {
			total = total.AddCapped(c.spent(nowMillis))
			live--
		}
		slot = c.nextApp
	}
	return total
}
