package config

import (
	"fmt"
	"net/netip"
	"time"

	"rmd/cluster"
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
	HadoopConfDir         string // configuration directory
	Connections           uint   // connections that each of Hadoop's ports takes
	ConnectionsPerAddress uint   // of them, of one address; 0: half
	Log                   Log
	Disk                  Disk
	Autopilot             cluster.AutopilotConfig
}

// Raft is the part about consensus.
type Raft struct {
	Listen, Advertise string
	BootstrapExpect   uint
	AllowEven         bool
	Join              []string
	Heartbeat         time.Duration
	Election          time.Duration
	Lease             time.Duration
	SnapshotThreshold uint
	SnapshotBytes     Size
	SnapshotInterval  time.Duration
	Trailing          uint
	Sync              string // always
}

// TLS names PEM files: all of them, or none.
type TLS struct{ CA, Cert, Key string }

// On says whether TLS is configured.
func (t TLS) On() bool { return t.CA != "" || t.Cert != "" || t.Key != "" }

// HTTP is the part about REST and the web pages.
type HTTP struct {
	Listen                string
	ListenTLS             string
	Hosts                 []string
	PublicWrites          bool
	Auth                  string // optional, required or off
	Rate, Burst           uint
	ConnectionsPerAddress uint // connections of one address
	Pprof                 bool
	ProxyAllow            []string // addresses and networks of ApplicationMasters' pages
}

// ProxyNetworks are the networks of http.proxy_allow.
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

// Log is the part about what is logged.
type Log struct{ Level, Format string }

// Disk is the part about running out of it.
type Disk struct {
	Reserve, Stop          Size
	GiveUpAfter, ExitAfter time.Duration
}

// Size is a number of bytes.
type Size uint64

// Default returns the defaults of every key.
func Default() Config {
	c := cluster.DefaultConfig()
	return Config{
		Cluster: "rmd", Data: "/var/lib/rmd", Standby: "forward", StandbyHold: 4 * time.Second, Scheduling: "eager", Connections: 16384,
		Raft: Raft{
			Listen: "127.0.0.1:8034", Heartbeat: c.Heartbeat, Election: c.Election, Lease: c.Lease,
			SnapshotThreshold: uint(c.SnapshotThreshold), SnapshotBytes: Size(c.SnapshotBytes), SnapshotInterval: c.SnapshotInterval,
			Trailing: uint(c.Trailing), Sync: "always",
		},
		HTTP:      HTTP{Listen: "127.0.0.1:8088", Auth: "optional", Rate: 200, Burst: 400, ConnectionsPerAddress: 64},
		Log:       Log{Level: "info", Format: "text"},
		Disk:      Disk{Reserve: Size(c.DiskReserve), Stop: Size(c.DiskStop), GiveUpAfter: c.HungGiveUp, ExitAfter: c.HungExit},
		Autopilot: c.Autopilot,
	}
}
