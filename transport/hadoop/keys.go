package hadoop

import (
	"slices"
	"strings"

	"rmd/internal/hadoopconf"
)

// honored are the keys that a replica reads from Hadoop's files, in addition to those of the queue
// configuration and replicaKeys. A name that ends in a dot stands for all keys below it.
var honored = []string{
	"hadoop.proxyuser.",
	"hadoop.security.authorization",
	"hadoop.security.group.mapping",
	"hadoop.security.group.mapping.",
	"hadoop.security.groups.",
	"hadoop.security.token.service.use_ip",
	"hadoop.user.group.static.mapping.overrides",
	"ipc.maximum.data.length",
	"net.topology.node.switch.mapping.impl",
	"net.topology.script.file.name",
	"net.topology.table.file.name",
	"yarn.acl.enable",
	"yarn.admin.acl",
	"yarn.client.nodemanager-connect.max-wait-ms",
	"yarn.client.nodemanager-connect.retry-interval-ms",
	"yarn.cluster.max-application-priority",
	"yarn.http.policy",
	"yarn.log-aggregation-enable",
	"yarn.nm.liveness-monitor.expiry-interval-ms",
	"yarn.resourcemanager.amlauncher.thread-count",
	"yarn.resourcemanager.application.max-tag.length",
	"yarn.resourcemanager.application.max-tags",
	"yarn.resourcemanager.cluster-id",
	"yarn.resourcemanager.delegation-token.max-conf-size-bytes",
	"yarn.resourcemanager.ha.rm-ids",
	"yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs",
	"yarn.resourcemanager.nodemanager.minimum.version",
	"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
	"yarn.resourcemanager.nodes.exclude-path",
	"yarn.resourcemanager.nodes.include-path",
	"yarn.resourcemanager.resource-tracker.nm.ip-hostname-check",
	"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
	"yarn.web-proxy.address",
	"yarn.webapp.filter-entity-list-by-user",
}

var replicaKeys = []string{
	"yarn.resourcemanager.address",
	"yarn.resourcemanager.admin.address",
	"yarn.resourcemanager.bind-host",
	"yarn.resourcemanager.hostname",
	"yarn.resourcemanager.resource-tracker.address",
	"yarn.resourcemanager.scheduler.address",
	"yarn.resourcemanager.webapp.address",
	"yarn.resourcemanager.webapp.https.address",
}

// part is a family of keys and the reason why it is not honored.
type part struct{ name, why string }

const (
	whyLog   = "the replicated log is the store, and its replicas elect the leader themselves"
	whyOther = "it is not offered"
)

// concerns are the families of keys for a ResourceManager. Other keys are for other daemons and for
// clients. The family with the longest name applies. An empty reason means that clients and nodes
// read the key.
var concerns = []part{
	{"hadoop.http.", whyOther},
	{"hadoop.registry.", whyOther},
	{"hadoop.rpc.protection", "connections are authenticated, not encrypted"},
	{"hadoop.security.", whyOther},
	{"hadoop.security.authentication", "only simple is offered: callers say who they are, or hold a token"},
	{"hadoop.security.credential.", ""},
	{"hadoop.security.crypto.", ""},
	{"hadoop.security.key.provider.", ""},
	{"hadoop.security.random.", ""},
	{"ipc.server.", "rmd has its own bounds of connections, calls and times"},
	{"yarn.am.", whyOther},
	{"yarn.authorization-provider", "lists of users and groups are the only one"},
	{"yarn.cluster.", whyOther},
	{"yarn.federation.", whyOther},
	{"yarn.node-attribute.", whyOther},
	{"yarn.node-labels.", whyOther},
	{"yarn.node-labels.fs-store.", whyLog},
	{"yarn.node-labels.manager-class", whyLog},
	{"yarn.resourcemanager.", whyOther},
	{"yarn.resourcemanager.connect.", ""},
	{"yarn.resourcemanager.fs.state-store.", whyLog},
	{"yarn.resourcemanager.ha.", whyLog},
	{"yarn.resourcemanager.ha.enabled", ""},
	{"yarn.resourcemanager.ha.id", "the id is that of rmd.yaml"},
	{"yarn.resourcemanager.keytab", "Kerberos is not offered"},
	{"yarn.resourcemanager.leveldb-state-store.", whyLog},
	{"yarn.resourcemanager.node-labels.provider", "a program gives nodes their labels through yarn rmadmin, REST or rmd label"},
	{"yarn.resourcemanager.node-labels.provider.", "a program gives nodes their labels through yarn rmadmin, REST or rmd label"},
	{"yarn.resourcemanager.opportunistic-container-allocation.", "opportunistic containers are not offered"},
	{"yarn.resourcemanager.principal", "Kerberos is not offered"},
	{"yarn.resourcemanager.recovery.", whyLog},
	{"yarn.resourcemanager.reservation-system.", "the reservation system is not offered"},
	{"yarn.resourcemanager.resource-profiles.", "resource profiles are not offered"},
	{"yarn.resourcemanager.scheduler.class", "the scheduler is the capacity scheduler"},
	{"yarn.resourcemanager.state-store.", whyLog},
	{"yarn.resourcemanager.store.", whyLog},
	{"yarn.resourcemanager.system-metrics-publisher.", "nothing is published to a timeline service"},
	{"yarn.resourcemanager.webapp.", whyOther},
	{"yarn.resourcemanager.work-preserving-recovery.", "recovery always preserves work"},
	{"yarn.resourcemanager.zk-", whyLog},
	{"yarn.scheduler.", whyOther},
	{"yarn.sharedcache.", whyOther},
	{"yarn.system-metrics-publisher.", "nothing is published to a timeline service"},
	{"yarn.web-proxy.", "the proxy is part of every replica"},
	{"yarn.webapp.", whyOther},
}

// natural are values that describe what rmd does in any case. A key with such a value is not
// reported.
var natural = map[string]string{
	"hadoop.security.authentication":                                  "simple",
	"hadoop.rpc.protection":                                           "authentication",
	"yarn.resourcemanager.ha.automatic-failover.enabled":              "true",
	"yarn.resourcemanager.recovery.enabled":                           "true",
	"yarn.resourcemanager.reservation-system.enable":                  "false",
	"yarn.resourcemanager.resource-profiles.enabled":                  "false",
	"yarn.resourcemanager.scheduler.class":                            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
	"yarn.resourcemanager.system-metrics-publisher.enabled":           "false",
	"yarn.resourcemanager.work-preserving-recovery.enabled":           "true",
	"yarn.system-metrics-publisher.enabled":                           "false",
	"yarn.webapp.api-service.enable":                                  "false",
	"yarn.resourcemanager.ha.automatic-failover.embedded":             "true",
	"yarn.resourcemanager.opportunistic-container-allocation.enabled": "false",
}

// Ignored is a key for a ResourceManager that rmd does not honor.
type Ignored struct{ Name, Value, Origin, Why string }

// IgnoredKeys returns the keys in Hadoop's files that are for a ResourceManager and that a replica
// does not honor. It leaves out keys with a value in natural, and the keys of the queue
// configuration, for which queues returns true. Package capacity checks those.
func IgnoredKeys(conf *hadoopconf.Config, queues func(name string) bool) []Ignored {
	var out []Ignored
	for _, p := range conf.Properties() {
		if queues(p.Name) || Honored(p.Name) {
			continue
		}
		why := concern(p.Name)
		if value, ok := natural[p.Name]; why == "" || (ok && strings.EqualFold(strings.TrimSpace(p.Value), value)) {
			continue
		}
		out = append(out, Ignored{Name: p.Name, Value: p.Value, Origin: p.Origin(), Why: why})
	}
	return out
}

// Honored reports whether a replica reads a key that does not belong to the queue configuration.
func Honored(name string) bool {
	if within(honored, name) || slices.Contains(replicaKeys, name) {
		return true
	}
	return slices.ContainsFunc(replicaKeys, func(key string) bool {
		id, ok := strings.CutPrefix(name, key+".")
		return ok && id != "" && !strings.Contains(id, ".")
	})
}

func within(list []string, name string) bool {
	return slices.ContainsFunc(list, func(key string) bool {
		return key == name || (strings.HasSuffix(key, ".") && strings.HasPrefix(name, key))
	})
}

// concern returns the reason why a key for a ResourceManager is not honored. It returns "" for keys
// of others.
func concern(name string) string {
	var best part
	for _, c := range concerns {
		wide := strings.HasSuffix(c.name, ".") || strings.HasSuffix(c.name, "-")
		if (c.name == name || (wide && strings.HasPrefix(name, c.name))) && len(c.name) > len(best.name) {
			best = c
		}
	}
	return best.why
}
