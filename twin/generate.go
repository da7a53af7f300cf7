package twin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/yarn"
)

// Families are the optional features of a history. Without them it has one queue and asks for "*".
var Families = []string{"queues", "dominant", "fair", "users", "limits", "large", "keys", "places", "strict", "delays",
	"churn", "sizes", "blacklist", "moves", "refresh", "attempts", "unmanaged", "priorities", "nolook", "weights",
	"parallel", "kinds", "odd", "keep", "ports", "health", "stops", "decimals", "updates", "drains", "dynamic",
	"restarts", "managed"}

// Inside is a family of histories with rounds of preemption: applications also take from others of
// their queue.
const Inside = "inside"

// generator makes a history step by step. It looks at the planner's state to choose meaningful
// steps.
type generator struct {
	r        *rand.Rand
	h        *History
	p        *Planner
	out      []Observation
	with     map[string]bool
	queues   tree
	hosts    []string
	apps     uint32
	absolute bool // queues have amounts, not shares
	roomy    bool // each node is large enough for all guarantees
}

// Generate returns the history of a seed, with some of the given families (nil: of all), and with
// node labels and rounds of preemption if requested. It also returns the planner's observation of
// each step.
func Generate(seed uint64, families []string, labels, preemption bool) (*History, []Observation, error) {
	if families == nil {
		families = append(slices.Clone(Families), Inside)
	}
	g := &generator{r: rand.New(rand.NewPCG(seed, 7)), h: &History{Name: fmt.Sprintf("seed-%d", seed)}, p: NewPlanner(),
		with: map[string]bool{}}
	for _, f := range Families {
		if chosen := g.chance(55); chosen && slices.Contains(families, f) {
			g.with[f] = true
		}
	}
	if g.with["labels"], g.with["preemption"] = labels, preemption; preemption {
		g.wanting(slices.Contains(families, Inside) && g.chance(60))
	}
	// A refresh takes the labels from dynamic queues: see "labels of a dynamic queue" on the differences
	// page. It is not played with labels and managed parents either.
	if labels && (g.with["dynamic"] || g.with["managed"]) {
		delete(g.with, "refresh")
	}
	if g.with["managed"] {
		g.with["queues"] = true
	}
	err := g.guard(g.run)
	return g.h, g.out, err
}

// wanting selects families of histories with preemption so that somebody has what others want: in a
// single queue, only applications can take from each other.
func (g *generator) wanting(inside bool) {
	if g.with[Inside] = inside; !inside {
		g.with["queues"] = true
		return
	}
	g.with["queues"] = g.chance(30)
	g.with["users"], g.with["large"], g.with["keys"] = true, true, true
	g.with["limits"] = g.with["limits"] && g.chance(50)
	delete(g.with, "kinds") // see "kinds below zero" on the differences page
}

// guard returns a panic of the planner as an error.
func (g *generator) guard(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("step %d, %s: the planner panics: %v", len(g.h.Steps), g.h.Steps[len(g.h.Steps)-1], r)
		}
	}()
	return run()
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *generator) between(low, high int) int { return low + g.r.IntN(high-low+1) }

func pick[T any](g *generator, list []T) T { return list[g.r.IntN(len(list))] }

// step adds a step and plays it.
func (g *generator) step(format string, args ...any) error {
	s := g.h.add(format, args...)
	o, err := g.p.Step(s)
	if err != nil {
		return fmt.Errorf("step %d, %s: %w", len(g.h.Steps), s, err)
	}
	g.out = append(g.out, o)
	return nil
}

func (g *generator) run() error {
	if err := g.configure(); err != nil {
		return err
	}
	if err := g.step("start"); err != nil {
		return err
	}
	if g.with["labels"] {
		if err := g.firstLabels(); err != nil {
			return err
		}
	}
	for range g.between(1, 4) {
		if err := g.newNode(); err != nil {
			return err
		}
		if g.with["labels"] && g.chance(60) {
			if err := g.relabel(); err != nil {
				return err
			}
		}
	}
	for range g.between(1, 4) {
		if err := g.submit(); err != nil {
			return err
		}
	}
	for range g.between(20, 90) {
		if err := g.action(); err != nil {
			return err
		}
		if g.with[Inside] && g.chance(35) {
			if err := g.step("preempt"); err != nil {
				return err
			}
		}
	}
	return nil
}

// action adds a random step by weight.
func (g *generator) action() error {
	type choice struct {
		weight int
		family string
		do     func() error
	}
	choices := []choice{
		{48, "", g.beat}, {22, "", g.allocate}, {5, "", g.submit}, {2, "", g.finish},
		{2, "churn", g.newNode}, {2, "churn", g.lose}, {2, "health", g.health}, {5, "drains", g.drain},
		{3, "restarts", g.restart}, {3, "sizes", g.resizeNode},
		{6, "managed", g.manage}, {4, "managed", g.submit}, {3, "managed", g.finish},
		{4, "dynamic", func() error { return g.step("expire") }},
		{2, "moves", g.move}, {2, "refresh", g.refresh},
		{2, "attempts", g.fail}, {3, "priorities", g.priority}, {3, "labels", g.relabel}, {1, "labels", g.changeLabel},
		{20, "preemption", func() error { return g.step("preempt") }},
	}
	if g.with["parallel"] { // a move meets a limit only in a full queue
		choices = append(choices, choice{8, "moves", g.move}, choice{4, "moves", g.submit})
	}
	total := 0
	for _, c := range choices {
		if c.family == "" || g.with[c.family] {
			total += c.weight
		}
	}
	n := g.r.IntN(total)
	for _, c := range choices {
		if c.family != "" && !g.with[c.family] {
			continue
		}
		if n -= c.weight; n < 0 {
			return c.do()
		}
	}
	return nil
}

func rack(host string) string { return "/r" + string(host[1]/2*2) }

func (g *generator) newNode() error {
	host := fmt.Sprintf("h%d", g.r.IntN(6))
	if g.with["ports"] && g.chance(40) {
		host += ":2"
	}
	if g.p.racks[host] == "" && !slices.Contains(g.hosts, host) {
		g.hosts = append(g.hosts, host)
	}
	return g.step("node %s %s %s", host, rack(host), g.nodeSize())
}

func (g *generator) nodeSize() string {
	least := 2
	if g.roomy {
		return g.size(g.between(7, 14)*1024, g.between(27, 30), g.between(wholeGPUs, 6))
	}
	return g.size(g.memory(least, 12), g.between(least, 12), g.between(0, 4))
}

// size formats a size. Its last number counts only in histories with three kinds of resources.
func (g *generator) size(memory, vcores, gpus int) string {
	if g.with["kinds"] {
		return fmt.Sprintf("%d,%d,%d", memory, vcores, gpus)
	}
	return fmt.Sprintf("%d,%d", memory, vcores)
}

// memory returns a number of MiB: whole GiB, except in histories with odd sizes.
func (g *generator) memory(low, high int) int {
	n := g.between(low, high) * 1024
	if g.with["odd"] {
		n -= g.between(0, 1000)
	}
	return n
}

func (g *generator) lose() error { return g.step("lose %s", pick(g, g.hosts)) }

func (g *generator) health() error {
	return g.step("%s %s", pick(g, []string{"sick", "well", "well"}), pick(g, g.hosts))
}

func (g *generator) drain() error {
	host := pick(g, g.hosts)
	switch draining := g.p.draining(host); {
	case draining && g.chance(50):
		return g.step("overdue %s", host)
	case draining:
		return g.step("back %s", host)
	}
	return g.step("drain %s", host)
}

func (g *generator) resizeNode() error { return g.step("size %s %s", pick(g, g.hosts), g.nodeSize()) }

func (g *generator) submit() error {
	if len(g.p.racks) == 0 { // in YARN a queue with a weight accepts no application while there is no node
		return g.newNode()
	}
	g.apps++
	user := "u1"
	if g.with["users"] {
		user = pick(g, []string{"u1", "u1", "u2", "u3"})
	}
	priority, more := 0, ""
	if g.with["priorities"] {
		priority = g.r.IntN(4)
	}
	if g.with["unmanaged"] && g.chance(30) {
		more = " unmanaged"
	}
	more += g.label(20, " label=%s") + g.label(20, " am=%s")
	if g.with["keep"] && g.chance(60) {
		more += " keep"
	}
	return g.step("submit %d %s %s %d %s%s", g.apps, g.someLeafToSubmit(), user, priority, g.masterSize(), more)
}

func (g *generator) masterSize() string {
	if g.with["quiet"] {
		return g.askSize()
	}
	return g.size(g.memory(1, 2), g.between(1, 2), 0)
}

// running returns the applications that have not ended.
func (g *generator) running() (out []*state.App) {
	for seq := uint32(1); seq <= g.apps; seq++ {
		if a := g.p.liveApp(fmt.Sprint(seq)); a != nil {
			out = append(out, a)
		}
	}
	return out
}

// onOne adds a step for one of the running applications.
func (g *generator) onOne(format string, args ...any) error {
	apps := g.running()
	if len(apps) == 0 {
		return g.submit()
	}
	return g.step(format, append([]any{pick(g, apps).ID.Seq}, args...)...)
}

func (g *generator) finish() error { return g.onOne("finish %d") }
func (g *generator) fail() error   { return g.onOne("fail %d") }

func (g *generator) move() error {
	if len(g.p.racks) == 0 {
		return g.newNode()
	}
	return g.onOne("move %d %s", g.someLeafToSubmit())
}

func (g *generator) priority() error { return g.onOne("priority %d %d", g.r.IntN(6)) }

// beat adds a heartbeat of a node that reports some of the changes there.
func (g *generator) beat() error {
	host := pick(g, g.hosts)
	return g.step("beat %s%s", host, g.changes(host))
}

// changes returns words for some of the changes on a node that it has not reported yet.
func (g *generator) changes(host string) (words string) {
	node := g.p.st.Nodes.Find(nodeID(host))
	var run, done []string
	if node != 0 && g.p.racks[host] != "" {
		for _, c := range g.p.st.Containers.On(g.p.st.Nodes.Get(node)) {
			name := g.name(c)
			switch {
			case name == "":
			case yarnState(c) == yarn.ContainerAcquired && g.chance(80):
				run = append(run, name)
			case c.Launched && c.State == yarn.ContainerReleasing && g.chance(60):
				done = append(done, name)
			case c.Launched && !c.AM && c.State.Live() && g.chance(12):
				done = append(done, name)
			}
		}
	}
	if len(run) > 0 {
		words += " run=" + strings.Join(run, ",")
	}
	if len(done) > 0 {
		words += " done=" + strings.Join(done, ",")
	}
	return words
}

// restart adds a restart of a NodeManager, which may have another size then.
func (g *generator) restart() error {
	host, words := pick(g, g.hosts), " lost"
	if g.chance(60) {
		words = g.changes(host)
	}
	size := g.nodeSize()
	if total, ok := g.p.totals[host]; ok && g.chance(60) {
		size = g.size(int(total[yarn.Memory]), int(total[yarn.VCores]), int(total[2]))
	}
	return g.step("restart %s %s%s", host, size, words)
}

// name returns a container's name in the history; "" if it has none yet.
func (g *generator) name(c *state.Container) string {
	a := g.p.apps[g.p.st.Apps.Get(c.App).ID.Seq]
	if a == nil || a.ordinal[g.p.st.Apps.Ref(c)] == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", g.p.st.Apps.Get(c.App).ID.Seq, a.ordinal[g.p.st.Apps.Ref(c)])
}

// allocate adds a call of one AM: asks, releases, changes of its blacklist, or nothing.
func (g *generator) allocate() error {
	var ready []*state.App
	for _, a := range g.running() {
		if a.AttemptState == state.AttemptRegistered {
			ready = append(ready, a)
		}
	}
	switch {
	case len(ready) > 0:
	case g.with["quiet"]:
		return g.submit()
	default:
		return g.beat()
	}
	a := pick(g, ready)
	words := ""
	if g.chance(70) {
		words += g.asks()
	}
	if g.with["keys"] && g.chance(30) {
		words += g.asks()
	}
	if g.chance(15) {
		for _, c := range g.p.st.Containers.Of(a) {
			if name := g.name(c); name != "" && c.State.Live() && c.State != yarn.ContainerAllocated && !c.AM &&
				c.Attempt == a.Attempt && g.chance(40) {
				words += " release=" + name
			}
		}
	}
	if g.with["updates"] && g.chance(30) {
		words += g.update(a)
	}
	if g.with["blacklist"] && g.chance(12) {
		words += pick(g, []string{" refuse=", " refuse=", " admit="}) + pick(g, append(g.someHosts(), "/r0", "/r2"))
	}
	return g.step("allocate %d%s", a.ID.Seq, words)
}

// update returns a change of the size of one of an application's containers, or nothing.
func (g *generator) update(a *state.App) string {
	for _, c := range g.p.st.Containers.Of(a) {
		name := g.name(c)
		if name == "" || !c.State.Live() || c.State == yarn.ContainerAllocated || c.AM || c.Attempt != a.Attempt ||
			g.chance(50) {
			continue
		}
		memory, vcores, gpus := int(c.Size[yarn.Memory]), int(c.Size[yarn.VCores]), int(c.Size[2])
		if g.chance(60) {
			return fmt.Sprintf(" grow=%s:%s", name, g.size(memory+g.between(1, 3)*1024, vcores+g.between(0, 3), gpus))
		}
		return fmt.Sprintf(" shrink=%s:%s", name,
			g.size(max(memory*g.between(1, 4)/4, 1), g.between(1, max(vcores, 1)), gpus))
	}
	return ""
}

// asks returns asks under one key: "*", and some hosts with their racks.
func (g *generator) asks() string {
	k := "1.0"
	if g.with["keys"] {
		k = pick(g, []string{"1.0", "1.1", "2.0", "3.0"})
	}
	size, label := g.askSize(), g.label(50, ":label=%s")
	count := pick(g, []int{1, 1, 1, 2, 2, 3, 4, 6, 0})
	if g.with[Inside] {
		count *= g.between(1, 4)
	}
	if !g.with["places"] || count == 0 || g.chance(35) {
		return fmt.Sprintf(" ask=%s:*:%d:%s%s", k, count, size, label)
	}
	any := "" // suffix of the "*" ask
	words := ""
	strict := g.with["strict"] && g.chance(40)
	racks := map[string]int{}
	for _, host := range g.someHosts() {
		n := g.between(1, count)
		if g.chance(80) {
			words += fmt.Sprintf(" ask=%s:%s:%d:%s", k, host, n, size)
			racks[rack(host)] += n
		} else {
			racks[rack(host)] += n
		}
	}
	mark := ""
	if strict {
		any = ":strict"
		if g.chance(50) {
			mark = ":strict"
		}
	}
	for _, name := range []string{"/r0", "/r2", "/r4"} {
		if n := racks[name]; n > 0 {
			words += fmt.Sprintf(" ask=%s:%s:%d:%s%s", k, name, min(n, count), size, mark)
		}
	}
	return words + fmt.Sprintf(" ask=%s:*:%d:%s%s%s", k, count, size, any, label)
}

func (g *generator) someHosts() []string {
	var list []string
	for _, name := range g.hosts {
		if host := nodeID(name).Host; !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	g.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:g.between(1, min(len(list), 3))]
}

func (g *generator) askSize() string {
	most := 2
	if g.with["large"] && g.chance(60) {
		most = 7
	}
	if g.with["quiet"] {
		most = 1
	}
	return g.size(g.memory(1, most), g.between(1, most), pick(g, []int{0, 0, 0, 1, 1, 2}))
}
