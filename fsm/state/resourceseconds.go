package state

import "rmd/yarn"

// ResourceSecondsOf is a container's size times the time that it was held, up to a given
// time. As in YARN, it counts from the allocation to the end, and each container is
// rounded down to whole resource-seconds by itself. After a change of size it counts from
// that change: changeSize has added what came before to the application.
func (s *State) ResourceSecondsOf(c *Container, untilMillis int64) yarn.Resource {
	since := c.AllocatedMillis
	if c.resize != 0 {
		if r := s.Resizes.Get(c.resize); r.Version > 0 {
			since = r.SinceMillis
		}
	}
	return c.Size.Seconds(untilMillis - since)
}

// ResourceSeconds is what an application has used over time, for each kind of resource:
// memorySeconds and vcoreSeconds in YARN's reports. App.ResourceSeconds has the containers
// that have ended; the live ones are added here, up to a time in Unix milliseconds.
func (s *State) ResourceSeconds(a *App, nowMillis int64) yarn.Resource {
	total, live := a.ResourceSeconds, a.Live
	for _, c := range s.ContainersOf(a) {
		if live == 0 {
			break
		}
		if c.State.Live() {
			total = total.Add(s.ResourceSecondsOf(c, nowMillis))
			live--
		}
	}
	return total
}
