package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/state"
	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/internal/portblock"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// The protocols of YARN's four ports.
const (
	clientProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	masterProtocol  = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	trackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
	adminProtocol   = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
	haProtocol      = "org.apache.hadoop.ha.HAServiceProtocol"
)

// ports are the addresses of YARN's ports of one replica.
type ports struct{ client, scheduler, tracker, admin string }

// hadoopCluster is a cluster of real processes with Hadoop's ports, and a client for these ports.
type hadoopCluster struct {
	*processes
	ipc  *ipc.Client
	at   map[*process]ports
	conf string // directory of Hadoop's files
	site []string
	// ticket returns the ticket of a user, who is called by a principal then. It is nil without Kerberos.
	ticket func(principal string) func(service, host string) (gss.Ticket, error)
}

// queueFile configures two queues that may each use the whole cluster.
const queueFile = `root.queues=a,b root.a.capacity=50 root.b.capacity=50 root.a.maximum-capacity=100 root.b.maximum-capacity=100
root.a.user-limit-factor=10 root.b.user-limit-factor=10 maximum-am-resource-percent=1 node-locality-delay=0`

// newHadoop writes the files of n replicas with Hadoop's ports. site has additional keys and values
// for yarn-site.xml.
func newHadoop(t testing.TB, n int, more string, site ...string) *hadoopCluster {
	t.Helper()
	dir := t.TempDir()
	h := &hadoopCluster{at: map[*process]ports{}, conf: dir}
	h.processes = newProcesses(t, n, calm, fmt.Sprintf("  bootstrap_expect: %d\n", n),
		"hadoop:\n  conf_dir: "+dir+"\n"+more)
	free := portblock.Open(t).TakeAll(4 * n)
	var ids []string
	for i, p := range h.all {
		at := func(k int) string { return fmt.Sprintf("127.0.0.1:%d", free[4*i+k]) }
		h.at[p] = ports{at(0), at(1), at(2), at(3)}
		h.site = append(h.site, "yarn.resourcemanager.address."+p.id, at(0),
			"yarn.resourcemanager.scheduler.address."+p.id, at(1),
			"yarn.resourcemanager.resource-tracker.address."+p.id, at(2), "yarn.resourcemanager.admin.address."+p.id, at(3))
		ids = append(ids, p.id)
	}
	h.site = append(h.site, "yarn.resourcemanager.ha.enabled", "true", "yarn.resourcemanager.ha.rm-ids",
		strings.Join(ids, ","),
		"yarn.scheduler.minimum-allocation-mb", "512")
	h.writeSite(site...)
	h.write("capacity-scheduler.xml", queuesOf(queueFile)...)
	cfg := ipc.DefaultClientConfig()
	cfg.Logger, cfg.ConnectTimeout = hclog.NewNullLogger(), 20*time.Second
	var err error
	if h.ipc, err = ipc.OpenClient(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.ipc.Close() })
	return h
}

// newSecured writes the files of n replicas behind Kerberos, in a realm TEST that has no KDC.
func newSecured(t testing.TB, n int, site ...string) *hadoopCluster {
	t.Helper()
	setRealm(t)
	const service = "rm/127.0.0.1@TEST"
	key := gsstest.NewKey(t, service, 18, 1)
	h := newHadoop(t, n, "", append(site, "hadoop.security.authentication", "kerberos",
		"yarn.resourcemanager.principal", service, "yarn.resourcemanager.keytab", gsstest.Keytab(t, key),
		"yarn.nodemanager.principal", "nm/_HOST@TEST", "hadoop.security.auth_to_local", "RULE:[2:$1]DEFAULT")...)
	h.ticket = func(principal string) func(string, string) (gss.Ticket, error) {
		ticket := key.Ticket(t, principal, nil)
		return func(string, string) (gss.Ticket, error) { return ticket, nil }
	}
	return h
}

// setRealm makes TEST the realm of the processes of a test.
func setRealm(t testing.TB) {
	t.Helper()
	krb5 := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(krb5, []byte("[libdefaults]\ndefault_realm = TEST\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", krb5)
}

// queuesOf returns the keys and values of a queue configuration such as queueFile.
func queuesOf(file string) (pairs []string) {
	for _, pair := range strings.Fields(file) {
		key, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, "yarn.scheduler.capacity."+key, value)
	}
	return pairs
}

func (h *hadoopCluster) writeSite(more ...string) {
	h.t.Helper()
	h.write("yarn-site.xml", append(h.site[:len(h.site):len(h.site)], more...)...)
}

func (h *hadoopCluster) write(name string, pairs ...string) {
	h.t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", pairs[i], pairs[i+1])
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(filepath.Join(h.conf, name), []byte(b.String()), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// startHadoop starts n replicas and waits until each is ready.
func startHadoop(t *testing.T, n int, more string, site ...string) *hadoopCluster {
	t.Helper()
	h := newHadoop(t, n, more, site...)
	for _, p := range h.all {
		h.start(p)
	}
	h.awaitReady(h.all...)
	return h
}

// call calls a method at one address as a user. It tries no other replica.
func (h *hadoopCluster) call(address, protocol, user, method string, req, reply gproto.Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	to := h.caller(user)
	to.Address, to.Protocol = address, protocol
	return h.ipc.Call(ctx, to, method, req, reply)
}

// caller returns a user with a ticket if the cluster demands one.
func (h *hadoopCluster) caller(user string) ipc.Target {
	to := ipc.Target{User: user}
	if h.ticket != nil {
		to.Ticket = h.ticket(user)
	}
	return to
}

func (h *hadoopCluster) must(address, protocol, user, method string, req, reply gproto.Message) {
	h.t.Helper()
	if err := h.call(address, protocol, user, method, req, reply); err != nil {
		h.t.Fatalf("%s at %s: %v", method, address, err)
	}
}

// refusedWith checks that err has the Java class and that its message contains says.
func refusedWith(t testing.TB, err error, class, says string) {
	t.Helper()
	var e *ipc.RemoteError
	if !errors.As(err, &e) || e.Class != class || !strings.Contains(e.Message, says) {
		t.Errorf("refused with %v, not %s: %s", err, class, says)
	}
}

// roamer calls like Hadoop's clients. If its replica is gone or answers that it is standby, it
// repeats the same call at the next replica.
type roamer struct {
	h        *hadoopCluster
	protocol string
	port     func(ports) string
	user     string
	token    *ipc.Token

	mu sync.Mutex
	at int // index of the replica
}

func (r *roamer) where() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.all[r.at]
}

func (r *roamer) call(method string, req, reply gproto.Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		p := r.where()
		err := r.h.ipc.Call(ctx, ipc.Target{Address: r.port(r.h.at[p]), Protocol: r.protocol, User: r.user, Token: r.token},
			method, req, reply)
		var e *ipc.RemoteError
		if err == nil || (errors.As(err, &e) && e.Class != ipc.ClassStandby) {
			return err
		}
		r.mu.Lock()
		r.at = (r.at + 1) % len(r.h.all)
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", method, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// nodeManager is a fake NodeManager that sends heartbeats in the background. An answer that would
// make a real NodeManager register again or shut down fails the test.
type nodeManager struct {
	roamer
	id       *proto.NodeIdProto
	rm       int64
	beats    atomic.Int64
	paused   atomic.Bool // it sends nothing, as a NodeManager that was stopped with SIGSTOP
	response int32
	took     atomic.Pointer[func(time.Duration)] // gets the duration of each heartbeat; nil: nobody does

	mu      sync.Mutex
	keys    map[[2]int32][]byte // by kind and key id
	newest  [2]int32
	running map[yarn.ContainerID]*proto.ContainerStatusProto
	cleanup map[yarn.ContainerID]bool
}

const (
	containerKey = iota
	nmKey
)

// node registers a node of 8 GiB at a replica and starts its heartbeats.
func (h *hadoopCluster) node(at int, host string) *nodeManager {
	h.t.Helper()
	n := &nodeManager{id: wire.NodeIDProto(yarn.NodeID{Host: host, Port: 45454}), keys: map[[2]int32][]byte{},
		running: map[yarn.ContainerID]*proto.ContainerStatusProto{}, cleanup: map[yarn.ContainerID]bool{}}
	n.roamer = roamer{h: h, protocol: trackerProtocol, port: func(p ports) string { return p.tracker },
		user: "yarn", at: at}
	var out proto.RegisterNodeManagerResponseProto
	req := &proto.RegisterNodeManagerRequestProto{NodeId: n.id, HttpPort: new(int32(8042)), NmVersion: new("3.4.2"),
		Resource: wire.ResourceProto(yarn.NewResource(8192, 8), yarn.DefaultKinds())}
	if err := n.call("registerNodeManager", req, &out); err != nil ||
		out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
		h.t.Fatalf("register %s: %v, %v", host, &out, err)
	}
	n.rm = out.GetRmIdentifier()
	n.take(out.GetContainerTokenMasterKey(), out.GetNmTokenMasterKey())
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if n.paused.Load() {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			if err := n.beat(); err != nil {
				h.t.Errorf("%s at %s: %v", host, n.where().id, err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	h.t.Cleanup(func() { stop(); wg.Wait() })
	return n
}

func (n *nodeManager) take(keys ...*proto.MasterKeyProto) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for kind, k := range keys {
		if k != nil {
			n.keys[[2]int32{int32(kind), k.GetKeyId()}], n.newest[kind] = k.GetBytes(), k.GetKeyId()
		}
	}
}

// beat sends one heartbeat.
func (n *nodeManager) beat() error {
	n.mu.Lock()
	status := &proto.NodeStatusProto{NodeId: n.id, ResponseId: &n.response,
		NodeHealthStatus: &proto.NodeHealthStatusProto{IsNodeHealthy: new(true), HealthReport: new("")}}
	for _, s := range n.running {
		status.ContainersStatuses = append(status.ContainersStatuses, gproto.CloneOf(s))
	}
	req := &proto.NodeHeartbeatRequestProto{NodeStatus: gproto.CloneOf(status),
		LastKnownContainerTokenMasterKey: &proto.MasterKeyProto{KeyId: new(n.newest[containerKey])},
		LastKnownNmTokenMasterKey:        &proto.MasterKeyProto{KeyId: new(n.newest[nmKey])}}
	n.mu.Unlock()
	var out proto.NodeHeartbeatResponseProto
	began := time.Now()
	if err := n.call("nodeHeartbeat", req, &out); err != nil {
		return err
	}
	if f := n.took.Load(); f != nil {
		(*f)(time.Since(began))
	}
	if out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL || out.GetResponseId() != n.response+1 {
		return fmt.Errorf("heartbeat %d is answered with %s, %d: %s", n.response, out.GetNodeAction(), out.GetResponseId(),
			out.GetDiagnosticsMessage())
	}
	n.response = out.GetResponseId()
	n.take(out.GetContainerTokenMasterKey(), out.GetNmTokenMasterKey())
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range out.GetContainersToCleanup() {
		if id, err := wire.ContainerID(c); err == nil && n.running[id] != nil {
			n.cleanup[id] = true
		}
	}
	for _, c := range out.GetContainersToBeRemovedFromNm() {
		if id, err := wire.ContainerID(c); err == nil {
			delete(n.running, id)
		}
	}
	n.beats.Add(1)
	return nil
}

// starts checks a container's token, as a NodeManager does when an AM starts a container, and
// starts the container.
func (n *nodeManager) starts(c *proto.ContainerProto) error {
	t := c.GetContainerToken()
	is, err := token.ParseContainer(t.GetIdentifier(), yarn.DefaultKinds())
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := n.keys[[2]int32{containerKey, is.KeyID}]
	node := fmt.Sprintf("%s:%d", n.id.GetHost(), n.id.GetPort())
	switch {
	case key == nil:
		return fmt.Errorf("the token's key %d was not handed out to %s", is.KeyID, node)
	case !bytes.Equal(token.Password(state.MasterKey{Bytes: key}, t.GetIdentifier()), t.GetPassword()):
		return errors.New("the token is not genuine")
	case is.Node != node || is.RMIdentifier != n.rm:
		return fmt.Errorf("the token is for %s of %d, not %s of %d", is.Node, is.RMIdentifier, node, n.rm)
	}
	n.running[is.ID] = &proto.ContainerStatusProto{ContainerId: c.GetId(),
		State: proto.ContainerStateProto_C_RUNNING.Enum(), ExitStatus: new(int32(-1000))}
	return nil
}

// ends completes a container.
func (n *nodeManager) ends(id yarn.ContainerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := gproto.CloneOf(n.running[id])
	s.State, s.ExitStatus = proto.ContainerStateProto_C_COMPLETE.Enum(), new(int32(0))
	n.running[id] = s
}

// runs reports whether a container runs and has not to be cleaned up.
func (n *nodeManager) runs(id yarn.ContainerID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running[id] != nil && !n.cleanup[id]
}

// beating waits until more heartbeats have been answered.
func (n *nodeManager) beating() {
	n.h.t.Helper()
	from := n.beats.Load()
	n.h.await(n.id.GetHost()+"'s heartbeats go on", patience, func() bool { return n.beats.Load() > from+2 })
}

// master is a fake AM.
type master struct {
	roamer
	id       yarn.AttemptID
	response int32
	nodes    map[string]*nodeManager
	nmTokens map[string]bool
	held     []*proto.ContainerProto // allocated containers, the oldest first
	ended    map[yarn.ContainerID]bool
}

// submit submits an unmanaged application at a replica and reads the AMRM token of the application
// there.
func (h *hadoopCluster) submit(at int, user, queue string) *master {
	h.t.Helper()
	m := h.submitted(at, user, queue)
	if m == nil {
		h.t.Fatal("the application has ended before its AM had a token")
	}
	return m
}

// submitted is submit for an application that others may kill. Then it returns nil.
func (h *hadoopCluster) submitted(at int, user, queue string) *master {
	h.t.Helper()
	address := h.at[h.all[at]].client
	var fresh proto.GetNewApplicationResponseProto
	h.must(address, clientProtocol, user, "getNewApplication", &proto.GetNewApplicationRequestProto{}, &fresh)
	h.must(address, clientProtocol, user, "submitApplication",
		&proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: &proto.ApplicationSubmissionContextProto{
			ApplicationId: fresh.GetApplicationId(), ApplicationName: new("test"), Queue: &queue, UnmanagedAm: new(true),
			AmContainerSpec: &proto.ContainerLaunchContextProto{},
			Resource:        wire.ResourceProto(yarn.NewResource(512, 1), yarn.DefaultKinds())}},
		&proto.SubmitApplicationResponseProto{})
	var out proto.GetApplicationReportResponseProto
	h.await("the AM's token", patience, func() bool {
		h.must(address, clientProtocol, user, "getApplicationReport",
			&proto.GetApplicationReportRequestProto{ApplicationId: fresh.GetApplicationId()}, &out)
		return out.GetApplicationReport().GetAmRmToken() != nil ||
			out.GetApplicationReport().GetYarnApplicationState() == proto.YarnApplicationStateProto_KILLED
	})
	if out.GetApplicationReport().GetAmRmToken() == nil {
		return nil
	}
	id, err := wire.AttemptID(out.GetApplicationReport().GetCurrentApplicationAttemptId())
	if err != nil {
		h.t.Fatal(err)
	}
	t := out.GetApplicationReport().GetAmRmToken()
	return &master{id: id, nodes: map[string]*nodeManager{}, nmTokens: map[string]bool{},
		ended: map[yarn.ContainerID]bool{},
		roamer: roamer{h: h, protocol: masterProtocol, port: func(p ports) string { return p.scheduler }, at: at,
			token: &ipc.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword()}}}
}

// registered submits an application, registers its AM, and gives it the nodes.
func (h *hadoopCluster) registered(at int, user, queue string, nodes ...*nodeManager) *master {
	h.t.Helper()
	m := h.submit(at, user, queue)
	for _, n := range nodes {
		m.nodes[n.id.GetHost()] = n
	}
	if err := m.register(); err != nil {
		h.t.Fatal(err)
	}
	return m
}

func (m *master) register() error {
	return m.call("registerApplicationMaster",
		&proto.RegisterApplicationMasterRequestProto{Host: new("am"), RpcPort: new(int32(-1))},
		&proto.RegisterApplicationMasterResponseProto{})
}

// wants returns an ask. If host is not empty, only that node is allowed.
func wants(priority, count int32, memory int64, host string) []*proto.ResourceRequestProto {
	names := []string{"*"}
	if host != "" {
		names = []string{host, "/default-rack", "*"}
	}
	var out []*proto.ResourceRequestProto
	for _, name := range names {
		out = append(out, &proto.ResourceRequestProto{Priority: wire.PriorityProto(priority), ResourceName: new(name),
			NumContainers: new(count),
			Capability:    wire.ResourceProto(yarn.NewResource(memory, 1), yarn.DefaultKinds()),
			RelaxLocality: new(host == "" || name == host)})
	}
	return out
}

// allocate sends one allocate call. The allocated containers start on their nodes.
func (m *master) allocate(ask ...*proto.ResourceRequestProto) (*proto.AllocateResponseProto, error) {
	return m.send(&proto.AllocateRequestProto{Ask: ask})
}

func (m *master) send(req *proto.AllocateRequestProto) (*proto.AllocateResponseProto, error) {
	req.ResponseId = &m.response
	out := new(proto.AllocateResponseProto)
	if err := m.call("allocate", gproto.CloneOf(req), out); err != nil {
		return nil, err
	}
	// after a change of leader, the response id continues at a higher number; Hadoop's AMs accept that
	if id := out.GetResponseId(); id <= m.response {
		return nil, fmt.Errorf("response %d to %d", id, m.response)
	}
	m.response = out.GetResponseId()
	for _, t := range out.GetNmTokens() {
		m.nmTokens[t.GetNodeId().GetHost()] = true
	}
	for _, c := range out.GetAllocatedContainers() {
		n := m.nodes[c.GetNodeId().GetHost()]
		if n == nil || !m.nmTokens[c.GetNodeId().GetHost()] {
			return nil, fmt.Errorf("container %v at a node without token, or not known", c.GetId())
		}
		if err := n.starts(c); err != nil {
			return nil, err
		}
		m.held = append(m.held, c)
	}
	for _, s := range out.GetCompletedContainerStatuses() {
		if id, err := wire.ContainerID(s.GetContainerId()); err == nil {
			m.ended[id] = true
		}
	}
	return out, nil
}

// beat sends an allocate call that must succeed.
func (m *master) beat(ask ...*proto.ResourceRequestProto) *proto.AllocateResponseProto {
	m.h.t.Helper()
	out, err := m.allocate(ask...)
	if err != nil {
		m.h.t.Fatalf("%s at %s: %v", m.id, m.where().id, err)
	}
	return out
}

// until sends an ask, and then calls allocate until the AM has count containers.
func (m *master) until(count int, ask ...*proto.ResourceRequestProto) {
	m.h.t.Helper()
	m.beat(ask...)
	m.h.await(fmt.Sprintf("%s holds %d containers", m.id, count), patience, func() bool {
		if len(m.held) < count {
			m.beat()
		}
		return len(m.held) >= count
	})
}

func (m *master) container(i int) yarn.ContainerID {
	m.h.t.Helper()
	id, err := wire.ContainerID(m.held[i].GetId())
	if err != nil {
		m.h.t.Fatal(err)
	}
	return id
}
