package config

// setting is one key of the configuration.
type setting struct {
	path  string
	about string // one line for the commented file
	value value
}

// settings returns the table of all keys, bound to c, in the order of the file.
func settings(c *Config) []setting {
	a := &c.Autopilot
	return []setting{
		{"id",
			"name of this replica in commands and in its certificate; one of yarn.resourcemanager.ha.rm-ids, if these are set",
			text{&c.ID}},
		{"cluster", "name of the cluster, the same on all replicas (default: yarn.resourcemanager.cluster-id)",
			text{&c.Cluster}},
		{"data", "directory of log, snapshots and identity; mode 0700, used by one process", path{text{&c.Data}}},
		{"standby", "forward: a follower forwards calls to the leader; refuse: it answers as a YARN standby",
			oneOf{&c.Standby, []string{"forward", "refuse"}}},
		{"standby_hold", "how long a call waits while there is no leader", duration{&c.StandbyHold}},
		{"scheduling", "eager: also schedule when an ask arrives; heartbeat: YARN's timing",
			oneOf{&c.Scheduling, []string{"eager", "heartbeat"}}},

		{"raft.listen", "port for the other replicas", text{&c.Raft.Listen}},
		{"raft.advertise", "address that the other replicas dial (default: raft.listen)", text{&c.Raft.Advertise}},
		{"raft.bootstrap_expect",
			"create the cluster when this many empty replicas have found each other; 0: only with `rmd cluster init`",
			number{&c.Raft.BootstrapExpect}},
		{"raft.allow_even", "allow 2, 4 or 6 voters", truth{&c.Raft.AllowEven}},
		{"raft.join", "peer addresses of all replicas, including this one; for bootstrap_expect", list{&c.Raft.Join}},
		{"raft.heartbeat", "a follower starts an election after this time without contact to the leader",
			duration{&c.Raft.Heartbeat}},
		{"raft.election", "a candidate starts a new election after this time", duration{&c.Raft.Election}},
		{"raft.lease", "a leader without contact to a majority steps down after this time", duration{&c.Raft.Lease}},
		{"raft.snapshot_threshold", "number of new entries that triggers a snapshot", number{&c.Raft.SnapshotThreshold}},
		{"raft.snapshot_bytes", "size of new entries that triggers a snapshot", size{&c.Raft.SnapshotBytes}},
		{"raft.snapshot_interval", "how often rmd checks these two thresholds", duration{&c.Raft.SnapshotInterval}},
		{"raft.trailing", "entries that remain in the log before a snapshot", number{&c.Raft.Trailing}},
		{"raft.sync", "sync of every write; cannot be turned off", oneOf{&c.Raft.Sync, []string{"always"}}},

		{"tls.ca", "certificates of the CA, PEM", path{text{&c.TLS.CA}}},
		{"tls.cert", "certificate of this replica, PEM, with the URI rmd://CLUSTER/replica/ID", path{text{&c.TLS.Cert}}},
		{"tls.key", "key of the certificate, PEM, readable by the owner only", path{text{&c.TLS.Key}}},

		{"http.listen", "port of REST and web pages (default: yarn.resourcemanager.webapp.address); \"none\" turns it off",
			text{&c.HTTP.Listen}},
		{"http.listen_tls",
			"port of REST and web pages over TLS (default: yarn.resourcemanager.webapp.https.address, if tls is configured)",
			text{&c.HTTP.ListenTLS}},
		{"http.hosts", "more names to accept in a Host header; \"*\" for any", list{&c.HTTP.Hosts}},
		{"http.public_writes", "accept writes under /v1 over plain HTTP from other machines, from callers with a token",
			truth{&c.HTTP.PublicWrites}},
		{"http.auth",
			"optional: everyone may read, writes need a role after the first access token; required: reads need a role too; off: ignore tokens and certificates", oneOf{&c.HTTP.Auth, []string{"optional", "required", "off"}}},
		{"http.rate", "requests a second from one principal, or from one address without a principal", number{&c.HTTP.Rate}},
		{"http.burst", "requests at once from one principal or address", number{&c.HTTP.Burst}},
		{"http.proxy_allow",
			"addresses or networks, for instance 10.0.0.0/8, from which the proxy fetches AMs' pages; none: all except link-local", list{&c.HTTP.ProxyAllow}},
		{"http.connections_per_address",
			"connections that one address may have, of a port's 1,024; this machine may have all",
			number{&c.HTTP.ConnectionsPerAddress}},
		{"http.pprof", "serve /debug/pprof to administrators on this machine", truth{&c.HTTP.Pprof}},

		{"hadoop.conf_dir", "directory of yarn-site.xml, core-site.xml and capacity-scheduler.xml (default: HADOOP_CONF_DIR)",
			path{text{&c.HadoopConfDir}}},
		{"hadoop.ports",
			"open YARN's ports; false makes this replica a witness, which has a vote and the log but serves no YARN client",
			truth{&c.HadoopPorts}},
		{"hadoop.connections", "maximum number of connections of each of YARN's ports", number{&c.Connections}},
		{"hadoop.connections_per_address", "connections that one address may have on one of YARN's ports; 0: half",
			number{&c.ConnectionsPerAddress}},

		{"log.level", "lowest level to log: trace, debug, info, warn, error or off",
			oneOf{&c.Log.Level, []string{"trace", "debug", "info", "warn", "error", "off"}}},
		{"log.format", "format of log lines: text or json", oneOf{&c.Log.Format, []string{"text", "json"}}},

		{"disk.reserve", "with less free space the leader transfers leadership", size{&c.Disk.Reserve}},
		{"disk.stop", "with less free space the replica refuses writes", size{&c.Disk.Stop}},
		{"disk.give_up_after",
			"if one write takes longer, or nothing gets done for longer and for 8 times raft.election, the leader gives up leadership", duration{&c.Disk.GiveUpAfter}},
		{"disk.exit_after", "if one write takes longer, the replica exits with code 72", duration{&c.Disk.ExitAfter}},

		{"autopilot.cleanup_dead_servers", "remove dead replicas from the cluster; needs min_quorum",
			truth{&a.CleanupDeadServers}},
		{"autopilot.dead_server_last_contact_threshold", "a replica is dead after this time without contact",
			duration{&a.DeadServerLastContactThreshold}},
		{"autopilot.min_quorum", "keep at least this many voters", number{&a.MinQuorum}},
		{"autopilot.last_contact_threshold", "a replica is unhealthy after this time without contact",
			duration{&a.LastContactThreshold}},
		{"autopilot.max_trailing_logs", "a replica is unhealthy if it lags by more entries", number64{&a.MaxTrailingLogs}},
		{"autopilot.server_stabilization_time", "a new replica becomes a voter after it has been healthy for this time",
			duration{&a.ServerStabilizationTime}},
	}
}

// Keys returns all keys, in the order of the file.
func Keys() []string {
	var c Config
	var out []string
	for _, s := range settings(&c) {
		out = append(out, s.path)
	}
	return out
}

// sections returns the paths of all sections.
func sections(all []setting) map[string]bool {
	out := map[string]bool{}
	for _, s := range all {
		for i, r := range s.path {
			if r == '.' {
				out[s.path[:i]] = true
			}
		}
	}
	return out
}
