package twin

import (
	"fmt"
	"strings"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const manages = ".auto-create-child-queue.enabled"

// managing makes a queue a managed parent, whose leaves submissions create.
func (g *generator) managing(props map[string]string, key string, memory, vcores int, absolute bool) {
	props[key+manages] = "true"
	props[capacity.ExpirationKey] = "1" // see growing
	some := func(percent int, name string, values ...string) {
		if g.chance(percent) {
			props[key+name] = pick(g, values)
		}
	}
	some(30, ".auto-create-child-queue.max-queues", "1", "2", "3")
	some(30, ".auto-create-child-queue.fail-on-exceeding-parent-capacity", "true")
	if absolute {
		g.amountOfLeaves(props, key, memory, vcores)
	} else {
		share := pick(g, []string{"50", "25", "37.5", "62.5", "100"})
		if props[key+".leaf-queue-template.capacity"] = share; share != "100" {
			some(50, ".leaf-queue-template.maximum-capacity", "100", "75")
		}
	}
	if g.with["limits"] {
		some(60, ".leaf-queue-template.user-limit-factor", "1", "2", "0.5", "-1", "10")
		some(50, ".leaf-queue-template.minimum-user-limit-percent", "50", "25", "12.5")
		if !g.with["unmanaged"] {
			some(30, ".leaf-queue-template.maximum-am-resource-percent", "0.125", "0.25", "1")
		}
	} else {
		props[key+".leaf-queue-template.user-limit-factor"] = "20"
	}
	if g.with["fair"] {
		some(60, ".leaf-queue-template.ordering-policy", "fair")
	}
}

// amountOfLeaves gives the leaves below a managed parent an absolute capacity, and sometimes a maximum.
// With the dominant calculator, as many leaves fit into the parent in each kind: see "managed parents:
// leaves by kind" on the differences page. No maximum is above that of a parent: see "maximum above
// the parent's" there.
func (g *generator) amountOfLeaves(props map[string]string, key string, memory, vcores int) {
	part := pick(g, [][2]int{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 3}})
	if even := memory%part[1] == 0 && vcores%part[1] == 0; !even && (g.with["dominant"] || g.with["kinds"]) {
		part = [2]int{1, 1}
	}
	template, mb, vc := key+".leaf-queue-template", memory*part[0]/part[1], vcores*part[0]/part[1]
	props[template+".capacity"] = fmt.Sprintf("[memory=%d,vcores=%d]", mb, vc)
	if g.chance(40) {
		above, most, mostVC := strings.Split(key[len(prefix):], "."), 7168, 27
		fmt.Sscanf(props[prefix+"root."+above[1]+".maximum-capacity"], "[memory=%d,vcores=%d", &most, &mostVC)
		props[template+".maximum-capacity"] = fmt.Sprintf("[memory=%d,vcores=%d]", g.between(mb, most), g.between(vc, mostVC))
	}
}

// someLeafToSubmit returns a leaf, or the path of one below a parent that creates leaves.
func (g *generator) someLeafToSubmit() string {
	if len(g.queues.managed) > 0 && g.chance(60) {
		m := pick(g, g.queues.managed)
		return m + "." + g.prefixOfNames(m) + pick(g, []string{"v", "w", "x", "y"})
	}
	return g.someLeaf()
}

// undecided reports whether YARN would now make no leaf active, because amounts are no share of an empty
// cluster.
func (g *generator) undecided() bool { return g.absolute && g.with["managed"] && len(g.p.racks) == 0 }

// manage adds a round of the policy that makes leaves active and inactive.
func (g *generator) manage() error {
	if g.undecided() {
		return g.newNode()
	}
	return g.step("manage")
}

// ruleOfManaged returns a placement rule for rmd that leads to the leaf below a managed parent whose
// path an application has as its name. On the Java side, the result of such a rule is an argument.
func (p *Planner) ruleOfManaged() []input.Property {
	for name := range p.props {
		if strings.HasSuffix(name, manages) {
			return []input.Property{{Name: capacity.RulesFormatKey, Value: "json"}, {Name: capacity.RulesKey,
				Value: `{"rules":[{"type":"user","matches":"*","policy":"custom","customPlacement":"%application",` +
					`"create":true,"fallbackResult":"skip"}]}`}}
		}
	}
	return nil
}

// placedByRule makes a submission to a leaf below a managed parent name no queue. Only a rule leads
// there.
func (p *Planner) placedByRule(in *input.SubmitApplication) {
	cfg := p.p.Config()
	if i, err := cfg.Lookup(yarn.ParentQueue(in.Queue)); err == nil && cfg.Queues[i].ChildrenBy() == capacity.Legacy {
		in.Queue, in.Name = "default", in.Queue
	}
}
