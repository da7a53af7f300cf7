package access

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"rmd/transport/hadoop/ipc"
)

// TestServiceACLs checks who may use which protocol, and Java's texts of refusals.
func TestServiceACLs(t *testing.T) {
	const (
		clients = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
		admins  = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
		nodes   = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
		acl     = "security.applicationclient.protocol.acl"
		hosts   = "security.applicationclient.protocol.hosts"
		common  = "security.service.authorization.default."
		denied  = "User ann (auth:SIMPLE) is not authorized for protocol interface " + clients + ": denied by configured ACL"
		distant = "is not authorized for protocol interface " + clients
	)
	ann := ipc.Caller{User: "ann", Kind: ipc.KindSimple}
	knox := ipc.Caller{User: "ann", RealUser: "knox", Kind: ipc.KindSimple}
	kerberos := []string{"hadoop.security.authentication", "kerberos", "yarn.nodemanager.principal", "nm/_HOST@X"}
	node := func(name string) ipc.Caller { return ipc.Caller{User: "nm", Principal: name, Kind: "KERBEROS"} }
	const only = ": this service is only accessible by nm/node1.example@X"
	for _, c := range []struct {
		keys           []string // alternating names and values
		caller         ipc.Caller
		protocol, from string
		want           string // "" if it is allowed
	}{
		{nil, ann, clients, "10.0.0.1", ""},
		{nil, ann, "", "10.0.0.1", "Null protocol not authorized"},
		{nil, ann, "org.apache.hadoop.hdfs.protocol.ClientProtocol", "10.0.0.1",
			"Protocol interface org.apache.hadoop.hdfs.protocol.ClientProtocol is not known."},
		{nil, ann, "org.example.Other", "10.0.0.1", "Unknown protocol: org.example.Other"},

		{[]string{acl, "ann"}, ann, clients, "10.0.0.1", ""},
		{[]string{acl, "bob,ann"}, ann, clients, "10.0.0.1", ""},
		{[]string{acl, "bob"}, ann, clients, "10.0.0.1", denied},
		{[]string{acl, "bob"}, ann, admins, "10.0.0.1", ""},
		{[]string{acl, ""}, ann, clients, "10.0.0.1", denied},
		{[]string{acl, " "}, ann, clients, "10.0.0.1", denied},
		{[]string{acl, " staff"}, ann, clients, "10.0.0.1", ""},
		{[]string{acl, "staff"}, ann, clients, "10.0.0.1", denied},
		{[]string{acl, "bob others,staff"}, ann, clients, "10.0.0.1", ""},
		{[]string{acl, " *"}, ann, clients, "10.0.0.1", ""},
		{[]string{acl + ".blocked", "ann"}, ann, clients, "10.0.0.1", denied},
		{[]string{acl + ".blocked", " staff"}, ann, clients, "10.0.0.1", denied},
		{[]string{acl + ".blocked", "*"}, ann, clients, "10.0.0.1", denied},
		{[]string{acl + ".blocked", "bob"}, ann, clients, "10.0.0.1", ""},
		{[]string{acl, "ann", acl + ".blocked", "ann"}, ann, clients, "10.0.0.1", denied},
		{[]string{common + "acl", "bob"}, ann, clients, "10.0.0.1", denied},
		{[]string{common + "acl", "bob", acl, "ann"}, ann, clients, "10.0.0.1", ""},
		{[]string{common + "acl.blocked", "ann"}, ann, clients, "10.0.0.1", denied},
		{[]string{common + "acl.blocked", "ann", acl + ".blocked", ""}, ann, clients, "10.0.0.1", ""},
		{[]string{acl, "bob"}, knox, clients, "10.0.0.1",
			"User ann (auth:PROXY) via knox (auth:SIMPLE) is not authorized for protocol interface " + clients +
				": denied by configured ACL"},
		{[]string{acl, "~knox"}, knox, clients, "10.0.0.1", ""},
		{[]string{acl, "~knox"}, ann, clients, "10.0.0.1", denied},
		{[]string{acl + ".blocked", "~knox"}, knox, clients, "10.0.0.1",
			"User ann (auth:PROXY) via knox (auth:SIMPLE) is not authorized for protocol interface " + clients +
				": denied by configured ACL"},
		{[]string{acl, "bob"}, ipc.Caller{User: "ann", Kind: ipc.KindToken}, clients, "10.0.0.1",
			"User ann (auth:TOKEN) is not authorized for protocol interface " + clients + ": denied by configured ACL"},
		{[]string{acl, "bob"}, ipc.Caller{User: "ann", RealUser: "knox", Principal: "knox/h@X", Kind: "KERBEROS"},
			clients, "10.0.0.1",
			"User ann (auth:PROXY) via knox/h@X (auth:KERBEROS) is not authorized for protocol interface " + clients +
				": denied by configured ACL"},
		{[]string{acl, "ann@X"}, ipc.Caller{User: "ann", Principal: "ann@X", Kind: "KERBEROS"}, clients, "10.0.0.1",
			// short names count
			"User ann@X (auth:KERBEROS) is not authorized for protocol interface " + clients + ": denied by configured ACL"},

		{[]string{hosts, "10.0.0.1, 10.1.0.0/16"}, ann, clients, "10.0.0.1", ""},
		{[]string{hosts, "10.0.0.1, 10.1.0.0/16"}, ann, clients, "::ffff:10.1.2.3", ""},
		{[]string{hosts, "10.0.0.1, 10.1.0.0/16"}, ann, clients, "10.2.0.1", "Host 10.2.0.1 " + distant},
		{[]string{hosts, "10.0.0.1, 10.1.0.0/16"}, ann, admins, "10.2.0.1", ""},
		{[]string{hosts, "gateway"}, ann, clients, "10.9.9.9", ""},
		{[]string{hosts, "gateway, nowhere"}, ann, clients, "10.0.0.1", "Host 10.0.0.1 " + distant},
		{[]string{hosts, "*"}, ann, clients, "10.2.0.1", ""},
		{[]string{hosts, "*,10.0.0.1"}, ann, clients, "10.2.0.1", "Host 10.2.0.1 " + distant}, // then "*" is a name
		{[]string{hosts, ""}, ann, clients, "10.2.0.1", "Host 10.2.0.1 " + distant},
		{[]string{hosts, "fd00::/16"}, ann, clients, "fd00::1", ""},
		{[]string{hosts, "10.0.0.1"}, ann, clients, "fd00::1", "Host fd00:0:0:0:0:0:0:1 " + distant},
		{[]string{hosts + ".blocked", "10.0.0.0/8"}, ann, clients, "10.2.0.1", "Host 10.2.0.1 " + distant},
		{[]string{hosts + ".blocked", "gateway"}, ann, clients, "10.9.9.9", "Host 10.9.9.9 " + distant},
		{[]string{hosts + ".blocked", "gateway"}, ann, clients, "10.0.0.1", ""},
		{[]string{common + "hosts", "10.0.0.1"}, ann, clients, "10.2.0.1", "Host 10.2.0.1 " + distant},
		{[]string{common + "hosts", "10.0.0.1", hosts, "10.2.0.1"}, ann, clients, "10.2.0.1", ""},
		{[]string{common + "hosts.blocked", "10.2.0.1"}, ann, clients, "10.2.0.1", "Host 10.2.0.1 " + distant},
		{[]string{acl, "bob", hosts, "10.0.0.1"}, ann, clients, "10.2.0.1", denied}, // the user is checked first

		{kerberos, node("nm/node1.example@X"), nodes, "10.0.0.1", ""},
		{kerberos, node("nm/node2.example@X"), nodes, "10.0.0.1",
			"User nm/node2.example@X (auth:KERBEROS) is not authorized for protocol interface " + nodes + only},
		{kerberos, node("ann@X"), nodes, "10.0.0.1",
			"User ann@X (auth:KERBEROS) is not authorized for protocol interface " + nodes + only},
		{kerberos, ann, nodes, "10.0.0.1", "User ann (auth:SIMPLE) is not authorized for protocol interface " + nodes + only},
		{kerberos, node("ann@X"), clients, "10.0.0.1", ""},
		{append([]string{"security.resourcetracker.protocol.acl", "bob"}, kerberos...), node("nm/node1.example@X"),
			nodes, "10.0.0.1",
			"User nm/node1.example@X (auth:KERBEROS) is not authorized for protocol interface " + nodes + only},
		{[]string{"hadoop.security.authentication", "kerberos", "yarn.nodemanager.principal", "nm@X"}, node("nm@X"), nodes,
			"10.0.0.1", ""},
		{[]string{"hadoop.security.authentication", "kerberos"}, node("ann@X"), nodes, "10.0.0.1", ""},
		// without Kerberos nobody has a principal
		{[]string{"yarn.nodemanager.principal", "nm/_HOST@X"}, ann, nodes, "10.0.0.1", ""},
	} {
		a := load(t, "", "hadoop.user.group.static.mapping.overrides", "ann=staff")
		a.nameOf = func(netip.Addr) string { return "Node1.Example" }
		a.find = func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "gateway" {
				return []netip.Addr{netip.MustParseAddr("10.9.9.9")}, nil
			}
			return nil, errors.New("no such host")
		}
		if err := a.LoadServices(conf(t, c.keys...)); err != nil {
			t.Fatal(err)
		}
		caller := c.caller
		caller.Address = netip.AddrPortFrom(netip.MustParseAddr(c.from), 1)
		got := ""
		if err := a.Authorize(&caller, c.protocol); err != nil {
			var e *ipc.Error
			if !errors.As(err, &e) || e.Class != ipc.ClassAuthorization {
				t.Errorf("%v: class of %v", c.keys, err)
			}
			got = e.Message
		}
		if got != c.want {
			t.Errorf("%v: %s from %s is told\n%q, want\n%q", c.keys, describe(&caller), c.from, got, c.want)
		}
	}
}

// TestServiceACLsReload checks that a file with an error changes nothing.
func TestServiceACLsReload(t *testing.T) {
	const clients, hosts = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
		"security.applicationclient.protocol.hosts"
	a := load(t, "")
	ann := &ipc.Caller{User: "ann", Address: netip.MustParseAddrPort("10.0.0.1:1")}
	if err := a.Authorize(ann, "anything"); err != nil {
		t.Errorf("without service ACLs: %v", err)
	}
	if err := a.LoadServices(conf(t, hosts, "10.0.0.2")); err != nil || a.Authorize(ann, clients) == nil {
		t.Errorf("the first reading is not in force: %v", err)
	}
	err := a.LoadServices(conf(t, hosts, "10.0.0.1/33"))
	if err == nil || !strings.Contains(err.Error(), `core-site.xml:1 `+hosts+`: "10.0.0.1/33" is not a network`) ||
		a.Authorize(ann, clients) == nil {
		t.Errorf("a wrong network: %v", err)
	}
	if err := a.LoadServices(conf(t, hosts, "10.0.0.1")); err != nil || a.Authorize(ann, clients) != nil {
		t.Errorf("the last reading is not in force: %v", err)
	}
}
