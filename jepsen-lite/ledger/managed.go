package ledger

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger/settings"
)

// managed reports whether submissions create the leaves of a queue by auto-create-child-queue.
func (l *queues) managed(i int32) bool {
	return l.properties.OfQueue(l.list[i].path, "auto-create-child-queue.enabled") == "true"
}

// managedSettings returns the properties of a leaf below a managed parent: those of the template,
// and capacity 0 while the leaf is not active.
func (l *queues) managedSettings(q *queue, own string) settings.Properties {
	out := settings.Properties{{Name: own + "capacity", Value: "0"}}
	prefix := "yarn.scheduler.capacity." + l.list[q.parent].path + ".leaf-queue-template."
	for _, p := range l.properties {
		key, ok := strings.CutPrefix(p.Name, prefix)
		switch {
		case !ok:
		case q.active || key != "capacity" && !strings.HasSuffix(key, ".capacity"):
			out = append(out, event.Property{Name: own + key, Value: p.Value})
		default: // also of a label: with 0, the leaf may still use the label's nodes
			out = append(out, event.Property{Name: own + key, Value: "0"})
		}
	}
	return slices.Clip(out)
}

// activateQueues gives leaves below managed parents the capacity of the template, or takes it from
// them. Only a configuration may take it from a leaf with applications. All active leaves together
// may not have more than their parent.
func (l *queues) activateQueues(e *event.QueuesActivated) {
	configured := l.configured
	parents := map[int32]bool{}
	for k, paths := range [][]string{e.Active, e.Inactive} {
		for _, path := range paths {
			i := l.queue(path)
			if i < 0 || !l.list[i].dynamic || !l.list[i].leaf || l.list[i].active == (k == 0) {
				l.violate(Audit, nil, "%s becomes active: %v, but is no dynamic leaf or was so before", path, k == 0)
				continue
			}
			q := &l.list[i]
			if k == 1 && q.apps > 0 && !configured {
				l.violate(Audit, nil, "queue %s loses its capacity with %d applications", path, q.apps)
			}
			q.active, parents[q.parent] = k == 0, true
			l.readQueue(q, l.settingsOf(q))
		}
	}
	for i := range parents { // each parent is checked alone, so the order does not matter
		l.activeFit(i)
	}
	l.configured = true // the guarantees have changed
}

// activeFit checks that the active leaves of a managed parent together have no more than the
// parent. YARN allows a ten-thousandth more.
func (l *queues) activeFit(parent int32) {
	active := 0
	for i := range l.list {
		if q := &l.list[i]; q.parent == parent && !q.gone && q.active {
			active++
		}
	}
	path := l.list[parent].path
	percent, err := strconv.ParseFloat(l.properties.OfQueue(path, "leaf-queue-template.capacity"), 64)
	if err == nil && float64(active)*percent > 100.01 {
		l.violate(Audit, nil, "%d leaves of %s have %g %% of it each", active, path, percent)
	}
}
