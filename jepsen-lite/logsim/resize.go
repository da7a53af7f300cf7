package logsim

import (
	"slices"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// Containers that change their size: how AMs and nodes go about it.

// updates asks now and then for a container to grow or to shrink, by the version
// that the AM knows of it.
func (m *master) updates() []input.Update {
	held := m.am.Held()
	if len(held) == 0 || m.w.rng.IntN(6) > 0 {
		return nil
	}
	id := held[m.w.rng.IntN(len(held))]
	u := input.Update{Container: id, Version: m.versions[id], Type: input.IncreaseResource, Size: m.w.size(8)}
	if m.w.rng.IntN(3) == 0 {
		u.Type = input.DecreaseResource
	}
	return []input.Update{u}
}

// resized takes in that a container has another size. Mostly the AM has its node
// give it that when it is larger.
func (m *master) resized(z input.Resized) {
	if !slices.Contains(m.am.Held(), z.Container) || z.Version <= m.versions[z.Container] {
		return
	}
	m.versions[z.Container] = z.Version
	if z.Change == yarn.SizeIncreased && m.w.rng.IntN(3) > 0 {
		m.w.agentOf(z.Node.Host).grow(z.Container, z.Size)
	}
}

// grow gives a container that runs another size, of which the node tells.
func (a *agent) grow(id yarn.ContainerID, size yarn.Resource) {
	if _, runs := a.manager.Process(id); runs {
		a.sizes = append(a.sizes, input.ContainerSize{Container: id, Size: size})
	}
}
