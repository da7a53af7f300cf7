package state

import "rmd/yarn"

// spentOf is what a container amounts to when it is held until a time: as YARN
// counts it, from its grant to its end, each container rounded down to whole
// resource-seconds by itself.
// What it used at a size that it had before is settled.
func (s *State) spentOf(c *Container, untilMillis int64) yarn.Resource {
	since := c.AllocatedMillis
	if c.resize != 0 {
		if r := s.Resizes.Get(c.resize); r.Version > 0 {
			since = r.SinceMillis
		}
	}
	return c.Size.Seconds(untilMillis - since)
}

// Spent is what an application has used over time, in resource-seconds of each
// kind: the memorySeconds and vcoreSeconds of YARN's reports. Containers that
// have ended are in the record; those that have not are added up to the time
// given, in Unix milliseconds, by a walk over them.
func (s *State) ResourceSeconds(a *App, nowMillis int64) yarn.Resource {
	total, live := a.ResourceSeconds, a.Live
	for slot := a.Containers; slot != 0 && live > 0; {
		c := s.Containers.Get(slot)
		if c.State.Live() {
			total = total.Add(s.spentOf(c, nowMillis))
			live--
		}
		slot = c.nextApp
	}
	return total
}
