package hadoop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

func TestAddresses(t *testing.T) {
	for what, c := range map[string]struct {
		pairs          []string
		client, admin  string
		listen, public string // addresses of the tracker port
	}{
		"nothing": {nil, "0.0.0.0:8032", "0.0.0.0:8033", "0.0.0.0:8031", "0.0.0.0:8031"},
		"host":    {[]string{"yarn.resourcemanager.hostname", "h"}, "h:8032", "h:8033", "h:8031", "h:8031"},
		"own host": {[]string{"yarn.resourcemanager.hostname", "h", "yarn.resourcemanager.hostname.rm1", "h1"}, "h1:8032",
			"h1:8033", "h1:8031", "h1:8031"},
		"own address": {[]string{"yarn.resourcemanager.address", "h:1", "yarn.resourcemanager.address.rm1", "h1:2",
			"yarn.resourcemanager.address.rm2", "h2:3"}, "h1:2", "0.0.0.0:8033", "0.0.0.0:8031", "0.0.0.0:8031"},
		"no port": {[]string{"yarn.resourcemanager.address", "h"}, "h:8032", "0.0.0.0:8033", "0.0.0.0:8031",
			"0.0.0.0:8031"},
		"six": {[]string{"yarn.resourcemanager.address", "::1", "yarn.resourcemanager.admin.address", "[::1]:5"},
			"[::1]:8032", "[::1]:5", "0.0.0.0:8031", "0.0.0.0:8031"},
		"six, closed": {[]string{"yarn.resourcemanager.address", "[::1]"}, "[::1]:8032", "0.0.0.0:8033", "0.0.0.0:8031",
			"0.0.0.0:8031"},
		"bound": {[]string{"yarn.resourcemanager.hostname", "h", "yarn.resourcemanager.bind-host", "0.0.0.0",
			"yarn.resourcemanager.resource-tracker.address.rm1", "h:7"}, "h:8032", "h:8033", "0.0.0.0:7", "h:7"},
	} {
		a, err := AddressesOf(read(t, c.pairs...), "rm1")
		if err != nil || a.Client.Public != c.client || a.Admin.Public != c.admin ||
			a.Tracker != (Address{c.listen, c.public}) {
			t.Errorf("AddressesOf, %s = %+v, %v, want client %s, admin %s, tracker %s listening on %s",
				what, a, err, c.client, c.admin, c.public, c.listen)
		}
	}
}

// TestAddressFaults checks that one error lists all invalid addresses.
func TestAddressFaults(t *testing.T) {
	_, err := AddressesOf(read(t, "yarn.resourcemanager.address", "h:x", "yarn.resourcemanager.scheduler.address", ":1",
		"yarn.resourcemanager.resource-tracker.address", "a:b:1",
		"yarn.resourcemanager.admin.address", "h:70000"), "rm1")
	if err == nil {
		t.Fatal("they are taken")
	}
	for _, says := range []string{"yarn.resourcemanager.address: \"h:x\": the port",
		"yarn.resourcemanager.scheduler.address: \":1\" is not HOST:PORT",
		"yarn.resourcemanager.resource-tracker.address: \"a:b:1\" is not",
		"yarn.resourcemanager.admin.address: \"h:70000\": the port"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
}

type coded string

func (c coded) Error() string     { return "the forwarder says " + string(c) }
func (c coded) ErrorCode() string { return string(c) }

const testProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// config returns a configuration whose four ports serve getClusterMetrics. The method returns the
// error of f.
func config(t *testing.T, f func() error) Config {
	t.Helper()
	var a Addresses
	for _, p := range ports {
		p.of(&a).Listen = "127.0.0.1:0"
	}
	port := Port{Protocols: []ipc.Protocol{{Name: testProtocol,
		Methods: map[string]ipc.Method{"getClusterMetrics": ipc.Handle(
			func(context.Context, *ipc.Call, *proto.GetClusterMetricsRequestProto) (*proto.GetClusterMetricsResponseProto,
				error) {
				return &proto.GetClusterMetricsResponseProto{}, f()
			})}}}, Password: func(context.Context, []byte) (string, []byte, error) {
		return "", nil, ipc.InvalidToken("none is known")
	}}
	return Config{Logger: hclog.NewNullLogger(), Addresses: a, Client: port, Scheduler: port, Tracker: port, Admin: port}
}

// TestOnePortTaken checks that Open leaves no port open if one address is in use.
func TestOnePortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := config(t, func() error { return nil })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := free.Addr().String()
	_ = free.Close()
	cfg.Addresses.Client.Listen, cfg.Addresses.Admin.Listen = client, taken.Addr().String()
	if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "yarn.resourcemanager.admin.address: ") ||
		!strings.Contains(err.Error(), taken.Addr().String()) {
		t.Fatalf("opened: %v", err)
	}
	if nc, err := net.Dial("tcp", client); err == nil {
		nc.Close()
		t.Error("the client port is open nevertheless")
	}
}

// openWithClient opens the ports, and a client with a limit of time for its calls. The end of the test
// closes them.
func openWithClient(t *testing.T, cfg Config) (*Ports, *ipc.Client, context.Context) {
	t.Helper()
	f, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	k := ipc.DefaultClientConfig()
	k.Logger = hclog.NewNullLogger()
	client, err := ipc.OpenClient(k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return f, client, ctx
}

// TestErrorsOfTheSubmitter checks which errors become a StandbyException, after which a client
// tries another replica.
func TestErrorsOfTheSubmitter(t *testing.T) {
	var fails error
	cfg := config(t, func() error { return fails })
	cfg.FrameMax = 192 << 20 / 2
	f, client, ctx := openWithClient(t, cfg)
	call := func(port int) error {
		return client.Call(ctx, ipc.Target{Address: f.Addrs()[port].String(), Protocol: testProtocol, User: "ann"},
			"getClusterMetrics",
			&proto.GetClusterMetricsRequestProto{}, &proto.GetClusterMetricsResponseProto{})
	}
	for _, c := range []struct {
		err   error
		class string
	}{
		{coded("STANDBY"), ipc.ClassStandby}, {fmt.Errorf("wrapped: %w", coded("NO_LEADER")), ipc.ClassStandby},
		{coded("BUSY"), ipc.ClassStandby},
		{coded("UNKNOWN_OUTCOME"), ipc.ClassStandby}, {coded("NOT_LEADER"), ipc.ClassStandby},
		{context.DeadlineExceeded, ipc.ClassStandby},
		{coded("TOO_LARGE"), ipc.ClassYarn}, {errors.New("odd"), ipc.ClassYarn}, {ipc.Denied("no"), ipc.ClassAccessControl},
	} {
		fails = c.err
		var got *ipc.RemoteError
		if err := call(0); !errors.As(err, &got) || got.Class != c.class || got.Fatal {
			t.Errorf("%v is told as %v, not %s", c.err, err, c.class)
		}
	}
	fails = nil
	for port := range 4 {
		err := call(port)
		if took := port == 1; took != (err != nil) { // the scheduler port accepts only tokens
			t.Errorf("port %d: %v", port, err)
		}
	}
}

// TestStandbyPorts checks that a standby refuses calls on all ports except the admin port.
func TestStandbyPorts(t *testing.T) {
	cfg := config(t, func() error { return nil })
	cfg.Standby = func() error { return errors.New("ResourceManager rm1 is not Active!") }
	f, client, ctx := openWithClient(t, cfg)
	for port, at := range f.Addrs() {
		to := ipc.Target{Address: at.String(), Protocol: testProtocol, User: "ann"}
		if port == 1 {
			to.Token = &ipc.Token{Identifier: []byte("any"), Password: []byte("any")}
		}
		err := client.Call(ctx, to, "getClusterMetrics", &proto.GetClusterMetricsRequestProto{},
			&proto.GetClusterMetricsResponseProto{})
		var got *ipc.RemoteError
		if standby := errors.As(err, &got) && got.Class == ipc.ClassStandby; standby != (port != 3) {
			t.Errorf("port %d: %v", port, err)
		}
	}
}
