package trace

import (
	"slices"
	"time"
)

// single is one container of a trace that lists containers separately.
type single struct {
	key      groupKey
	duration time.Duration
	host     string
}

// groupKey has the properties that containers must share to be requested together.
type groupKey struct {
	stage    int // 0: first (maps); 1: after all of stage 0 (reduces)
	memoryMB int64
	vcores   int64
	gpus     int64
	priority int
	delay    time.Duration
	label    string
}

// groupUp joins equal containers into groups, ordered by stage and then by first appearance.
func groupUp(list []single) []TaskGroup {
	var keys []groupKey
	members := map[groupKey][]single{}
	for _, s := range list {
		if _, ok := members[s.key]; !ok {
			keys = append(keys, s.key)
		}
		members[s.key] = append(members[s.key], s)
	}
	slices.SortStableFunc(keys, func(a, b groupKey) int { return a.stage - b.stage })
	var out []TaskGroup
	last := -1 // the group of stage 0 that takes longest, because a group can wait for only one other
	for _, k := range keys {
		g := groupOf(k, members[k])
		g.After = -1
		if k.stage > 0 {
			g.After = last
		} else if last < 0 || longest(g) >= longest(out[last]) {
			last = len(out)
		}
		out = append(out, g)
	}
	return out
}

func groupOf(k groupKey, members []single) TaskGroup {
	g := TaskGroup{Count: len(members), MemoryMB: k.memoryMB, VCores: k.vcores, GPUs: k.gpus,
		Priority: k.priority, Delay: k.delay, Label: k.label}
	sum := 0.0 // seconds
	sameTime, sameHost := true, true
	for _, m := range members {
		sum += m.duration.Seconds()
		sameTime = sameTime && m.duration == members[0].duration
		sameHost = sameHost && m.host == members[0].host
	}
	g.Duration = time.Duration(sum / float64(len(members)) * float64(time.Second)).Round(time.Millisecond)
	if sameTime {
		g.Duration = members[0].duration
	} else {
		for _, m := range members {
			g.Durations = append(g.Durations, m.duration)
		}
	}
	switch {
	case !sameHost:
		for _, m := range members {
			g.Hosts = append(g.Hosts, m.host)
		}
	case members[0].host != "":
		g.Hosts = []string{members[0].host}
	}
	return g
}

func longest(g TaskGroup) time.Duration {
	if len(g.Durations) == 0 {
		return g.Duration
	}
	return slices.Max(g.Durations)
}
