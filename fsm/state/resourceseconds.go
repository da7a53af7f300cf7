package state

import "rmd/yarn"

// ResourceSeconds returns a container's size times the seconds that it was held, up to the given
// time in Unix milliseconds. As in YARN, the time counts from the allocation, and the result is
// rounded down to whole resource-seconds per container. After a size change the time counts from
// that change: changeSize has added the time before it to the application.
func (t *Resizes) ResourceSeconds(c *Container, untilMillis int64) yarn.Resource {
	since := c.AllocatedMillis
	if c.resize != 0 {
		if r := t.Get(c.resize); r.Version > 0 {
			since = r.SinceMillis
		}
	}
	return c.Size.Seconds(untilMillis - since)
}

// ResourceSeconds returns what an application has used over time, per resource kind: memorySeconds
// and vcoreSeconds in YARN's reports. App.ResourceSeconds has the part of ended containers;
// ResourceSeconds adds that of live ones, up to the given time in Unix milliseconds.
func (s *Demand) ResourceSeconds(a *App, nowMillis int64) yarn.Resource {
	total, live := a.ResourceSeconds, a.Live
	for _, c := range s.Containers.Of(a) {
		if live == 0 {
			break
		}
		if c.State.Live() {
			total = total.Add(s.Resizes.ResourceSeconds(c, nowMillis))
			live--
		}
	}
	return total
}
