package logsim

import (
	"slices"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// This file has the part of AMs and nodes in changes of container sizes.

// updates sometimes asks for an increase or decrease of a container, with the newest version that
// the AM knows.
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

// resized handles a new size of a container. If the container has grown, the AM usually gives its
// node the new size.
func (m *master) resized(z input.Resized) {
	if !slices.Contains(m.am.Held(), z.Container) || z.Version <= m.versions[z.Container] {
		return
	}
	m.versions[z.Container] = z.Version
	if z.Change == yarn.SizeIncreased && m.w.rng.IntN(3) > 0 {
		m.w.agentOf(z.Node.Host).grow(z.Container, z.Size)
	}
}

// grow changes the size of a running container. The node's next heartbeat reports it.
func (a *agent) grow(id yarn.ContainerID, size yarn.Resource) {
	if _, runs := a.manager.Process(id); runs {
		a.sizes = append(a.sizes, input.ContainerSize{Container: id, Size: size})
	}
}
