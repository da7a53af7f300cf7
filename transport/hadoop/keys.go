package hadoop

import (
	"slices"
	"strings"

	"rmd/internal/hadoopconf"
	"rmd/yarn"
)

// honored are the keys that a replica reads from Hadoop's files, in addition to those of the queue
// configuration and replicaKeys. A name that ends in a dot stands for all keys below it.
var honored = []string{
	"hadoop.http.authentication.cookie.domain",
	"hadoop.http.authentication.cookie.persistent",
	"hadoop.http.authentication.kerberos.endpoint.whitelist",
	"hadoop.http.authentication.kerberos.keytab",
	"hadoop.http.authentication.kerberos.principal",
	"hadoop.http.authentication.signature.secret.file",
	"hadoop.http.authentication.token.validity",
	"hadoop.http.authentication.type",
	"hadoop.proxyuser.",
	"hadoop.rpc.protection.non-whitelist",
	"hadoop.security.auth_to_local",
	"hadoop.security.auth_to_local.mechanism",
	"hadoop.security.authorization",
	"hadoop.security.group.mapping",
	"hadoop.security.group.mapping.",
	"hadoop.security.groups.",
	"hadoop.security.key.provider.path",
	"hadoop.security.sasl.fixedwhitelist.file",
	"hadoop.security.sasl.variablewhitelist.cache.secs",
	"hadoop.security.sasl.variablewhitelist.enable",
	"hadoop.security.sasl.variablewhitelist.file",
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
	"yarn.nodemanager.principal",
	"yarn.nodemanager.webapp.address",
	"yarn.resourcemanager.amlauncher.thread-count",
	"yarn.resourcemanager.application.max-tag.length",
	"yarn.resourcemanager.application.max-tags",
	"yarn.resourcemanager.cluster-id",
	"yarn.resourcemanager.delegation-token-renewer.thread-count",
	"yarn.resourcemanager.delegation-token-renewer.thread-timeout",
	"yarn.resourcemanager.delegation-token.always-cancel",
	"yarn.resourcemanager.delegation-token.max-conf-size-bytes",
	"yarn.resourcemanager.ha.id",
	"yarn.resourcemanager.ha.rm-ids",
	"yarn.resourcemanager.keytab",
	"yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs",
	"yarn.resourcemanager.nodemanager.minimum.version",
	"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
	"yarn.resourcemanager.nodes.exclude-path",
	"yarn.resourcemanager.nodes.include-path",
	"yarn.resourcemanager.principal",
	"yarn.resourcemanager.proxy-user-privileges.enabled",
	"yarn.resourcemanager.proxyuser.",
	"yarn.resourcemanager.resource-tracker.nm.ip-hostname-check",
	"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
	"yarn.resourcemanager.system-credentials.valid-time-remaining",
	"yarn.resourcemanager.webapp.spnego-keytab-file",
	"yarn.resourcemanager.webapp.spnego-principal",
	"yarn.timeline-service.hostname",
	"yarn.timeline-service.http-authentication.type",
	"yarn.timeline-service.reader.webapp.address",
	"yarn.timeline-service.reader.webapp.https.address",
	"yarn.timeline-service.webapp.address",
	"yarn.timeline-service.webapp.https.address",
	"yarn.web-proxy.address",
	"yarn.webapp.filter-entity-list-by-user",
	"yarn.webapp.scheduler-ui.enable",
	"yarn.webapp.scheduler-ui.read-only.enable",
	"yarn.webapp.scheduler-ui.war-file-path",
	"yarn.webapp.ui2.enable",
	"yarn.webapp.ui2.war-file-path",
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

// Effect is what happens if rmd does not honor a key.
type Effect uint8

// The effects.
const (
	Harmless Effect = iota // nothing: the key tunes what rmd does not have, or does in any case
	Visible                // users see another behavior than with a Java ResourceManager
	// clients or nodes would be refused, or rules of access would not apply; the replica does not start
	Fatal
)

func (e Effect) String() string { return [...]string{"harmless", "visible", "fatal"}[e] }

// part is a family of keys, the effect and the reason of not honoring them, and what to do about a
// fatal one.
type part struct {
	name    string
	effect  Effect
	why, do string
}

const (
	whyLog   = "the replicated log is the store, and its replicas elect the leader themselves"
	whyOther = "it is not offered"

	whyTokens = "tokens are tried again by rmd's own times, and released on time"
)

// concerns are the families of keys for a ResourceManager. Other keys are for other daemons and for
// clients. The family with the longest name applies. An empty reason means that clients and nodes
// read the key.
var concerns = []part{
	{"hadoop.http.", Visible, whyOther, ""},
	{"hadoop.registry.", Harmless, whyOther, ""},
	{"hadoop.rpc.protection", Fatal, "this quality of protection does not exist",
		"write authentication, integrity, privacy, or a list of them"},
	{"hadoop.security.", Visible, whyOther, ""},
	{"hadoop.security.authentication", Fatal,
		"only simple and kerberos are offered, and rmd would take everyone's word for who they are",
		"set it to simple or kerberos here and in the files of clients and nodes, or keep the Java ResourceManager"},
	{"hadoop.security.credential.", Harmless, "", ""},
	{"hadoop.security.crypto.", Harmless, "", ""},
	{"hadoop.security.key.provider.", Harmless, "", ""},
	{"hadoop.security.random.", Harmless, "", ""},
	{"hadoop.security.sasl.mechanism", Fatal,
		"rmd authenticates tokens with DIGEST-MD5 only, so every AM and node would be refused",
		"set it to DIGEST-MD5 here and in the files of clients and nodes"},
	{"hadoop.security.saslproperties.resolver.class", Fatal,
		"the protection that this class chooses for a connection would not apply",
		"remove the key and write hadoop.rpc.protection, or use IngressPortBasedResolver or WhitelistBasedResolver"},
	{"hadoop.security.secret-manager.key-generator.algorithm", Fatal,
		"rmd does not sign tokens with this algorithm, so nodes would refuse every container",
		"write " + strings.Join(yarn.HMACNames(), ", ") + " here and in the files of all NodeManagers"},
	{"ipc.server.", Harmless, "rmd has its own bounds of connections, calls and times", ""},
	{"yarn.am.", Visible, whyOther, ""},
	{"yarn.authorization-provider", Fatal,
		"lists of users and groups are the only provider, and the rules of this one would not apply",
		"write the rules as ACLs of queues, and remove the key"},
	{"yarn.cluster.", Visible, whyOther, ""},
	{"yarn.federation.", Visible, whyOther, ""},
	{"yarn.node-attribute.", Visible, whyOther, ""},
	{"yarn.node-labels.", Visible, whyOther, ""},
	{"yarn.node-labels.fs-store.", Harmless, whyLog, ""},
	{"yarn.node-labels.manager-class", Harmless, whyLog, ""},
	{"yarn.resourcemanager.", Visible, whyOther, ""},
	{"yarn.resourcemanager.connect.", Harmless, "", ""},
	{"yarn.resourcemanager.delayed.delegation-token.removal-interval-ms", Harmless, whyTokens, ""},
	{"yarn.resourcemanager.delegation-token-renewer.", Harmless, whyTokens, ""},
	{"yarn.resourcemanager.fs.state-store.", Harmless, whyLog, ""},
	{"yarn.resourcemanager.ha.", Harmless, whyLog, ""},
	{"yarn.resourcemanager.ha.enabled", Harmless, "", ""},
	{"yarn.resourcemanager.ha.id", Harmless, "the id is that of rmd.yaml", ""},
	{"yarn.resourcemanager.leveldb-state-store.", Harmless, whyLog, ""},
	{"yarn.resourcemanager.node-labels.provider", Visible,
		"a program gives nodes their labels through yarn rmadmin, REST or rmd label", ""},
	{"yarn.resourcemanager.node-labels.provider.", Visible,
		"a program gives nodes their labels through yarn rmadmin, REST or rmd label", ""},
	{"yarn.resourcemanager.opportunistic-container-allocation.", Visible, "opportunistic containers are not offered", ""},
	{"yarn.resourcemanager.recovery.", Harmless, whyLog, ""},
	{"yarn.resourcemanager.reservation-system.", Visible, "the reservation system is not offered", ""},
	{"yarn.resourcemanager.resource-profiles.", Visible, "resource profiles are not offered", ""},
	{"yarn.resourcemanager.scheduler.class", Fatal,
		"the scheduler is the capacity scheduler, and the queues of another one would be missing",
		"convert its queues (\"yarn fs2cs\" for the FairScheduler), and set the class to CapacityScheduler"},
	{"yarn.resourcemanager.state-store.", Harmless, whyLog, ""},
	{"yarn.resourcemanager.store.", Harmless, whyLog, ""},
	{"yarn.resourcemanager.system-metrics-publisher.", Visible, "nothing is published to a timeline service", ""},
	{"yarn.resourcemanager.webapp.", Visible, whyOther, ""},
	{"yarn.resourcemanager.work-preserving-recovery.", Harmless, "recovery always preserves work", ""},
	{"yarn.resourcemanager.zk-", Harmless, whyLog, ""},
	{"yarn.scheduler.", Visible, whyOther, ""},
	{"yarn.sharedcache.", Visible, whyOther, ""},
	{"yarn.system-metrics-publisher.", Visible, "nothing is published to a timeline service", ""},
	{"yarn.web-proxy.", Harmless, "the proxy is part of every replica", ""},
	{"yarn.webapp.", Visible, whyOther, ""},
}

// natural are values that describe what rmd does in any case. A key with such a value is not
// reported.
var natural = map[string]string{
	"hadoop.security.sasl.mechanism":                                  "DIGEST-MD5",
	"yarn.authorization-provider":                                     "org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer",
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
type Ignored struct {
	Name, Value, Origin, Why string
	Effect                   Effect
	Do                       string // what to do, if the effect is Fatal
}

// IgnoredKeys returns the keys in Hadoop's files that are for a ResourceManager and that a replica
// does not honor. It leaves out keys with a natural value, and the keys of the queue configuration,
// for which queues returns true, unless they are fatal. Package capacity checks the others.
func IgnoredKeys(conf *hadoopconf.Config, queues func(name string) bool) []Ignored {
	var out []Ignored
	for _, p := range conf.Properties() {
		c := concern(p.Name)
		if c.why == "" || Honored(p.Name) || isNatural(p.Name, strings.TrimSpace(p.Value)) ||
			queues(p.Name) && c.effect != Fatal {
			continue
		}
		out = append(out, Ignored{Name: p.Name, Value: p.Value, Origin: p.Origin(), Why: c.why, Effect: c.effect, Do: c.do})
	}
	return out
}

// isNatural reports whether rmd does what a value says.
func isNatural(name, value string) bool {
	switch name {
	case "hadoop.rpc.protection":
		return parseProtection(value) != 0
	case "hadoop.security.authentication":
		return strings.EqualFold(value, "simple") || strings.EqualFold(value, "kerberos")
	case "hadoop.security.saslproperties.resolver.class":
		return value == resolver || value == ingressResolver || value == whitelistResolver
	case "hadoop.security.secret-manager.key-generator.algorithm":
		_, ok := yarn.ParseHMAC(value)
		return ok
	}
	want, ok := natural[name]
	return ok && strings.EqualFold(value, want)
}

// FatalKeys returns the ignored keys because of which a replica must not start.
func FatalKeys(conf *hadoopconf.Config, queues func(name string) bool) []Ignored {
	return slices.DeleteFunc(IgnoredKeys(conf, queues), func(k Ignored) bool { return k.Effect != Fatal })
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

// concern returns the family of a key for a ResourceManager. Its reason is "" for keys of others.
func concern(name string) part {
	var best part
	for _, c := range concerns {
		wide := strings.HasSuffix(c.name, ".") || strings.HasSuffix(c.name, "-")
		if (c.name == name || (wide && strings.HasPrefix(name, c.name))) && len(c.name) > len(best.name) {
			best = c
		}
	}
	return best
}
