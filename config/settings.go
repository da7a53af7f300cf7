package config

// setting is one key of the configuration.
type setting struct {
	path  string
	about string // one line, for the commented file
	value value
}

// settings is the table of all keys, bound to c, in the order of the file.
func settings(c *Config) []setting {
	a := &c.Autopilot
	return []setting{
		{"id", "name of this replica in commands and in its certificate; one of yarn.resourcemanager.ha.rm-ids, when these are set", text{&c.ID}},
		{"cluster", "name of the cluster, equal on all replicas (default: yarn.resourcemanager.cluster-id)", text{&c.Cluster}},
		{"data", "directory of log, snapshots and identity; 0700, used by one process", text{&c.Data}},
		{"standby", "what a follower does with a call: forward it to the leader, or refuse it as YARN's standby does", oneOf{&c.Standby, []string{"forward", "refuse"}}},
		{"standby_hold", "how long a call is held while there is no leader", duration{&c.Hold}},
		{"scheduling", "eager: passes also when an ask arrives; heartbeat: YARN's timing", oneOf{&c.Scheduling, []string{"eager", "heartbeat"}}},

		{"raft.listen", "replica-to-replica port", text{&c.Raft.Listen}},
		{"raft.advertise", "the address other replicas dial (default: what raft.listen says)", text{&c.Raft.Advertise}},
		{"raft.bootstrap_expect", "start a new cluster when so many empty replicas have found each other; 0: by hand, with `rmd cluster init`", number{&c.Raft.Expect}},
		{"raft.allow_even", "allow 2, 4 or 6 of them", truth{&c.Raft.AllowEven}},
		{"raft.join", "peer addresses of all replicas, this one too; for bootstrap_expect", list{&c.Raft.Join}},
		{"raft.heartbeat", "a follower calls an election after so long without its leader", duration{&c.Raft.Heartbeat}},
		{"raft.election", "a candidate tries again after so long", duration{&c.Raft.Election}},
		{"raft.lease", "a leader without its majority steps down after so long", duration{&c.Raft.Lease}},
		{"raft.snapshot_threshold", "entries after which a snapshot is taken", number{&c.Raft.SnapshotThreshold}},
		{"raft.snapshot_bytes", "bytes of entries after which a snapshot is taken", size{&c.Raft.SnapshotBytes}},
		{"raft.snapshot_interval", "how often that is looked at", duration{&c.Raft.SnapshotInterval}},
		{"raft.trailing", "entries kept in the log behind a snapshot", number{&c.Raft.Trailing}},
		{"raft.sync", "cannot be turned off", oneOf{&c.Raft.Sync, []string{"always"}}},

		{"tls.ca", "certificates of the CA, PEM", text{&c.TLS.CA}},
		{"tls.cert", "certificate of this replica, PEM, with the URI rmd://CLUSTER/replica/ID", text{&c.TLS.Cert}},
		{"tls.key", "its key, PEM, readable by the owner only", text{&c.TLS.Key}},

		{"http.listen", "REST and web pages (default: yarn.resourcemanager.webapp.address); \"none\" turns it off", text{&c.HTTP.Listen}},
		{"http.listen_tls", "the same over TLS (default: yarn.resourcemanager.webapp.https.address, when tls is configured)", text{&c.HTTP.ListenTLS}},
		{"http.hosts", "further names that a Host header may carry; \"*\" for any", list{&c.HTTP.Hosts}},
		{"http.public_writes", "take writes under /v1 over plain HTTP from other machines, from callers with a token", truth{&c.HTTP.PublicWrites}},
		{"http.auth", "optional: everybody reads, writes need a role once there are access tokens; required: reads too; off: tokens count for nothing", oneOf{&c.HTTP.Auth, []string{"optional", "required", "off"}}},
		{"http.rate", "requests a second of one principal, or of one address without one", number{&c.HTTP.Rate}},
		{"http.burst", "how many may come at once", number{&c.HTTP.Burst}},
		{"http.proxy_allow", "addresses or networks, as 10.0.0.0/8, at which ApplicationMasters' pages may be; none: anywhere but link-local", list{&c.HTTP.ProxyAllow}},
		{"http.connections_per_address", "how many of a port's 1,024 connections one address may have; this machine may have all", number{&c.HTTP.PerAddress}},
		{"http.pprof", "answer /debug/pprof, for administrators on this machine", truth{&c.HTTP.Pprof}},

		{"hadoop.conf_dir", "directory of yarn-site.xml, core-site.xml and capacity-scheduler.xml (default: HADOOP_CONF_DIR)", text{&c.Hadoop}},
		{"hadoop.connections", "how many each of YARN's ports takes; more are refused", number{&c.Callers}},
		{"hadoop.connections_per_address", "how many of them one address may have; 0: half", number{&c.CallerMax}},

		{"log.level", "trace, debug, info, warn, error or off", oneOf{&c.Log.Level, []string{"trace", "debug", "info", "warn", "error", "off"}}},
		{"log.format", "text or json", oneOf{&c.Log.Format, []string{"text", "json"}}},

		{"disk.reserve", "free space below which leadership is given up", size{&c.Disk.Reserve}},
		{"disk.stop", "free space below which writes are refused", size{&c.Disk.Stop}},
		{"disk.give_up_after", "age of one write at which leadership is given up", duration{&c.Disk.GiveUpAt}},
		{"disk.exit_after", "age of one write at which the replica exits with 72", duration{&c.Disk.ExitAt}},

		{"autopilot.cleanup_dead_servers", "remove replicas that are gone for good; needs min_quorum", truth{&a.CleanupDeadServers}},
		{"autopilot.dead_server_last_contact_threshold", "gone for good is so long", duration{&a.DeadServerLastContactThreshold}},
		{"autopilot.min_quorum", "never prune below", number{&a.MinQuorum}},
		{"autopilot.last_contact_threshold", "a replica without contact for so long is not healthy", duration{&a.LastContactThreshold}},
		{"autopilot.max_trailing_logs", "nor one that is so many entries behind", number64{&a.MaxTrailingLogs}},
		{"autopilot.server_stabilization_time", "a new replica votes after it was healthy for so long", duration{&a.ServerStabilizationTime}},
	}
}

// Keys lists all keys, in the order of the file.
func Keys() []string {
	var c Config
	var out []string
	for _, s := range settings(&c) {
		out = append(out, s.path)
	}
	return out
}

// sections are the parts of the paths in front of the last one.
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
