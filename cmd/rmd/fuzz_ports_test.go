package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"rmd/internal/gss/gsstest"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// fuzzMemory is the memory that a replica may use under random messages, in bytes above what it used
// before them.
const fuzzMemory = 400 << 20

// fuzzedMethods are the methods of YARN's ports, by protocol. Behind a colon is the name of the request
// where it differs.
var fuzzedMethods = map[string]string{
	clientProtocol: `getNewApplication submitApplication getApplicationReport getApplications forceKillApplication:KillApplication
		failApplicationAttempt moveApplicationAcrossQueues updateApplicationPriority updateApplicationTimeouts
		signalToContainer:SignalContainer getApplicationAttemptReport getApplicationAttempts getContainerReport getContainers
		getClusterMetrics getClusterNodes getQueueInfo getQueueUserAcls:GetQueueUserAclsInfo getDelegationToken renewDelegationToken
		cancelDelegationToken getResourceProfile getNodeToLabels:GetNodesToLabels getLabelsToNodes getClusterNodeLabels
		getClusterNodeAttributes getAttributesToNodes getNodesToAttributes`,
	masterProtocol:  `registerApplicationMaster allocate finishApplicationMaster`,
	trackerProtocol: `registerNodeManager nodeHeartbeat unRegisterNodeManager`,
	adminProtocol: `refreshQueues refreshNodes refreshSuperUserGroupsConfiguration refreshUserToGroupsMappings
		refreshAdminAcls refreshServiceAcls refreshNodesResources getGroupsForUser
		updateNodeResource checkForDecommissioningNodes addToClusterNodeLabels removeFromClusterNodeLabels
		replaceLabelsOnNodes:ReplaceLabelsOnNode mapAttributesToNodes:NodesToAttributesMapping`,
}

// rareMethods are called rarely, as are those that read files again: they add to the state, or end the
// application that makes the other calls.
var rareMethods = []string{"getDelegationToken", "addToClusterNodeLabels", "finishApplicationMaster"}

// TestFuzzPorts sends RMD_FUZZ_MESSAGES random messages to YARN's ports behind Kerberos: broken
// handshakes, and then, under each quality of protection, calls of all methods with random or broken
// requests; and a hundredth as many requests to the REST port. The replica must go on to serve an honest
// caller and stay within its memory, and nothing may panic.
func TestFuzzPorts(t *testing.T) {
	total, err := strconv.ParseInt(os.Getenv("RMD_FUZZ_MESSAGES"), 10, 64)
	if err != nil {
		t.Skip("RMD_FUZZ_MESSAGES is not set: make fuzz-ports")
	}
	t.Setenv("GOGC", "400") // fewer collections, so that more messages are sent in the same time
	t.Run("YARN", func(t *testing.T) { fuzzYARN(t, total) })
	t.Run("REST", func(t *testing.T) { fuzzWeb(t, total/100) })
}

// fuzzYARN sends random messages to YARN's four ports.
func fuzzYARN(t *testing.T, total int64) {
	f := newPortsFuzzer(t, total)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f.stop = stop
	before := f.all[0].resident()
	var wg sync.WaitGroup
	for _, p := range f.targets() {
		for i, q := range []ipc.Protection{ipc.Authentication, ipc.Integrity, ipc.Privacy} {
			wg.Go(func() { f.established(ctx, p, q, uint64(i)) })
		}
		for i := range 8 { // a server may wait for the rest of a frame
			wg.Go(func() { f.handshakes(ctx, p, uint64(i)) })
		}
	}
	most, slowest := before, time.Duration(0)
	for ctx.Err() == nil {
		from := time.Now()
		f.must(f.at[f.all[0]].client, clientProtocol, "honest@TEST", "getClusterMetrics",
			&proto.GetClusterMetricsRequestProto{}, &proto.GetClusterMetricsResponseProto{})
		slowest = max(slowest, time.Since(from))
		most = max(most, f.all[0].resident())
		time.Sleep(time.Second)
	}
	wg.Wait()
	checkFuzzed(t, f.all[0], before, most)
	f.report()
	t.Logf("seed %d: %d messages; the slowest of the honest calls took %v; memory %d MiB before, %d MiB at most",
		f.seed, f.answered.Load(), slowest, before>>20, most>>20)
}

// checkFuzzed checks that a replica runs, has not panicked and stayed within its memory.
func checkFuzzed(t *testing.T, p *process, before, most int64) {
	t.Helper()
	if p.cmd.ProcessState != nil || strings.Contains(p.logged(), "panic") {
		t.Errorf("%s has stopped, or has panicked", p.id)
	}
	if most > before+overhead*fuzzMemory {
		t.Errorf("the memory went from %d to %d MiB", before>>20, most>>20)
	}
}

// portsFuzzer is one run.
type portsFuzzer struct {
	*hadoopCluster
	seed     uint64
	total    int64
	answered atomic.Int64 // calls with an answer, and handshakes
	stop     context.CancelFunc

	mu    sync.Mutex
	calls map[string]*fuzzCount
}

// fuzzCount counts what became of the calls of one protocol, or of its handshakes.
type fuzzCount struct{ served, refused, broken atomic.Int64 }

func newPortsFuzzer(t *testing.T, total int64) *portsFuzzer {
	f := &portsFuzzer{seed: uint64(time.Now().UnixNano()), total: total, calls: map[string]*fuzzCount{}}
	f.hadoopCluster = newSecured(t, 1, "hadoop.rpc.protection", "authentication,integrity,privacy",
		"yarn.acl.enable", "true", "yarn.admin.acl", "admin", "yarn.node-labels.enabled", "true")
	f.start(f.all[0])
	f.awaitReady(f.all[0])
	return f
}

// fuzzTarget is a protocol at a port, with a caller that the port admits.
type fuzzTarget struct {
	name   string
	target func() (ipc.Target, error) // credentials that are valid now
	corpus *corpus
}

// targets returns the four ports. The client port is there twice, with tickets and with tokens.
func (f *portsFuzzer) targets() []fuzzTarget {
	at := f.at[f.all[0]]
	ticket := func(address, protocol, user string) func() (ipc.Target, error) {
		return func() (ipc.Target, error) {
			to := f.caller(user)
			to.Address, to.Protocol = address, protocol
			return to, nil
		}
	}
	var fresh proto.GetNewApplicationResponseProto
	f.must(at.client, clientProtocol, "ann@TEST", "getNewApplication", &proto.GetNewApplicationRequestProto{}, &fresh)
	random := func(n uint64) *random {
		return &random{rand.New(rand.NewPCG(f.seed, n)), append(fuzzedNumbers, fresh.GetApplicationId().GetClusterTimestamp())}
	}
	return []fuzzTarget{
		{"client, ticket", ticket(at.client, clientProtocol, "ann@TEST"), newCorpus(f.t, random(1), clientProtocol)},
		{"client, token", f.delegated, newCorpus(f.t, random(2), clientProtocol)},
		{"scheduler, token", f.unmanaged, newCorpus(f.t, random(3), masterProtocol)},
		{"tracker, ticket", ticket(at.tracker, trackerProtocol, "nm/127.0.0.1@TEST"), newCorpus(f.t, random(4), trackerProtocol)},
		{"admin, ticket", ticket(at.admin, adminProtocol, "admin@TEST"), newCorpus(f.t, random(5), adminProtocol)},
	}
}

// delegated returns a caller with a new delegation token.
func (f *portsFuzzer) delegated() (ipc.Target, error) {
	at := f.at[f.all[0]].client
	var out proto.GetDelegationTokenResponseProto
	err := f.call(at, clientProtocol, "bob@TEST", "getDelegationToken", &proto.GetDelegationTokenRequestProto{Renewer: new("yarn")},
		&out)
	is := out.GetToken()
	return ipc.Target{Address: at, Protocol: clientProtocol,
		Token: &ipc.Token{Identifier: is.GetIdentifier(), Password: is.GetPassword()}}, err
}

// unmanaged returns the caller that is the AM of a new application. Requests among the random ones
// end it, also before it has registered.
func (f *portsFuzzer) unmanaged() (ipc.Target, error) {
	for {
		m := f.submitted(0, "ann@TEST", "a")
		if m == nil {
			continue
		}
		err := m.register()
		var refused *ipc.RemoteError
		if errors.As(err, &refused) && strings.Contains(refused.Class, "ApplicationAttemptNotFound") {
			continue
		}
		return ipc.Target{Address: f.at[f.all[0]].scheduler, Protocol: masterProtocol, Token: m.token}, err
	}
}

// count returns the counter of a kind of message.
func (f *portsFuzzer) count(name string) *fuzzCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[name]
	if c == nil {
		c = new(fuzzCount)
		f.calls[name] = c
	}
	return c
}

// done counts one message.
func (f *portsFuzzer) done(c *fuzzCount, err error) {
	var refused *ipc.RemoteError
	switch {
	case err == nil:
		c.served.Add(1)
	case errors.As(err, &refused):
		c.refused.Add(1)
	default:
		c.broken.Add(1)
		return
	}
	if f.answered.Add(1) >= f.total {
		f.stop()
	}
}

func (f *portsFuzzer) report() {
	for _, name := range slices.Sorted(maps.Keys(f.calls)) {
		c := f.calls[name]
		served, refused := c.served.Load(), c.refused.Load()
		f.t.Logf("%-34s %10d served %10d refused %8d without an answer", name, served, refused, c.broken.Load())
		if served == 0 || refused == 0 {
			f.t.Errorf("%s: all have one outcome, so that the messages are not what this test is named after", name)
		}
	}
}

// newClient returns a client whose connections change what they write, one of so many times.
func (f *portsFuzzer) newClient(quality ipc.Protection, oneOf int, seed uint64) *ipc.Client {
	cfg := ipc.DefaultClientConfig()
	cfg.Logger, cfg.Protection, cfg.ConnectTimeout = hclog.NewNullLogger(), quality, time.Second
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		seed++
		return &brokenConn{Conn: nc, rng: rand.New(rand.NewPCG(f.seed, seed)), oneOf: oneOf}, nil
	}
	c, err := ipc.OpenClient(cfg)
	if err != nil {
		panic(err) // the configuration is constant
	}
	return c
}

// brokenConn changes some of what is written to it.
type brokenConn struct {
	net.Conn
	rng   *rand.Rand
	oneOf int
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.rng.IntN(c.oneOf) > 0 {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(gsstest.Mutate(c.rng, b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// handshakes breaks handshakes until the context ends.
func (f *portsFuzzer) handshakes(ctx context.Context, p fuzzTarget, n uint64) {
	client := f.newClient(ipc.Authentication|ipc.Integrity|ipc.Privacy, 4, n<<40)
	defer client.Close()
	count := f.count("handshakes: " + p.name)
	to, err := p.target()
	for i := 0; ctx.Err() == nil; i++ {
		if err != nil {
			f.t.Errorf("%s: %v", p.name, err)
			return
		}
		c, fault := client.Connect(ctx, to)
		if fault == nil {
			_ = c.Close()
		}
		f.done(count, fault)
		if i%1000 == 999 { // a token may be cancelled, an application finish, a ticket expire
			to, err = p.target()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// established sends calls on connections of one quality of protection until the context ends. Some
// frames are broken on their way, which ends the connection.
func (f *portsFuzzer) established(ctx context.Context, p fuzzTarget, quality ipc.Protection, n uint64) {
	client := f.newClient(quality, 20_000, n<<33)
	defer client.Close()
	count := f.count(fmt.Sprintf("%s, %v", p.name, quality))
	rng := rand.New(rand.NewPCG(f.seed, n))
	var req []byte
	for ctx.Err() == nil {
		to, err := p.target()
		if err != nil {
			f.t.Errorf("%s: %v", p.name, err)
			return
		}
		c, err := client.Connect(ctx, to)
		if err != nil {
			continue // the broken frame was one of the handshake
		}
		for err == nil && ctx.Err() == nil {
			var method string
			method, req = p.corpus.next(rng, req)
			err = c.Go(ctx, method, req, func(_ []byte, err error) { f.done(count, err) })
		}
		_ = c.Close()
	}
}

// corpus has requests of the methods of a protocol.
type corpus struct {
	methods []corpusMethod
}

type corpusMethod struct {
	name     string
	rare     bool
	requests [][]byte
}

// newCorpus returns random requests of each method of a protocol. A request has the name of its method.
func newCorpus(t testing.TB, rng *random, protocol string) *corpus {
	c := &corpus{}
	for _, method := range strings.Fields(fuzzedMethods[protocol]) {
		name, request, named := strings.Cut(method, ":")
		if !named {
			request = strings.ToUpper(name[:1]) + name[1:]
		}
		full := protoreflect.FullName("rmd.hadoop." + request + "RequestProto")
		kind, err := protoregistry.GlobalTypes.FindMessageByName(full)
		if err != nil {
			t.Fatalf("%s: %v", full, err)
		}
		m := corpusMethod{name: name, rare: strings.HasPrefix(name, "refresh") || slices.Contains(rareMethods, name)}
		for range 500 {
			message := kind.New()
			rng.message(message, 5)
			b, err := gproto.MarshalOptions{AllowPartial: true}.Marshal(message.Interface())
			if err != nil {
				t.Fatal(err)
			}
			m.requests = append(m.requests, b)
		}
		c.methods = append(c.methods, m)
	}
	return c
}

// next returns a method and a request, which may be broken. It reuses the bytes of to.
func (c *corpus) next(rng *rand.Rand, to []byte) (method string, req []byte) {
	m := &c.methods[rng.IntN(len(c.methods))]
	if m.rare && rng.IntN(100) > 0 {
		return c.next(rng, to)
	}
	req = append(to[:0], m.requests[rng.IntN(len(m.requests))]...)
	if rng.IntN(2) == 0 {
		req = gsstest.Mutate(rng, req)
	}
	if rng.IntN(1000) == 0 {
		return m.name[:rng.IntN(len(m.name))], req
	}
	return m.name, req
}

// fuzzedStrings are strings that mean something to YARN.
var fuzzedStrings = []string{"", "a", "b", "root", "root.a", "root.b", "*", "default", "ann", "bob", "nm", "yarn", "127.0.0.1",
	"node1", "/default-rack", "MAPREDUCE", "SPARK", "gpu", "x=y", "memory-mb", "vcores", "yarn.io/gpu", "Mi", "3.4.2", "KILLED",
	"2038-01-01T00:00:00.000+0000", "%", "\x00", "é", strings.Repeat("long", 1000)}

// fuzzedNumbers are in the requests beside the time stamp of the cluster, by which its applications are
// known.
var fuzzedNumbers = []int64{0, 1, 2, 3, 5, 512, 1024, 45454, -1, 1 << 31, -1 << 31, 1<<31 - 1, 1<<63 - 1, -1 << 63}

// random makes random messages.
type random struct {
	*rand.Rand
	numbers []int64
}

// message sets random fields of a message, with messages in them as deep as given.
func (rng *random) message(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		message := fd.Kind() == protoreflect.MessageKind
		if fd.IsMap() || message && depth == 0 || fd.Cardinality() != protoreflect.Required && rng.IntN(3) == 0 {
			continue
		}
		one := func() protoreflect.Value {
			if !message {
				return rng.scalar(fd)
			}
			var v protoreflect.Value
			if fd.IsList() {
				v = m.Mutable(fd).List().NewElement()
			} else {
				v = m.NewField(fd)
			}
			rng.message(v.Message(), depth-1)
			return v
		}
		if !fd.IsList() {
			m.Set(fd, one())
			continue
		}
		for range rng.IntN(4) {
			m.Mutable(fd).List().Append(one())
		}
	}
}

func (rng *random) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	n := rng.numbers[rng.IntN(len(rng.numbers))]
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		all := fd.Enum().Values()
		return protoreflect.ValueOfEnum(all.Get(rng.IntN(all.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(fuzzedStrings[rng.IntN(len(fuzzedStrings))]))
	default:
		return protoreflect.ValueOfString(fuzzedStrings[rng.IntN(len(fuzzedStrings))])
	}
}
