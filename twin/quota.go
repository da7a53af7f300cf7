package twin

import (
	"fmt"
	"slices"
	"strings"
)

// quota is a row of the table of quotas: a history of one configuration, and the lines that show
// what the configuration allows.
type quota struct {
	name    string
	history *History
	shows   func(line string) bool
}

// quotas returns the table's rows: each quota with the values absent, 0, unlimited and some others,
// in each unit and queue mode.
func quotas() []quota {
	q := &quotaTable{}
	for _, mode := range []string{"legacy", "mixed"} {
		q.capacities(mode, "")
		if mode == "legacy" { // in the other mode Hadoop fails as soon as the cluster has a label
			q.capacities(mode, "x")
		}
		q.inherited(mode)
		q.users(mode)
		q.masters(mode)
		q.parallel(mode)
		q.applications(mode)
		q.largest(mode)
	}
	return q.rows
}

type quotaTable struct{ rows []quota }

// setting is a property without the prefix; "" as value means absent.
type setting struct{ name, value string }

const absent = ""

// Capacities with each kind absent, 0 or positive, in each unit.
var (
	capacityTexts = []string{absent, "0", "50", "0w", "2w", "[memory=4096,vcores=4,yarn.io/gpu=2]",
		"[memory=4096,vcores=4,yarn.io/gpu=0]",
		"[memory=4096,vcores=4]", "[memory=4096]", "[memory=0,vcores=4]"}
	mixedTexts = []string{"[memory=50%,vcores=2w,yarn.io/gpu=2]", "[memory=50%,vcores=0w,yarn.io/gpu=0]",
		"[memory=2w,vcores=50%]", "[memory=0%,vcores=50%]"}
	maximumTexts = []string{absent, "-1", "0", "75", "[memory=8192,vcores=8,yarn.io/gpu=3]",
		"[memory=8192,vcores=8,yarn.io/gpu=0]", "[memory=8192,vcores=8]",
		"[memory=8192]", "[memory=8192,vcores=0,yarn.io/gpu=2]", "[memory=0,vcores=8,yarn.io/gpu=2]",
		"[memory=99999,vcores=99,yarn.io/gpu=9]", "[memory=99999,vcores=99]"}
	mixedMaximumTexts = []string{"[memory=75%,vcores=8,yarn.io/gpu=0%]", "[memory=75%,vcores=50%]"}
)

// add adds a row with a cluster of one node of 16 GiB, 16 vcores and 4 GPUs.
func (t *quotaTable) add(mode, shows string, props []setting, steps ...string) {
	h := &History{}
	name := []string{mode, strings.TrimSpace(shows)}
	h.add("set yarn.resource-types yarn.io/gpu")
	h.add("set %sresource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator", prefix)
	if mode == "mixed" {
		h.add("set %slegacy-queue-mode.enabled false", prefix)
	}
	for _, p := range props {
		if p.value != absent {
			h.add("set %s %s", p.name, p.value)
			name = append(name, strings.TrimPrefix(strings.TrimPrefix(p.name, prefix), "root.")+"="+p.value)
		}
	}
	h.add("start")
	if slices.ContainsFunc(props, func(p setting) bool { return p.name == "yarn.node-labels.enabled" }) {
		h.add("label x")
		h.add("relabel h1=x")
	}
	h.add("node h1 /r0 16384,16,4")
	for _, s := range steps {
		h.add("%s", s)
	}
	h.Name = strings.Join(name, " ")
	t.rows = append(t.rows, quota{h.Name, h, func(line string) bool { return strings.HasPrefix(line, shows) }})
}

// sibling is a capacity of the unit of another one, for what is left of the parent.
func sibling(capacity string) string {
	switch {
	case strings.HasPrefix(capacity, "["):
		return "[memory=8192,vcores=8,yarn.io/gpu=1]"
	case strings.HasSuffix(capacity, "w"):
		return "2w"
	case capacity == "50":
		return "50"
	}
	return "100"
}

// queues are the properties of two leaves below root, the second one with a usual capacity.
func queues(capacity string, more ...setting) []setting {
	return append([]setting{{prefix + "root.queues", "a,b"}, {prefix + "root.a.capacity", capacity},
		{prefix + "root.b.capacity", sibling(capacity)}}, more...)
}

// capacities adds each capacity with each maximum, for nodes of a label or for those without one.
func (t *quotaTable) capacities(mode, label string) {
	mins, maxes := capacityTexts, maximumTexts
	if mode == "mixed" {
		mins, maxes = append(slices.Clone(mins), mixedTexts...), append(slices.Clone(maxes), mixedMaximumTexts...)
	}
	for _, least := range mins {
		for _, most := range maxes {
			if label == "" {
				t.add(mode, "queue root.a ", queues(least, setting{prefix + "root.a.maximum-capacity", most}))
				continue
			}
			of := prefix + "root.%s.accessible-node-labels.x.%s"
			// Absolute and relative capacities of a queue cannot be mixed, so the other partition has the same unit.
			usual := sibling(least)
			if usual == "100" {
				usual = "50"
			}
			t.add(mode, "queue root.a ", queues(usual, setting{"yarn.node-labels.enabled", "true"},
				setting{fmt.Sprintf(of, "a", "capacity"), least}, setting{fmt.Sprintf(of, "b", "capacity"), sibling(least)},
				setting{fmt.Sprintf(of, "a", "maximum-capacity"), most}))
		}
	}
}

// inherited adds a leaf below a parent with a maximum of its own.
func (t *quotaTable) inherited(mode string) {
	for _, least := range []string{"50", "2w", "[memory=4096,vcores=4,yarn.io/gpu=1]", "[memory=4096,vcores=4]"} {
		for _, above := range maximumTexts {
			for _, most := range maximumTexts {
				if strings.HasPrefix(least, "[") != strings.HasPrefix(above, "[") && above != absent {
					continue
				}
				whole := least
				if least == "50" {
					whole = "100"
				}
				t.add(mode, "queue root.a.c ", queues(least, setting{prefix + "root.a.queues", "c"},
					setting{prefix + "root.a.c.capacity", whole},
					setting{prefix + "root.a.maximum-capacity", above}, setting{prefix + "root.a.c.maximum-capacity", most}))
			}
		}
	}
}

// fill is the steps in which applications of two users ask for more than there is.
func fill(asks int) (steps []string) {
	for app, user := range []string{"u1", "u2"} {
		steps = append(steps, fmt.Sprintf("submit %d root.a %s 0 1024,1,0", app+1, user))
	}
	steps = append(steps, "beat h1", "beat h1")
	for app := range 2 {
		steps = append(steps, fmt.Sprintf("allocate %d ask=1.0:*:%d:1024,1,0", app+1, asks))
	}
	return append(steps, slices.Repeat([]string{"beat h1"}, 2*asks)...)
}

// users adds the limits of a user.
func (t *quotaTable) users(mode string) {
	for _, factor := range []string{absent, "0", "0.5", "2", "-1"} {
		for _, least := range []string{absent, "0", "25", "100"} {
			for _, weight := range []string{absent, "0", "0.5"} {
				t.add(mode, "user root.a ", queues("50", setting{prefix + "root.a.user-limit-factor", factor},
					setting{prefix + "root.a.minimum-user-limit-percent", least},
					setting{prefix + "root.a.user-settings.u1.weight", weight},
					setting{prefix + "maximum-am-resource-percent", "1"}), fill(9)...)
			}
		}
	}
}

// submissions submits four applications of two users.
var submissions = []string{"submit 1 root.a u1 0 1024,1,0", "submit 2 root.a u1 0 1024,1,0",
	"submit 3 root.a u2 0 1024,1,0", "submit 4 root.a u2 0 1024,1,0",
	"beat h1", "beat h1", "beat h1", "beat h1"}

// masters adds the share of AMs.
func (t *quotaTable) masters(mode string) {
	values := []string{absent, "0", "0.125", "0.25", "1"}
	for _, all := range values {
		for _, one := range values {
			t.add(mode, "leaf root.a ", queues("50", setting{prefix + "maximum-am-resource-percent", all},
				setting{prefix + "root.a.maximum-am-resource-percent", one}), submissions...)
		}
		if mode != "legacy" {
			continue
		}
		of := prefix + "root.%s.accessible-node-labels.x."
		a, b := fmt.Sprintf(of, "a"), fmt.Sprintf(of, "b")
		var onLabel []string
		for _, s := range submissions {
			if strings.HasPrefix(s, "submit") {
				s += " label=x am=x"
			}
			onLabel = append(onLabel, s)
		}
		t.add(mode, "leaf root.a ", queues("50", setting{"yarn.node-labels.enabled", "true"}, setting{a + "capacity", "50"},
			setting{b + "capacity", "50"},
			setting{prefix + "root.a.maximum-am-resource-percent", "0.5"}, setting{a + "maximum-am-resource-percent", all}),
			onLabel...)
	}
}

// parallel adds the limits on parallel applications.
func (t *quotaTable) parallel(mode string) {
	values := []string{absent, "0", "1", "2147483647"}
	add := func(all, one, user, u1 string) {
		t.add(mode, "app ", queues("50", setting{prefix + "maximum-am-resource-percent", "1"},
			setting{prefix + "max-parallel-apps", all},
			setting{prefix + "root.a.max-parallel-apps", one}, setting{prefix + "user.max-parallel-apps", user},
			setting{prefix + "user.u1.max-parallel-apps", u1}), submissions...)
	}
	for _, a := range values {
		for _, b := range values {
			add(a, b, absent, absent)
			add(absent, absent, a, b)
			add(a, absent, b, absent)
			add(absent, a, absent, b)
		}
	}
}

// applications adds the limits on the number of applications.
func (t *quotaTable) applications(mode string) {
	for _, all := range []string{absent, "0", "4", "6"} {
		for _, every := range []string{absent, "0", "1", "3"} {
			for _, one := range []string{absent, "-1", "0", "1", "3"} {
				for _, unit := range []string{"50", "[memory=8192,vcores=8]"} {
					t.add(mode, "result ", queues(unit, setting{prefix + "maximum-applications", all},
						setting{prefix + "global-queue-max-application", every}, setting{prefix + "root.a.maximum-applications", one}),
						submissions[:4]...)
				}
			}
		}
	}
}

// largest adds the largest container of a queue.
func (t *quotaTable) largest(mode string) {
	for _, memory := range []string{absent, "-1", "0", "512", "2048", "99999"} {
		for _, vector := range []string{absent, "memory-mb=2048,vcores=2", "memory-mb=2048,vcores=2,yarn.io/gpu=0",
			"memory-mb=2048,vcores=2,yarn.io/gpu=1", "vcores=2", "memory-mb=0"} {
			t.add(mode, "ask 1 ", queues("50", setting{prefix + "maximum-am-resource-percent", "1"},
				setting{prefix + "root.a.maximum-allocation-mb", memory},
				setting{prefix + "root.a.maximum-allocation", vector}), "submit 1 root.a u1 0 1024,1,0", "beat h1", "beat h1",
				"allocate 1 ask=1.0:*:1:1024,1,2", "allocate 1 ask=2.0:*:1:4096,1,0")
		}
	}
}

// value returns what a row's configuration allows: the lines of the row at the end, and the results
// of its steps if it shows these.
func (q quota) value(seen []Observation, err error) string {
	if err != nil {
		return "refused"
	}
	var out []string
	for i, o := range seen {
		for _, line := range o {
			switch {
			case strings.HasPrefix(line, "error"):
				return "refused"
			case q.shows(line) && (i == len(seen)-1 || strings.HasPrefix(line, "result")):
				out = append(out, line)
			}
		}
	}
	return strings.ReplaceAll(strings.Join(out, "; "), " reserved=0,0,0 pending=0,0,0", "")
}
