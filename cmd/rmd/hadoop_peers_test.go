package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"

	"rmd/internal/quantile"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// TestHadoopHostilePeers attacks the four ports of a replica while a client, a NodeManager and an
// AM use them normally. The replica must refuse or disconnect the attackers and continue to serve
// the others.
func TestHadoopHostilePeers(t *testing.T) {
	h := startHadoop(t, 1, "", "yarn.resourcemanager.delegation.token.max-lifetime", "5000",
		"yarn.resourcemanager.delegation.token.renew-interval", "5000")
	good, other := h.node(0, "127.0.0.6"), h.node(0, "127.0.0.7")
	am := h.registered(0, "ann", "a", good, other)
	am.until(1, wants(1, 1, 1024, "127.0.0.6")...)
	rival := h.registered(0, "eve", "b", good, other)
	before := h.memory(h.all[0])
	well := h.behave()
	t.Run("frames", h.badFrames)
	t.Run("protocols", h.wrongProtocols)
	t.Run("tokens", func(t *testing.T) { h.badTokens(t, am, rival) })
	t.Run("containers", func(t *testing.T) { othersContainers(t, am, rival, good, other) })
	t.Run("crowd", h.crowd)
	well(t)
	am.until(2, wants(2, 1, 512, "")...)
	h.held([]*nodeManager{good, other}, am)
	if after := h.memory(h.all[0]); after > before+overhead*256<<20 {
		t.Errorf("memory went from %d to %d MiB", before>>20, after>>20)
	} else {
		t.Logf("memory went from %d to %d MiB", before>>20, after>>20)
	}
}

// memory returns the resident memory of a process in bytes.
func (h *hadoopCluster) memory(p *process) int64 {
	h.t.Helper()
	n := p.resident()
	if n == 0 {
		h.t.Skip("the system does not tell the memory of a process")
	}
	return n
}

// behave starts a client that calls all the time. The function that it returns stops the client and
// checks how the client was served.
func (h *hadoopCluster) behave() func(*testing.T) {
	stop, end := make(chan struct{}), sync.WaitGroup{}
	var took []time.Duration
	var failed error
	end.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			began := time.Now()
			err := h.call(h.at[h.all[0]].client, clientProtocol, "ann", "getClusterMetrics",
				&proto.GetClusterMetricsRequestProto{}, &proto.GetClusterMetricsResponseProto{})
			if took = append(took, time.Since(began)); err != nil {
				failed = err
			}
		}
	})
	h.t.Cleanup(sync.OnceFunc(func() {
		select {
		case <-stop:
		default:
			close(stop)
		}
		end.Wait()
	}))
	return func(t *testing.T) {
		close(stop)
		end.Wait()
		slices.Sort(took)
		p99 := quantile.Of(took, 0.99)
		t.Logf("%d calls beside them: %s (median), %s (p99), %s (max)", len(took), quantile.Of(took, 0.5), p99,
			took[len(took)-1])
		if failed != nil {
			t.Errorf("a well-behaved client was refused: %v", failed)
		}
		if p99 > 10*time.Second || len(took) < 20 { // only checks that calls are served; their speed depends on the machine
			t.Errorf("a well-behaved client waited %s (p99 of %d calls)", p99, len(took))
		}
	}
}

func (p ports) all() []string { return []string{p.client, p.scheduler, p.tracker, p.admin} }

// hello returns the bytes of a caller without a token, up to its first call.
func hello(protocol string) []byte {
	header := &proto.RpcRequestHeaderProto{RpcKind: proto.RpcKindProto_RPC_PROTOCOL_BUFFER.Enum(),
		RpcOp:  proto.RpcRequestHeaderProto_RPC_FINAL_PACKET.Enum(),
		CallId: new(int32(-3)), ClientId: bytes.Repeat([]byte{7}, 16), RetryCount: new(int32(-1))}
	var frame bytes.Buffer
	_, _ = protodelim.MarshalTo(&frame, header) // writing to a buffer cannot fail
	_,
		_ = protodelim.MarshalTo(&frame, &proto.IpcConnectionContextProto{
		UserInfo: &proto.UserInformationProto{EffectiveUser: new("eve")}, Protocol: &protocol})
	out := []byte("hrpc\x09\x00\x00")
	out = binary.BigEndian.AppendUint32(out, uint32(frame.Len()))
	return append(out, frame.Bytes()...)
}

// cutOff checks that the other side closes the connection after these bytes.
func cutOff(t *testing.T, address string, send ...[]byte) {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	for _, b := range send {
		if _, err := nc.Write(b); err != nil {
			return // the other side closed the connection before everything was sent
		}
	}
	if _, err := io.Copy(io.Discard, nc); err != nil && !isReset(err) {
		t.Errorf("%s is not cut off at %s: %v", strings.ToValidUTF8(string(bytes.Join(send, nil)), "?"), address, err)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), syscall.ECONNRESET.Error()) }

func (h *hadoopCluster) badFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4096)
	for _, address := range h.at[h.all[0]].all() {
		hi := hello(clientProtocol)
		for n := 1; n < len(hi); n += 7 { // send a part, then close the connection
			nc, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = nc.Write(hi[:n])
			_ = nc.Close()
		}
		cutOff(t, address, []byte("GET / HTTP/1.1\r\n\r\n"))
		cutOff(t, address, []byte("hrpc\x04\x00\x00"))
		cutOff(t, address, []byte("hrpc\x09\x00\x55"))
		cutOff(t, address, []byte("hrpc\x09\x00\x00\x7f\xff\xff\xff"))
		cutOff(t, address, []byte("hrpc\x09\x00\xdf\xff\xff\xff\xff"))
		cutOff(t, address, hi, []byte{0x10, 0, 0, 0}) // 256 MiB
		cutOff(t, address, hi, []byte{0, 0, 0, 2, 0xff, 0xff})
		for range 50 {
			for i := range noise {
				noise[i] = byte(r.Uint32())
			}
			cutOff(t, address, noise)
			frame := append([]byte("hrpc\x09\x00\x00"), 0, 0, 0x0f, 0xfc)
			cutOff(t, address, frame, noise[:4092])
		}
	}
}

func (h *hadoopCluster) wrongProtocols(t *testing.T) {
	at := h.at[h.all[0]]
	for _, c := range []struct{ address, protocol, method string }{
		{at.client, masterProtocol, "allocate"}, {at.client, trackerProtocol, "registerNodeManager"},
		{at.client, adminProtocol, "refreshQueues"},
		{at.tracker, clientProtocol, "submitApplication"}, {at.tracker, adminProtocol, "refreshNodes"},
		{at.admin, trackerProtocol, "nodeHeartbeat"},
		{at.admin, clientProtocol, "forceKillApplication"}, {at.client, "java.lang.Runtime", "exec"},
	} {
		refusedWith(t, h.call(c.address, c.protocol, "root", c.method, &proto.RefreshQueuesRequestProto{},
			&proto.RefreshQueuesResponseProto{}), ipc.ClassNoSuchProtocol, "")
	}
	refusedWith(t, h.call(at.client, clientProtocol, "root", "shutDown", &proto.RefreshQueuesRequestProto{},
		&proto.RefreshQueuesResponseProto{}), ipc.ClassNoSuchMethod, "shutDown")
	refusedWith(t, h.call(at.scheduler, masterProtocol, "root", "allocate", &proto.AllocateRequestProto{},
		&proto.AllocateResponseProto{}), ipc.ClassAccessControl, "SIMPLE authentication is not enabled")
}

// badTokens uses tokens that are forged, that belong to others, that are of another kind, and that
// have expired.
func (h *hadoopCluster) badTokens(t *testing.T, am, rival *master) {
	at := h.at[h.all[0]]
	allocate := func(identifier, password []byte) error {
		return h.ipc.Call(t.Context(), ipc.Target{Address: at.scheduler, Protocol: masterProtocol,
			Token: &ipc.Token{Identifier: identifier, Password: password}},
			"allocate", &proto.AllocateRequestProto{ResponseId: new(am.response)}, &proto.AllocateResponseProto{})
	}
	theirs, mine := am.token, rival.token
	refusedWith(t, allocate(theirs.Identifier, []byte("a guess of twenty b.")), ipc.ClassSasl, "")
	refusedWith(t, allocate(theirs.Identifier, mine.Password), ipc.ClassSasl, "")
	unborn := am.id
	unborn.App.Seq += 1 << 20 // far above the ids that are reserved in blocks
	is, err := token.ParseAMRM(theirs.Identifier)
	if err != nil {
		t.Fatal(err)
	}
	refusedWith(t, allocate(token.AMRM{Attempt: unborn, KeyID: is.KeyID}.Bytes(), mine.Password),
		ipc.ClassInvalidToken, "")
	refusedWith(t, allocate(token.AMRM{Attempt: am.id, KeyID: is.KeyID + 100}.Bytes(), mine.Password),
		ipc.ClassInvalidToken, "")
	refusedWith(t, allocate([]byte("no identifier"), mine.Password), ipc.ClassInvalidToken, "")
	for _, c := range am.held { // a container token does not authenticate at this port
		refusedWith(t, allocate(c.GetContainerToken().GetIdentifier(), c.GetContainerToken().GetPassword()),
			ipc.ClassInvalidToken, "")
	}

	var out proto.GetDelegationTokenResponseProto
	h.must(at.client, clientProtocol, "ann", "getDelegationToken",
		&proto.GetDelegationTokenRequestProto{Renewer: new("ann")}, &out)
	metrics := func(tk *ipc.Token) error {
		return h.ipc.Call(t.Context(), ipc.Target{Address: at.client, Protocol: clientProtocol, Token: tk},
			"getClusterMetrics", &proto.GetClusterMetricsRequestProto{}, &proto.GetClusterMetricsResponseProto{})
	}
	d := &ipc.Token{Identifier: out.GetToken().GetIdentifier(), Password: out.GetToken().GetPassword()}
	if err := metrics(d); err != nil {
		t.Fatalf("a good token: %v", err)
	}
	refusedWith(t, allocate(d.Identifier, d.Password), ipc.ClassInvalidToken, "")
	refusedWith(t, metrics(mine), ipc.ClassInvalidToken, "")
	refusedWith(t, metrics(&ipc.Token{Identifier: d.Identifier, Password: mine.Password}), ipc.ClassSasl, "")
	h.await("the token's time is over", patience, func() bool {
		nc := ipc.Target{Address: at.client, Protocol: clientProtocol, Token: d}
		cc, err := h.ipc.Connect(t.Context(), nc) // each on its own connection
		if err == nil {
			_ = cc.Close()
			return false
		}
		refusedWith(t, err, ipc.ClassInvalidToken, "ran out")
		return true
	})
}

// othersContainers makes an AM and a node report containers that belong to others.
func othersContainers(t *testing.T, am, rival *master, good, other *nodeManager) {
	c := am.held[0].GetId()
	_, err := rival.send(&proto.AllocateRequestProto{Release: []*proto.ContainerIdProto{c}})
	refusedWith(t, err, "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException", am.container(0).String())
	rival.beat() // the AM can still call

	id := am.container(0)
	other.mu.Lock() // a node reports the end of a container of another node
	other.running[id] = &proto.ContainerStatusProto{ContainerId: c, State: proto.ContainerStateProto_C_COMPLETE.Enum(),
		ExitStatus: new(int32(1))}
	other.mu.Unlock()
	other.beating()
	am.beat()
	if am.ended[id] || !good.runs(id) {
		t.Errorf("%s has ended by another node's word", id)
	}
	other.mu.Lock()
	delete(other.running, id)
	other.mu.Unlock()
}

// crowd opens thousands of silent connections, and some that never complete their first message.
func (h *hadoopCluster) crowd(t *testing.T) {
	n := 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(n+1000) {
		n = int(limit.Cur) / 2
	}
	addresses := h.at[h.all[0]].all()
	var slow sync.WaitGroup
	for i := range 40 {
		slow.Go(func() { dribble(t, addresses[i%4]) })
	}
	conns := make([]net.Conn, 0, n)
	hi := hello(clientProtocol)
	for i := range n {
		nc, err := net.Dial("tcp", addresses[[]int{0, 2, 3}[i%3]]) // the ports that accept callers without a token
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns = append(conns, nc)
		defer nc.Close()
		if _, err := nc.Write(hi); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	if m := h.memory(h.all[0]); m > overhead*512<<20 {
		t.Errorf("%d MiB with %d connections", m>>20, len(conns))
	}
	slow.Wait()
}

// dribble sends single bytes slowly. The replica must close the connection before the introduction
// is complete.
func dribble(t *testing.T, address string) {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, nc) // until the replica closes the connection
		close(gone)
	}()
	for _, b := range hello(clientProtocol) {
		select {
		case <-gone:
			return
		case <-time.After(250 * time.Millisecond):
		}
		if _, err := nc.Write([]byte{b}); err != nil {
			return
		}
	}
	t.Errorf("%s has patience without end", address)
}
