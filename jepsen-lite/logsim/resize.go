package logsim

import (
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Containers that change their size: how AMs and nodes go about it.

// updates asks now and then for a container to grow or to shrink, by the version
// that the AM knows of it.
func (m *master) updates() []input.Update {
	if len(m.held) == 0 || m.w.rng.IntN(6) > 0 {
		return nil
	}
	h := m.held[m.w.rng.IntN(len(m.held))]
	u := input.Update{Container: h.id, Version: h.version, Type: input.IncreaseResource, Size: m.w.size(8)}
	if m.w.rng.IntN(3) == 0 {
		u.Type = input.DecreaseResource
	}
	return []input.Update{u}
}

// resized takes in that a container has another size. Mostly the AM has its node
// give it that when it is larger.
func (m *master) resized(z input.Resized) {
	for i := range m.held {
		h := &m.held[i]
		if h.id != z.Container || z.Version <= h.version {
			continue
		}
		h.version = z.Version
		if z.Change == yarn.SizeIncreased && m.w.rng.IntN(3) > 0 {
			m.w.agentOf(z.Node.Host).grow(z.Container, z.Size)
		}
	}
}

// grow gives a container that runs another size, of which the node tells.
func (a *agent) grow(id yarn.ContainerID, size yarn.Resource) {
	if a.find(id) >= 0 {
		a.sizes = append(a.sizes, input.ContainerSize{Container: id, Size: size})
	}
}
