package workload

import (
	"maps"
	"slices"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/agent"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// group is one trace.TaskGroup of a running application. It has its own scheduler key.
type group struct {
	spec    *trace.TaskGroup
	key     yarn.SchedulerKey
	size    yarn.Resource
	shown   report.Resource
	waiting []slot // requested and not allocated, oldest first
	left    int    // number not completed
	open    bool   // its containers have been or will be requested
	dirty   bool   // the next call must contain its asks
	names   map[string]int64
}

// slot is one container of a group, before and after it is allocated.
type slot struct {
	n        int32 // index in the group
	tries    int16 // number of lost containers
	measured bool
}

func (g *group) host(s slot) string {
	switch len(g.spec.Hosts) {
	case 0:
		return ""
	case 1:
		return g.spec.Hosts[0]
	}
	return g.spec.Hosts[int(s.n)%len(g.spec.Hosts)]
}

func (g *group) duration(s slot) time.Duration {
	if int(s.n) < len(g.spec.Durations) {
		return g.spec.Durations[s.n]
	}
	return g.spec.Duration
}

// take chooses the waiting slot for a container on host: a slot that wants this host, otherwise
// this rack, otherwise any node, otherwise the oldest. If the cluster's counts per name no longer
// match the waiting slots, take marks the group as dirty.
func (g *group) take(host, rack string, racks map[string]string) (slot, bool) {
	if len(g.waiting) == 0 {
		return slot{}, false
	}
	best, rank := 0, 4
	for i, s := range g.waiting {
		want, r := g.host(s), 3
		switch {
		case want == host && host != "":
			r = 0
		case want != "" && racks[want] == rack && rack != "":
			r = 1
		case want == "":
			r = 2
		}
		if r < rank {
			best, rank = i, r
		}
		if rank == 0 || len(g.spec.Hosts) == 0 {
			break
		}
	}
	s := g.waiting[best]
	if best == 0 {
		g.waiting = g.waiting[1:]
	} else {
		g.waiting = slices.Delete(g.waiting, best, best+1)
	}
	if rank == 1 || rank == 3 {
		g.dirty = true
	}
	return s, true
}

// asks returns the absolute counts of the group: for any node, then by names of hosts and racks. It
// returns 0 for names that are no longer wanted.
func (g *group) asks(racks map[string]string) []input.Ask {
	g.dirty = false
	out := []input.Ask{g.ask(yarn.Any, int64(len(g.waiting)))}
	names := map[string]int64{}
	for name := range g.names {
		names[name] = 0
	}
	for _, s := range g.waiting {
		if h := g.host(s); racks[h] != "" {
			names[h]++
			names[racks[h]]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, g.ask(name, names[name]))
		if names[name] == 0 {
			delete(names, name)
		}
	}
	g.names = names
	return out
}

func (g *group) ask(name string, count int64) input.Ask {
	return input.Ask{Key: g.key, Name: name, Count: count, Size: g.size, Relax: true}
}

// sizeOf converts sizes of a trace to a resource. It returns false if the trace has GPUs and kinds
// does not.
func sizeOf(memoryMB, vcores, gpus int64, kinds yarn.Kinds) (yarn.Resource, bool) {
	r := yarn.NewResource(memoryMB, vcores)
	i := kinds.Index(yarn.GPUName)
	if i < 0 || i >= yarn.MaxKinds {
		return r, gpus == 0
	}
	r[i] = gpus
	return r, true
}

// measure converts a resource to the report's form.
func measure(r yarn.Resource, kinds yarn.Kinds) report.Resource {
	out := report.Resource{MemoryMB: r[yarn.Memory], VCores: r[yarn.VCores]}
	if i := kinds.Index(yarn.GPUName); i >= 0 && i < yarn.MaxKinds {
		out.GPUs = r[i]
	}
	return out
}

func plus(a report.Resource, r yarn.Resource, kinds yarn.Kinds) report.Resource {
	b := measure(r, kinds)
	return report.Resource{MemoryMB: a.MemoryMB + b.MemoryMB, VCores: a.VCores + b.VCores, GPUs: a.GPUs + b.GPUs}
}

// sortedContainers returns the ids in a fixed order, so that runs are reproducible.
func sortedContainers[V any](m map[yarn.ContainerID]V) []yarn.ContainerID {
	return slices.SortedFunc(maps.Keys(m), agent.CompareContainers)
}
