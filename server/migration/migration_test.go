package migration

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/statestore"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// tree is a tree of znodes in memory. The keys are paths.
type tree map[string][]byte

func (z tree) Get(path string) ([]byte, bool, error) {
	b, ok := z[path]
	return b, ok, nil
}

func (z tree) Children(parent string) (names []string, err error) {
	for p := range z {
		if path.Dir(p) == parent && p != parent {
			names = append(names, path.Base(p))
		}
	}
	return names, nil
}

// recorded returns what a ResourceManager of Hadoop 3.4.2 wrote: two ended applications and a
// running one, with one attempt each, and two delegation tokens.
func recorded(t testing.TB) *statestore.Store {
	t.Helper()
	f, err := os.Open("../../transport/hadoop/statestore/testdata/zk.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := tree{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		at, data, _ := strings.Cut(lines.Text(), " ")
		if z[at], err = base64.StdEncoding.DecodeString(data); err != nil {
			t.Fatal(err)
		}
	}
	s, err := statestore.Read(z, "/rmstore")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const now = int64(1795454200000) // later than everything in the recording

func options(queues string, skip ...string) Options {
	props := []input.Property{{Name: capacity.Prefix + "root.queues", Value: queues}}
	for i, q := range strings.Split(queues, ",") {
		props = append(props, input.Property{Name: capacity.Prefix + "root." + q + ".capacity",
			Value: fmt.Sprint(100 - 100*min(i, 1))})
	}
	return Options{ClusterID: "c", Properties: props, NowMillis: now, Entropy: make([]byte, 32), Skip: skip, By: "ann"}
}

func taken(t testing.TB, s *statestore.Store, o Options) *Result {
	t.Helper()
	r, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Fatalf("problem of the migration: %+v", p)
	}
	return r
}

func running(r *Result) *state.App {
	return r.State.Apps.Get(r.State.Apps.ByID(r.Running[0]))
}

func TestMigratedState(t *testing.T) {
	s := recorded(t)
	o := options("default,batch")
	o.Exclude = []string{"gone"}
	r := taken(t, s, o)
	if len(r.Running) != 1 || len(r.Waiting) != 0 || r.Ended != 2 || r.Tokens != 2 || r.Epoch != 1+epochGap {
		t.Fatalf("migrated %+v, want 1 running, none waiting, 2 ended, 2 tokens, epoch %d", r, 1+epochGap)
	}
	st := r.State
	if st.Hosts.Allowed("gone") || !st.Hosts.Allowed("n1") {
		t.Errorf("the lists of hosts are %+v", st.Hosts)
	}
	for _, a := range s.Applications {
		got := st.Apps.Get(st.Apps.ByID(a.ID))
		if got.SubmittedMillis != a.SubmittedMillis || got.EndedMillis != a.EndedMillis || got.Attempt != 1 {
			t.Errorf("%s: submitted %d, ended %d, attempt %d", a.ID, got.SubmittedMillis, got.EndedMillis, got.Attempt)
		}
		if a.State.Ended() && (got.Final != a.Attempts[0].Final || got.State != a.State ||
			got.ResourceSeconds[yarn.Memory] != a.Attempts[0].ResourceSeconds["memory-mb"]) {
			t.Errorf("%s: %s %s, used %s", a.ID, got.State, got.Final, got.ResourceSeconds)
		}
	}
	if st.Meta.ClusterTimestamp < now || st.Meta.NextApp != 4 || st.Meta.NowMillis != now {
		t.Errorf("timestamp %d, next %d, clock %d", st.Meta.ClusterTimestamp, st.Meta.NextApp, st.Meta.NowMillis)
	}
	// The tokens of AMs and clients remain valid.
	identifier := token.AMRM{Attempt: running(r).AttemptID(), KeyID: s.AMRM.Current.ID}.Bytes()
	if _, password, err := token.AMRMPassword(st, identifier); err != nil ||
		!bytes.Equal(token.Password(state.MasterKey{Bytes: s.AMRM.Current.Bytes}, identifier), password) {
		t.Errorf("token of the AM: %v", err)
	}
	for _, d := range s.DelegationTokens {
		id := token.Delegation{Owner: d.Owner, Renewer: d.Renewer, RealUser: d.RealUser, IssuedMillis: d.IssuedMillis,
			MaxMillis: d.MaxMillis, Sequence: d.Sequence, KeyID: d.KeyID}
		if _, password, err := token.DelegationPassword(st, id.Bytes(), now); err != nil ||
			!bytes.Equal(token.Password(state.MasterKey{Bytes: s.DelegationKeys[1].Bytes}, id.Bytes()), password) {
			t.Errorf("delegation token %d: %v", d.Sequence, err)
		}
	}
	for which := range yarn.KeyKinds {
		if st.Keys(which).Current.ID == 0 {
			t.Errorf("there is no %s key", which)
		}
	}
}

// TestNodesBringContainers registers the node of the running application. Its containers continue,
// its AM registers again, and new containers have ids that the old cluster has not used.
func TestNodesBringContainers(t *testing.T) {
	r := taken(t, recorded(t), options("default,batch"))
	app := r.Running[0]
	p, err := planner.New(r.State, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	do := func(in input.Input) input.Reply {
		t.Helper()
		reply, _ := p.Plan(now+1000, input.Request{Input: in})
		if f := reply.Refused(); f != nil {
			t.Fatalf("%T was refused: %v", in, f)
		}
		if err := p.State().Check(); err != nil {
			t.Fatal(err)
		}
		return reply
	}
	at := yarn.AttemptID{App: app, Attempt: 1}
	allocate := &input.Allocate{Attempt: at, Response: 7}
	if reply, _ := p.Plan(now, input.Request{Input: allocate}); reply.Refused() == nil ||
		reply.Refused().Reason != input.NotRegistered {
		t.Fatalf("an AM that has not registered again gets %+v", reply)
	}
	id := func(n uint64) yarn.ContainerID { return yarn.ContainerID{App: app, Attempt: 1, Number: n} }
	node := &input.RegisterNode{ID: yarn.NodeID{Host: "h", Port: 1}, Total: yarn.Resource{4096, 4}, NodeManager: true,
		Running: []yarn.ApplicationID{app}}
	for n, size := range []yarn.Resource{{256, 1}, {256, 1}, {512, 1}, {512, 1}} {
		status := input.ContainerStatus{Container: id(uint64(n + 1)), State: yarn.ContainerRunning}
		if n == 3 {
			status.State, status.ExitStatus = yarn.ContainerCompleted, 1
		}
		node.Containers = append(node.Containers, status)
		node.Recovered = append(node.Recovered, input.RecoveredContainer{Container: status.Container, Size: size,
			StartedMillis: now - 60_000})
	}
	foreign := yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1, Seq: app.Seq}, Attempt: 1, Number: 1}
	own := id(yarn.ContainerNumber(1+epochGap, 9))
	for _, c := range []yarn.ContainerID{foreign, own} {
		node.Containers = append(node.Containers, input.ContainerStatus{Container: c, State: yarn.ContainerRunning})
		node.Recovered = append(node.Recovered, input.RecoveredContainer{Container: c, Size: yarn.Resource{1, 1}})
	}
	reply := do(node).(*input.RegisterNodeReply)
	if len(reply.Kill) != 2 || reply.Kill[0] != foreign || reply.Kill[1] != own {
		t.Errorf("it must kill %v, not containers that were taken over", reply.Kill)
	}
	a := running(r)
	if a.Live != 3 || a.Used != (yarn.Resource{1024, 3}) || p.State().Master(a) == 0 || a.MasterNode != 1 {
		t.Errorf("%d live containers, used %s, AM %d on node %d", a.Live, a.Used, p.State().Master(a), a.MasterNode)
	}
	do(&input.RegisterAttempt{Attempt: at, Host: "h"})
	got := do(&input.Allocate{Attempt: at}).(*input.AllocateReply)
	if len(got.Completed) != 1 || got.Completed[0].Container != id(4) || len(got.Granted) != 0 {
		t.Errorf("the AM hears %+v", got)
	}
	do(&input.Allocate{Attempt: at, Response: 1,
		Asks: []input.Ask{{Name: yarn.Any, Count: 1, Size: yarn.Resource{256, 1}, Relax: true}}})
	do(&input.NodeHeartbeat{ID: node.ID})
	got = do(&input.Allocate{Attempt: at, Response: 2}).(*input.AllocateReply)
	if len(got.Granted) != 1 || got.Granted[0].Container.Number != yarn.ContainerNumber(1+epochGap, 1) {
		t.Errorf("granted %+v", got.Granted)
	}
	// A second registration adds no container that this cluster has ended or did not allocate.
	do(&input.Allocate{Attempt: at, Response: 3, Releases: []yarn.ContainerID{id(2)}})
	do(&input.NodeHeartbeat{ID: node.ID, Statuses: []input.ContainerStatus{
		{Container: id(2), State: yarn.ContainerCompleted}}})
	do(&input.Allocate{Attempt: at, Response: 4})
	do(&input.Allocate{Attempt: at, Response: 5})
	if reply = do(node).(*input.RegisterNodeReply); len(reply.Kill) != 3 {
		t.Errorf("it must kill %v", reply.Kill)
	}
	do(&input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
	do(&input.NodeHeartbeat{ID: node.ID, Statuses: []input.ContainerStatus{
		{Container: id(1), State: yarn.ContainerCompleted}}})
	if a = running(r); a.State != yarn.AppFinished || p.State().Nodes.Get(1).PendingCleanups != 1 {
		t.Errorf("%s, %d cleanups", a.State, p.State().Nodes.Get(1).PendingCleanups)
	}
}

// TestLostNode checks that if the AM's node does not come back, the attempt expires and the next
// one starts.
func TestLostNode(t *testing.T) {
	r := taken(t, recorded(t), options("default,batch"))
	p, err := planner.New(r.State, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Plan(now+600_000, input.Request{Input: &input.ExpireAttempt{Attempt: running(r).AttemptID()}})
	if a := running(r); a.Attempt != 2 || a.State.Ended() {
		t.Errorf("attempt %d of an application that is %s", a.Attempt, a.State)
	}
	if err := p.State().Check(); err != nil {
		t.Fatal(err)
	}
}

// TestLabels checks that an application keeps its label. The cluster does not list the label until
// an administrator adds it, so the next AM waits.
func TestLabels(t *testing.T) {
	s := recorded(t)
	a := &s.Applications[2]
	a.Context = append(a.Context, 16<<3&0x7f|2|0x80, 16<<3>>7, 1, 'x') // node_label_expression
	a.Attempts = nil
	o := options("default,batch")
	r, err := New(s, o)
	if err != nil || len(r.Problems) != 1 || r.Problems[0].What != "it uses node labels" {
		t.Fatalf("problems = %+v, %v, want one: it uses node labels", r.Problems, err)
	}
	o.Properties = append(o.Properties, input.Property{Name: "yarn.node-labels.enabled", Value: "true"})
	st := taken(t, s, o).State
	got := st.Apps.Get(st.Apps.ByID(a.ID))
	if got.DefaultLabel() != "x" || got.Details().AMLabel != "x" || st.Labels.Name(got.AMLabel) != "x" ||
		st.Labels.Name(st.Asks.Get(got.Asks).Label) != "x" {
		t.Errorf("labels %q, %+v", got.DefaultLabel(), got.Details())
	}
	if _, listed := st.Labels.Listed("x"); listed || st.Labels.Find("x") == 0 {
		t.Error("the label is in the collection, or not known")
	}
}

func TestRefusals(t *testing.T) {
	const third = "application_1795453977887_0003"
	for _, c := range []struct {
		name    string
		edit    func(s *statestore.Store)
		queues  string
		problem string // name and reason
		ended   int    // number of ended applications in the result
	}{
		{"queue of a running application", func(*statestore.Store) {}, "batch",
			third + ": its queue default does not exist here", 1},
		{"two running with one number", func(s *statestore.Store) {
			other := s.Applications[2]
			other.ID.ClusterTimestamp, other.Context = 1, rename(t, other.Context)
			s.Applications = append([]statestore.Application{other}, s.Applications...)
		}, "default,batch", third + ": it has the number of application_1_0003, and neither has ended", 2},
		{"damaged context", func(s *statestore.Store) { s.Applications[2].Context = []byte("x") }, "default,batch",
			third + ": invalid message", 2},
		{"old key", func(s *statestore.Store) {
			s.DelegationKeys = append(s.DelegationKeys, statestore.Key{ID: 3, Bytes: []byte("k")},
				statestore.Key{ID: 4, Bytes: []byte("k")})
			s.DelegationTokens[0].KeyID = 3
		}, "default,batch", "RMDelegationToken_2: it is signed with key 2; rmd keeps the keys 3 and 4", 2},
		{"attempt without AM", func(s *statestore.Store) { s.Applications[2].Attempts[0].Master = 0 }, "default,batch",
			third + ": attempt 1 has no AM container", 2},
		{"of the reader", func(s *statestore.Store) {
			s.Problems = append(s.Problems, statestore.Problem{Name: "reservation_1_0001", What: "it is a reservation", Do: "x"})
		}, "default,batch", "reservation_1_0001: it is a reservation", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := recorded(t)
			c.edit(s)
			r, err := New(s, options(c.queues))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Problems) != 1 || r.State != nil ||
				!strings.Contains(r.Problems[0].Name+": "+r.Problems[0].What, c.problem) || r.Problems[0].Do == "" {
				t.Fatalf("%+v does not say %q", r.Problems, c.problem)
			}
			skipped := taken(t, s, options(c.queues, r.Problems[0].Name))
			if skipped.Ended != c.ended {
				t.Errorf("ended applications with the faulty one skipped: %d, want %d",
					skipped.Ended, c.ended)
			}
		})
	}
	r, err := New(recorded(t), options("default,batch", "application_1_0001"))
	if err != nil || len(r.Problems) != 1 {
		t.Errorf("New with an unknown application to skip = %+v, %v, want one problem", r, err)
	}
}

// rename replaces the cluster timestamp in a submission context with 1.
func rename(t testing.TB, context []byte) []byte {
	t.Helper()
	const at = 1795453977887
	var long []byte
	for v := uint64(at); ; v >>= 7 {
		if v < 1<<7 {
			long = append(long, byte(v))
			break
		}
		long = append(long, byte(v)|1<<7)
	}
	short := []byte{0x81, 0x80, 0x80, 0x80, 0x80, 0x00}
	out := strings.Replace(string(context), string(long), string(short), 1)
	if out == string(context) {
		t.Fatal("the context has another timestamp")
	}
	return []byte(out)
}

// TestEndedAttempts checks that failures of attempts count, that missing attempts are added, and
// which applications continue.
func TestEndedAttempts(t *testing.T) {
	s := recorded(t)
	a := &s.Applications[2]
	a.Attempts[0].Number, a.Attempts[0].State, a.Attempts[0].ExitStatus = 3, yarn.AppFailed, 1
	r := taken(t, s, options("default,batch"))
	if len(r.Waiting)+r.Ended != 3 {
		t.Fatalf("%d applications wait, %d ended, want 3 in all", len(r.Waiting), r.Ended)
	}
	got := r.State.Apps.Get(r.State.Apps.ByID(a.ID))
	if got.Failures != 1 {
		t.Errorf("%d failures", got.Failures)
	}
	a.Attempts[0].State, a.Attempts[0].Final = yarn.AppFinished, yarn.FinalSucceeded
	r = taken(t, s, options("default,batch"))
	if got = r.State.Apps.Get(r.State.Apps.ByID(a.ID)); got.State != yarn.AppFinished || got.Final != yarn.FinalSucceeded {
		t.Errorf("application is %s, %s, want %s, %s",
			got.State, got.Final, yarn.AppFinished, yarn.FinalSucceeded)
	}
	a.Attempts = nil
	r = taken(t, s, options("default,batch"))
	if got = r.State.Apps.Get(r.State.Apps.ByID(a.ID)); len(r.Waiting) != 1 || got.Attempt != 1 || got.Outstanding != 1 {
		t.Errorf("%+v, attempt %d asks %d", r.Waiting, got.Attempt, got.Outstanding)
	}
}
