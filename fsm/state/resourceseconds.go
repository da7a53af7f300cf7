package state

import "rmd/yarn"

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
