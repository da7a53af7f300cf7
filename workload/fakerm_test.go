package workload

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// fakeRM is a ResourceManager that places containers first-fit in order of submission, and records
// everything. It answers repeated calls like a real one, and reports every call that violates the
// protocol.
type fakeRM struct {
	mu      sync.Mutex
	eager   bool
	repeats bool // calls may be repeated, and statuses with them
	park    int  // number of calls of an attempt that are refused first
	again   bool // launch orders are repeated once more after the node's report
	nodes   []*fakeNode
	apps    map[yarn.ApplicationID]*fakeApp
	order   []*fakeApp
	keys    map[string]input.Reply
	granted uint64
	inputs  []string // kinds of inputs with their subjects, in order
	faults  []string
	resync  map[yarn.NodeID]bool // nodes whose next heartbeat is answered with resync
}

type fakeNode struct {
	id    yarn.NodeID
	rack  string
	free  yarn.Resource
	total yarn.Resource
	kill  []yarn.ContainerID
}

type fakeAsk struct {
	size   yarn.Resource
	counts map[string]int64
}

type fakeContainer struct {
	id     yarn.ContainerID
	node   *fakeNode
	size   yarn.Resource
	am     bool
	ran    bool
	orders int
}

type fakeApp struct {
	id        yarn.ApplicationID
	in        *input.SubmitApplication
	attempt   uint32
	next      uint64
	ready     bool // registered
	ended     bool
	final     yarn.FinalStatus
	response  int32
	last      *input.AllocateReply
	asks      map[yarn.SchedulerKey]*fakeAsk
	live      map[yarn.ContainerID]*fakeContainer
	am        *fakeContainer
	granted   []input.Granted
	completed []input.ContainerStatus
	done      int
	parked    int // number of calls still to refuse
}

func newFakeRM() *fakeRM {
	return &fakeRM{apps: map[yarn.ApplicationID]*fakeApp{}, keys: map[string]input.Reply{}, resync: map[yarn.NodeID]bool{}}
}

func (f *fakeRM) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// Do implements Submitter without HTTP.
func (f *fakeRM) Do(_ context.Context, in input.Input) (input.Reply, error) {
	return f.plan(input.Request{Input: in}), nil
}

func (f *fakeRM) plan(r input.Request) input.Reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.keys[r.Key]; r.Key != "" && old != nil {
		return old
	}
	reply := f.answer(r.Input)
	if r.Key != "" {
		f.keys[r.Key] = reply
	}
	return reply
}

func (f *fakeRM) answer(in input.Input) input.Reply {
	switch in := in.(type) {
	case *input.RegisterNode:
		return f.register(in)
	case *input.NodeHeartbeat:
		return f.heartbeat(in)
	case *input.SubmitApplication:
		id := yarn.ApplicationID{ClusterTimestamp: 1, Seq: uint32(len(f.order) + 1)}
		a := &fakeApp{id: id, in: in, attempt: 1, parked: f.park, asks: map[yarn.SchedulerKey]*fakeAsk{},
			live: map[yarn.ContainerID]*fakeContainer{}}
		f.apps[id], f.order = a, append(f.order, a)
		f.inputs = append(f.inputs, "submit "+in.Name)
		f.place(f.eager)
		return &input.SubmitApplicationReply{ID: id, Queue: in.Queue}
	case *input.RegisterAttempt:
		f.inputs = append(f.inputs, "register "+in.Attempt.String())
		return f.attempt(in, in.Attempt, func(a *fakeApp) input.Reply {
			a.ready, a.response = true, 0
			return &input.RegisterAttemptReply{Queue: a.in.Queue}
		})
	case *input.Allocate:
		return f.attempt(in, in.Attempt, func(a *fakeApp) input.Reply { return f.allocate(a, in) })
	case *input.FinishAttempt:
		f.inputs = append(f.inputs, "finish "+in.Attempt.String())
		return f.attempt(in, in.Attempt, func(a *fakeApp) input.Reply {
			if a.ended, a.final = true, in.Final; a.in.Unmanaged {
				return &input.Done{}
			}
			a.am.node.kill = append(a.am.node.kill, a.am.id)
			return &input.Done{}
		})
	case *input.KillApplication:
		a := f.apps[in.ID]
		a.ended = true
		for _, c := range a.live {
			c.node.kill = append(c.node.kill, c.id)
		}
		return &input.Done{}
	case *input.MoveApplication:
		if a := f.apps[in.ID]; a.ended || a.in.Queue != in.Queue {
			return input.Refuse(in, input.Refusef(input.AlreadyEnded, "", "%s", in.ID))
		}
		return &input.Done{}
	case *input.UnregisterNode:
		f.inputs = append(f.inputs, "unregister "+in.ID.String())
		return &input.Done{}
	}
	return input.Refuse(in, input.Refusef(input.InvalidRequest, "", "kind %d", in.Kind()))
}

func (f *fakeRM) attempt(in input.Input, id yarn.AttemptID, do func(*fakeApp) input.Reply) input.Reply {
	a := f.apps[id.App]
	switch {
	case a == nil:
		return input.Refuse(in, input.Refusef(input.NoSuchApplication, "", "%s", id.App))
	case a.ended:
		return input.Refuse(in, input.Refusef(input.AlreadyEnded, "", "%s", id.App))
	case a.attempt == id.Attempt && a.parked > 0:
		a.parked--
		fallthrough
	case a.attempt != id.Attempt:
		return input.Refuse(in, input.Refusef(input.NoSuchAttempt, "", "%s", id))
	}
	return do(a)
}

func (f *fakeRM) node(id yarn.NodeID) *fakeNode {
	for _, n := range f.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (f *fakeRM) register(in *input.RegisterNode) input.Reply {
	f.inputs = append(f.inputs, fmt.Sprintf("node %s runs %d", in.ID, len(in.Containers)))
	n := f.node(in.ID)
	if n == nil {
		n = &fakeNode{id: in.ID, rack: in.Rack, free: in.Total, total: in.Total}
		f.nodes = append(f.nodes, n)
	}
	f.report(n, in.Containers, true)
	return &input.RegisterNodeReply{}
}

func (f *fakeRM) heartbeat(in *input.NodeHeartbeat) input.Reply {
	n := f.node(in.ID)
	if n == nil || f.resync[in.ID] {
		delete(f.resync, in.ID)
		return &input.NodeHeartbeatReply{Resync: true}
	}
	f.report(n, in.Statuses, false)
	f.place(true)
	out := &input.NodeHeartbeatReply{Kill: n.kill}
	n.kill = nil
	for _, a := range f.order {
		c := a.am
		if c == nil || c.node != n || a.live[c.id] == nil {
			continue
		}
		if !c.ran || (f.again && c.orders < 3) {
			c.orders++
			out.Launch = append(out.Launch, input.Launch{Container: c.id, Size: c.size, User: a.in.User})
		}
	}
	return out
}

func (f *fakeRM) report(n *fakeNode, list []input.ContainerStatus, resync bool) {
	for _, s := range list {
		a := f.apps[s.Container.App]
		c := a.live[s.Container]
		switch {
		case c == nil:
			continue
		case c.node != n:
			f.fault("%s reported by %s", c.id, n.id)
		case s.State == yarn.ContainerRunning:
			if c.ran && !resync && !f.repeats {
				f.fault("%s reported running twice", c.id)
			}
			c.ran = true
		default:
			f.free(a, c, s.ExitStatus)
		}
	}
}

// free ends a container. If an AM ends early, the next attempt begins.
func (f *fakeRM) free(a *fakeApp, c *fakeContainer, code int32) {
	delete(a.live, c.id)
	c.node.free = c.node.free.Add(c.size)
	switch {
	case !c.am:
		a.done++
		a.completed = append(a.completed, input.ContainerStatus{Container: c.id, State: yarn.ContainerCompleted,
			ExitStatus: code})
	case !a.ended:
		a.am, a.ready, a.response, a.next = nil, false, 0, 0
		a.attempt++
		a.granted, a.completed = nil, nil
		clear(a.asks)
		for _, o := range a.live {
			o.node.kill = append(o.node.kill, o.id)
		}
	}
}

func (f *fakeRM) allocate(a *fakeApp, in *input.Allocate) input.Reply {
	switch {
	case !a.ready:
		return input.Refuse(in, input.Refusef(input.NotRegistered, "", "register first"))
	case in.Response == a.response-1:
		return a.last
	case in.Response != a.response:
		f.fault("%s has response %d, is at %d", in.Attempt, in.Response, a.response)
		return input.Refuse(in, input.Refusef(input.WrongResponse, "", "%d", in.Response))
	}
	for _, k := range in.Asks {
		if a.asks[k.Key] == nil {
			a.asks[k.Key] = &fakeAsk{counts: map[string]int64{}}
		}
		a.asks[k.Key].size, a.asks[k.Key].counts[k.Name] = k.Size, k.Count
	}
	for _, id := range in.Releases {
		if c := a.live[id]; c != nil {
			f.free(a, c, yarn.ExitAborted)
		}
	}
	if len(in.Asks)+len(in.Releases) > 0 {
		f.place(f.eager)
	}
	a.response++
	a.last = &input.AllocateReply{Response: a.response, Granted: a.granted, Completed: a.completed}
	a.granted, a.completed = nil, nil
	return a.last
}

// place allocates everything that fits, in order of submission, on the first node.
func (f *fakeRM) place(now bool) {
	for _, a := range f.order {
		if !now || a.ended {
			continue
		}
		if a.am == nil && !a.in.Unmanaged {
			a.am = f.give(a, yarn.SchedulerKey{}, a.in.AM, nil)
			if a.am != nil {
				a.am.am = true
				a.granted = nil
			}
		}
		keys := make([]yarn.SchedulerKey, 0, len(a.asks))
		for k := range a.asks {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(x, y yarn.SchedulerKey) int {
			if x.Less(y) {
				return -1
			}
			return 1
		})
		for _, k := range keys {
			for ask := a.asks[k]; ask.counts[yarn.Any] > 0 && f.give(a, k, ask.size, ask.counts) != nil; {
			}
		}
	}
}

func (f *fakeRM) give(a *fakeApp, key yarn.SchedulerKey, size yarn.Resource, counts map[string]int64) *fakeContainer {
	nodes := slices.Clone(f.nodes)
	slices.SortStableFunc(nodes, func(x, y *fakeNode) int { return int(counts[y.id.Host] - counts[x.id.Host]) })
	for _, n := range nodes {
		if !size.Within(n.free) {
			continue
		}
		n.free = n.free.Sub(size)
		a.next++
		c := &fakeContainer{id: yarn.ContainerID{App: a.id, Attempt: a.attempt, Number: a.next}, node: n, size: size}
		a.live[c.id] = c
		f.granted++
		a.granted = append(a.granted, input.Granted{Container: c.id, Key: key, Node: n.id, Rack: n.rack, Size: size})
		for _, name := range []string{n.id.Host, n.rack, yarn.Any} {
			if counts[name] > 0 {
				counts[name]--
			}
		}
		return c
	}
	return nil
}

// ServeHTTP implements POST /v1/inputs like a replica.
func (f *fakeRM) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/inputs" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	var out []byte
	for len(body) > 0 {
		size, n := binary.Uvarint(body)
		req, err := input.DecodeRequest(body[n : n+int(size)])
		body = body[n+int(size):]
		frame := []byte{0}
		if err != nil {
			frame = append([]byte{1}, err.Error()...)
		} else {
			frame = input.EncodeReply(frame, f.plan(req))
		}
		out = binary.AppendUvarint(out, uint64(len(frame)))
		out = append(out, frame...)
	}
	w.Write(out)
}
