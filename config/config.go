package config

import (
	"fmt"
	"net/netip"
	"time"

	"rmd/cluster"
	"rmd/cluster/timers"
)

// Config is the configuration of one replica.
type Config struct {
	ID                    string
	Cluster               string
	Data                  string
	Standby               string // forward or refuse
	StandbyHold           time.Duration
	Scheduling            string // eager or heartbeat
	Raft                  Raft
	TLS                   TLS
	HTTP                  HTTP
	HadoopConfDir         string // directory of Hadoop's files; "" for none
	HadoopPorts           bool   // false: YARN's ports stay closed
	Connections           uint   // maximum number of connections of each Hadoop port
	ConnectionsPerAddress uint   // maximum number of them from one address; 0 means half
	Log                   Log
	Disk                  Disk
	Autopilot             cluster.AutopilotConfig
}

// Eager reports whether the replica also schedules when an ask arrives, and not only on heartbeats.
func (c *Config) Eager() bool { return c.Scheduling != "heartbeat" }

// Raft has the settings of Raft.
type Raft struct {
	Listen, Advertise string
	BootstrapExpect   uint
	AllowEven         bool
	Join              []string
	timers.Timers
	SnapshotThreshold uint
	SnapshotBytes     Size
	SnapshotInterval  time.Duration
	Trailing          uint
	Sync              string // always
}

// TLS names PEM files: all of them or none.
type TLS struct{ CA, Cert, Key string }

// On reports whether TLS is configured.
func (t TLS) On() bool { return t.CA != "" || t.Cert != "" || t.Key != "" }

// HTTP has the settings of REST and the web pages.
type HTTP struct {
	Listen                string
	ListenTLS             string
	Hosts                 []string
	PublicWrites          bool
	Auth                  string // optional, required or off
	Rate, Burst           uint
	ConnectionsPerAddress uint // maximum number of connections from one address
	Pprof                 bool
	ProxyAllow            []string // addresses and networks from which the proxy fetches ApplicationMasters' pages
}

// ProxyNetworks returns the networks of http.proxy_allow.
func (h HTTP) ProxyNetworks() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range h.ProxyAllow {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no address and no network", text)
		}
		out = append(out, p)
	}
	return out, nil
}

// Log has the settings of the log output.
type Log struct{ Level, Format string }

// Disk has the thresholds for little free space and for slow writes.
type Disk struct {
	Reserve, Stop          Size
	GiveUpAfter, ExitAfter time.Duration
}

// Size is a number of bytes.
type Size uint64

// Default returns the default of every key.
func Default() Config {
	c := cluster.DefaultConfig()
	return Config{
		Cluster: "rmd", Data: "/var/lib/rmd", Standby: "forward", StandbyHold: 4 * time.Second, Scheduling: "eager",
		HadoopPorts: true, Connections: 16384,
		Raft: Raft{
			Listen: "127.0.0.1:8034", Timers: c.Timers,
			SnapshotThreshold: uint(c.SnapshotThreshold), SnapshotBytes: Size(c.SnapshotBytes),
			SnapshotInterval: c.SnapshotInterval,
			Trailing:         uint(c.Trailing), Sync: "always",
		},
		HTTP: HTTP{Listen: "127.0.0.1:8088", Auth: "optional", Rate: 200, Burst: 400, ConnectionsPerAddress: 64},
		Log:  Log{Level: "info", Format: "text"},
		Disk: Disk{Reserve: Size(c.DiskReserve), Stop: Size(c.DiskStop), GiveUpAfter: c.HungGiveUp,
			ExitAfter: c.HungExit},
		Autopilot: c.Autopilot,
	}
}
