package tidy

import (
	"slices"
	"strconv"
	"strings"
)

// place is what the packages of one folder may import.
type place struct {
	// ours lists packages of this module; "x/..." is x and all below it, "..." is everything.
	ours []string
	// outside lists modules outside of the standard library.
	outside []string
	// without lists packages of the standard library that must not be imported.
	without []string
	why     string
}

// Names in the table for outside modules.
const (
	raft     = "github.com/hashicorp/raft"
	boltdb   = "github.com/hashicorp/raft-boltdb/v2"
	bbolt    = "go.etcd.io/bbolt"
	hclog    = "github.com/hashicorp/go-hclog"
	protobuf = "google.golang.org/protobuf"
	porc     = "github.com/anishathalye/porcupine"
	cli      = "github.com/urfave/cli/v2"
	metrics  = "github.com/prometheus/client_golang"
	rapid    = "pgregory.net/rapid"
	xsys     = "golang.org/x/sys"
	xsync    = "golang.org/x/sync"
	xterm    = "golang.org/x/term"
	pilot    = "github.com/hashicorp/raft-autopilot"
	yaml     = "github.com/goccy/go-yaml"
	msgpack  = "github.com/hashicorp/go-msgpack/v2"
	// gometrics is imported for Raft's metrics. The simulation delays goroutines there.
	gometrics = "github.com/hashicorp/go-metrics"
	progress  = "github.com/schollz/progressbar"
	zk        = "github.com/go-zookeeper/zk"
	ldap      = "github.com/go-ldap/ldap/v3"
	ber       = "github.com/go-asn1-ber/asn1-ber"
	krb5      = "github.com/jcmturner/gokrb5/v8"
	krbasn1   = "github.com/jcmturner/gofork"
)

const (
	pureWhy = "it is the core that must compute the same on every replica: let the edge do it and hand the result in as an input or an event"
	edgeWhy = "it is an edge: declare the small interface that it needs and let package server wire it"
)

// places is the table of all folders. The longest matching folder applies.
var places = map[string]place{
	"yarn": {ours: []string{"internal/thousands"}, without: []string{"os", "net", "time"},
		why: "the words of the trade depend on nothing"},
	"internal/codec": {ours: []string{"yarn"}, why: pureWhy},
	"internal/codec/codectest": {outside: []string{rapid},
		why: "it fills values for tests"},
	"fsm/event":       {ours: []string{"yarn", "internal/codec", "internal/thousands"}, why: pureWhy},
	"scheduler/input": {ours: []string{"yarn", "internal/codec"}, why: pureWhy},
	"fsm/apptoken":    {ours: []string{"fsm/event", "internal/codec"}, why: pureWhy},
	"fsm/state": {ours: []string{"internal/boolint", "yarn", "fsm/apptoken", "fsm/event", "fsm/state/change",
		"fsm/state/check", "fsm/state/index", "fsm/state/largest", "fsm/state/length", "fsm/state/part", "fsm/state/record",
		"fsm/state/table", "internal/codec", "internal/invariant"}, why: pureWhy},
	"fsm/state/index":   {why: pureWhy + "; it finds slots and knows no record"},
	"fsm/state/largest": {ours: []string{"yarn"}, why: pureWhy + "; it knows sizes and no node"},
	"fsm/state/table":   {ours: []string{"fsm/state/index"}, why: pureWhy + "; it holds records and knows none"},
	"fsm/state/length":  {ours: []string{"internal/codec"}, why: pureWhy + "; it counts lengths and knows no container"},
	"scheduler": {ours: []string{"yarn", "fsm/event", "fsm/state", "fsm/state/change", "fsm/state/length",
		"scheduler/capacity/...", "scheduler/nodeindex", "scheduler/views"},
		why: pureWhy + "; it allocates, and knows neither inputs nor explanations"},
	"fsm/state/record": {ours: []string{"internal/boolint", "yarn", "fsm/event", "fsm/state/index", "fsm/state/largest",
		"fsm/state/length", "fsm/state/table", "internal/codec"},
		why: pureWhy + "; it has the records, and does not see the whole state"},
	"fsm/state/check": {ours: []string{"internal/boolint", "yarn", "fsm/state/record", "fsm/state/table"},
		why: pureWhy + "; it verifies tables and changes none"},
	"fsm/state/change": {ours: []string{"yarn", "fsm/event", "fsm/state/record"},
		why: pureWhy + "; it says what an event did, and does nothing"},
	"fsm/state/part": {ours: []string{"fsm/state/table", "internal/codec"},
		why: pureWhy + "; it knows neither the state nor its records"},
	"scheduler/views": {ours: []string{"internal/boolint", "yarn", "fsm/state", "fsm/state/change", "fsm/event",
		"scheduler/capacity/...", "scheduler/nodeindex", "fsm/state/table"},
		why: pureWhy + "; it follows events and decides nothing"},
	"scheduler/preemption": {ours: []string{"yarn", "fsm/event", "fsm/state", "scheduler", "scheduler/capacity/...",
		"scheduler/nodeindex", "scheduler/entitlement", "scheduler/views"},
		why: pureWhy + "; it stands above the passes, which know nothing of it"},
	"scheduler/entitlement": {ours: []string{"yarn"}, why: pureWhy + "; it computes amounts and knows no container"},
	"scheduler/planner": {ours: []string{"internal/boolint", "yarn", "fsm/event", "fsm/state", "fsm/state/change",
		"scheduler", "scheduler/capacity/...", "scheduler/input", "scheduler/placement", "scheduler/entitlement",
		"scheduler/preemption", "scheduler/renewal", "scheduler/planner/...", "scheduler/views"},
		why: pureWhy},
	"scheduler/explain": {ours: []string{"internal/thousands", "yarn", "fsm/apptoken", "fsm/event", "fsm/state",
		"fsm/state/change", "scheduler", "scheduler/capacity/...", "scheduler/input", "scheduler/placement",
		"scheduler/entitlement", "scheduler/preemption", "scheduler/views"},
		why: pureWhy + "; it asks the scheduler, and plans through the interface Planner"},
	"scheduler/planner/lifecycle": {ours: []string{"internal/boolint", "yarn", "fsm/event", "fsm/state", "scheduler"},
		why: pureWhy + "; it ends what the planner tells it to, and knows no input"},
	"scheduler/planner/token": {ours: []string{"internal/boolint", "yarn", "fsm/event", "fsm/state", "scheduler",
		"scheduler/capacity", "scheduler/input", "scheduler/planner/due"},
		why: pureWhy + "; it issues and ends credentials, and schedules nothing"},
	"scheduler/planner/audit": {ours: []string{"yarn", "fsm/event", "fsm/state", "scheduler/capacity",
		"scheduler/capacity/property", "scheduler/input"},
		why: pureWhy + "; it describes operations and emits nothing"},
	"scheduler/planner/label": {ours: []string{"internal/boolint", "yarn", "fsm/event", "fsm/state", "scheduler",
		"scheduler/capacity", "scheduler/input"},
		why: pureWhy + "; it labels nodes and knows no application"},
	"scheduler/planner/due": {why: pureWhy + "; it compares times and knows no record"},
	"scheduler/planner/node": {ours: []string{"yarn", "fsm/event", "fsm/state", "scheduler", "scheduler/input",
		"scheduler/planner/due", "scheduler/planner/lifecycle", "scheduler/renewal"},
		why: pureWhy + "; it knows no application and no queue"},
	"scheduler/renewal": {ours: []string{"yarn", "fsm/apptoken", "fsm/event", "fsm/state", "scheduler/input"},
		why: pureWhy + "; it plans the tokens of applications and starts them through the planner"},
	"scheduler/nodeindex": {ours: []string{"yarn", "fsm/state"},
		why: pureWhy + "; it knows an order of nodes, and not which of them an ask may use"},
	"scheduler/placement": {ours: []string{"internal/clip", "yarn"},
		why: pureWhy + "; it knows no state: its caller hands it queues and submissions"},
	"scheduler/capacity": {ours: []string{"internal/clip", "yarn", "scheduler/capacity/...", "scheduler/input",
		"scheduler/placement", "scheduler/entitlement"},
		why: pureWhy + "; it knows the configuration, and no application, node or state"},
	"scheduler/capacity/amount": {ours: []string{"internal/clip", "yarn"},
		why: pureWhy + "; it knows quantities and no queue"},
	"scheduler/capacity/diff": {ours: []string{"scheduler/capacity"},
		why: pureWhy + "; it compares two configurations"},
	"scheduler/capacity/limits": {ours: []string{"yarn", "scheduler/capacity/share"},
		why: pureWhy + "; its callers hand it sums"},
	"scheduler/capacity/order":      {ours: []string{"yarn"}, why: pureWhy + "; its callers hand it keys"},
	"scheduler/capacity/preset":     {ours: []string{"scheduler/capacity"}, why: pureWhy + "; it writes configurations"},
	"scheduler/capacity/preprocess": {ours: []string{"internal/clip"}, why: pureWhy + "; it reads lines"},
	"scheduler/capacity/property":   {ours: []string{"internal/clip"}, why: pureWhy + "; it knows no key"},
	"scheduler/capacity/share":      {ours: []string{"yarn"}, why: pureWhy + "; it knows fractions and no queue"},
	"scheduler/capacity/unhonored":  {why: pureWhy + "; it is a list"},
	"scheduler/...": {ours: []string{"internal/boolint", "yarn", "fsm/event", "fsm/state", "scheduler/input",
		"scheduler/placement", "scheduler/entitlement", "internal/invariant"},
		why: pureWhy + "; what two folders of the planner share belongs to its root"},
	"snapshot": {ours: []string{"yarn", "fsm/event", "fsm/state", "internal/codec"},
		why: "a snapshot is a format and knows neither Raft nor planner"},
	"fsm": {ours: []string{"yarn", "fsm/...", "snapshot", "internal/codec", "internal/failpoint",
		"internal/exitcode"}, outside: []string{raft, hclog},
		why: "the state machine replays facts and never schedules or talks"},
	"cluster": {ours: []string{"cluster/...", "internal/job", "internal/thousands", "internal/exitcode",
		"internal/failpoint", "internal/outcome", "internal/leadership"}, outside: []string{raft, hclog, pilot},
		why: "it is Raft alone and knows nothing of YARN"},
	"cluster/local": {ours: []string{"cluster/identity", "cluster/raftstore", "cluster/rafttransport",
		"cluster/succession", "cluster/timers", "internal/failpoint", "internal/job", "internal/outcome"},
		outside: []string{raft, hclog}, why: "it has what the parts of a replica share, and asks no other replica"},
	"cluster/access": {ours: []string{"cluster/identity", "cluster/local", "cluster/protocol",
		"cluster/raftstore", "cluster/rafttransport", "cluster/refusal", "cluster/servers"}, outside: []string{raft},
		why: "it says who may call, and changes no membership"},
	"cluster/leading": {ours: []string{"cluster/access", "cluster/identity", "cluster/local",
		"cluster/succession", "internal/leadership"}, outside: []string{raft},
		why: "it says who leads, and transfers nothing"},
	"cluster/reach": {ours: []string{"cluster/identity", "cluster/local", "cluster/servers"},
		outside: []string{raft}, why: "it opens connections and sends nothing"},
	"cluster/commits": {ours: []string{"cluster/access", "cluster/local", "cluster/protocol"},
		outside: []string{raft}, why: "it says what is committed, and commits nothing"},
	"cluster/progress": {ours: []string{"cluster/identity", "cluster/local"}, outside: []string{raft},
		why: "it says what makes no progress, and changes nothing"},
	"cluster/refusal": {why: "it is an error and its codes"},
	"cluster/servers": {ours: []string{"cluster/identity"}, outside: []string{raft},
		why: "it looks into memberships and knows no replica"},
	"cluster/timers": {why: "it has three durations and starts nothing"},
	"cluster/protocol": {ours: []string{"cluster/refusal"},
		why: "it knows the form of messages, and not what they ask for"},
	"cluster/offline": {ours: []string{"cluster/identity", "cluster/raftstore", "cluster/refusal"},
		outside: []string{raft}, why: "it works on a disk that no process uses"},
	"cluster/identity": {outside: []string{raft}, why: "it says who a replica is and does nothing"},
	"cluster/succession": {ours: []string{"cluster/identity", "internal/failpoint"}, outside: []string{raft, hclog},
		why: "it starts elections and knows neither disk nor commands"},
	"cluster/rafttransport": {ours: []string{"cluster/identity", "internal/failpoint"}, outside: []string{raft, hclog},
		why: "it carries Raft's requests and knows neither disk nor membership commands"},
	"cluster/raftstore": {ours: []string{"cluster/identity", "internal/exitcode", "internal/failpoint",
		"internal/filemode"}, outside: []string{raft, boltdb, bbolt, hclog, xsys},
		why: "it keeps bytes on disk and knows no other replica"},
	"leader": {ours: []string{"yarn", "fsm/event", "fsm/state", "fsm/state/change", "scheduler/input",
		"internal/failpoint", "internal/exitcode", "internal/outcome", "internal/leadership"}, outside: []string{hclog},
		why: "it sees Raft through its own interface Log"},
	"transport/peer": {ours: []string{"internal/share", "internal/sleep"}, outside: []string{raft, hclog, xsys},
		why: "it carries bytes between replicas and knows no meaning"},
	"transport/caller": {ours: []string{"scheduler/input"}, why: "it carries a name through contexts"},
	"transport/forward": {ours: []string{"yarn", "scheduler/input", "transport/caller", "transport/peer",
		"internal/codec", "internal/outcome", "internal/leadership"}, outside: []string{hclog}, why: edgeWhy},
	"transport/hadoop/bounded": {outside: []string{protobuf}, why: "it measures messages of any type"},
	"internal/atomicfile":      {why: "it knows bytes and no content"},
	"internal/principal": {ours: []string{"internal/hadoopconf"},
		why: "it knows names, and neither tickets nor ports"},
	"transport/hadoop/groups": {ours: []string{"internal/hadoopconf"}, outside: []string{hclog, ldap, ber},
		why: "it asks directories and keeps nothing"},
	"transport/hadoop/...": {ours: []string{"yarn", "scheduler/input", "fsm/apptoken", "fsm/state", "internal/gss",
		"internal/hadoopconf", "internal/principal", "transport/caller", "transport/hadoop/...", "internal/job",
		"internal/leadership", "transport/frontend"},
		outside: []string{protobuf, hclog}, why: edgeWhy},
	"transport/hadoop/statestore": {ours: []string{"yarn", "internal/gss", "transport/hadoop/bounded",
		"transport/hadoop/proto", "transport/hadoop/token", "transport/hadoop/token/digest", "transport/hadoop/wire"},
		outside: []string{protobuf, zk},
		why:     "it reads ZooKeeper and knows no state of rmd's"},
	"transport/hadoop/ipc": {ours: []string{"internal/gss", "internal/share", "transport/hadoop/bounded",
		"transport/hadoop/proto", "transport/hadoop/token/digest"}, outside: []string{protobuf, hclog, xsync}, why: edgeWhy},
	"transport/http": {ours: []string{"fsm/state", "yarn", "internal/job", "internal/share", "transport/http/auth",
		"transport/http/metrics", "transport/http/problem", "transport/http/route", "transport/http/sampler",
		"transport/http/ui", "transport/http/ui/login",
		"transport/http/v1", "api", "transport/http/view", "transport/http/webapp", "transport/http/yarn"},
		outside: []string{hclog}, why: "it puts the rooms together and answers nothing itself; " + edgeWhy},
	"transport/http/problem": {ours: []string{"scheduler/input", "api"}, outside: []string{hclog},
		why: "it turns errors into answers"},
	"transport/http/webapp": {why: "it serves files and knows no cluster"},
	"transport/http/summary": {ours: []string{"yarn", "fsm/state", "fsm/state/table"},
		why: "it counts what a state holds"},
	"transport/http/sampler": {ours: []string{"yarn", "fsm/state", "transport/http/summary", "api", "internal/codec"},
		why: "it samples states and knows neither callers nor the folders that serve them"},
	"transport/http/view": {ours: []string{"internal/thousands", "yarn", "fsm/apptoken", "fsm/event", "fsm/state",
		"fsm/state/change", "transport/hadoop/token", "scheduler/capacity/...", "transport/frontend",
		"transport/http/problem", "transport/http/summary", "api"},
		why: "it makes documents of a state and knows neither callers nor the folders that serve them"},
	"transport/http/auth": {ours: []string{"yarn", "fsm/state", "scheduler/input", "internal/share", "transport/caller",
		"transport/http/problem", "api", "transport/http/view"},
		why: "it knows callers and none of the folders that serve them"},
	"transport/http/route": {ours: []string{"yarn", "fsm/event", "fsm/state", "internal/job", "scheduler/input",
		"scheduler/planner/audit", "transport/http/auth", "transport/http/problem", "api", "transport/http/view", "transport/frontend"},
		outside: []string{hclog}, why: "every folder of transport/http uses it, so it imports none of them"},
	"transport/http/v1": {ours: []string{"yarn", "fsm/apptoken", "fsm/event", "fsm/state", "scheduler/input",
		"scheduler/capacity/...", "scheduler/placement", "internal/hadoopconf", "transport/http/auth",
		"transport/http/problem", "transport/http/route",
		"transport/http/summary", "api", "transport/http/view"}, outside: []string{hclog},
		why: "it must not import the other folders of transport/http; " + edgeWhy},
	"api": {ours: []string{"scheduler/explain", "yarn"},
		why: "a client needs nothing else, and explanations are the planner's own documents"},
	"transport/http/yarn": {ours: []string{"yarn", "fsm/event", "fsm/state", "scheduler/input", "scheduler/capacity/...",
		"transport/http/auth", "transport/http/problem", "transport/http/route", "transport/http/summary",
		"api", "transport/http/view", "internal/localaddr", "transport/hadoop/ipc", "transport/hadoop/proto",
		"transport/hadoop/token", "transport/hadoop/wire", "transport/http/yarn/...", "transport/frontend"},
		outside: []string{hclog},
		why:     "it must not import the other folders of transport/http; " + edgeWhy},
	"transport/http/yarn/list": {why: "it reads JSON and knows no document"},
	"transport/http/yarn/submission": {ours: []string{"yarn", "transport/hadoop/proto", "transport/hadoop/token",
		"transport/hadoop/wire", "transport/http/yarn/list"}, why: "it reads one document and knows no call"},
	"transport/http/metrics": {ours: []string{"internal/boolint", "yarn", "fsm/apptoken", "fsm/event", "fsm/state",
		"fsm/state/change", "internal/job", "scheduler/input", "transport/http/auth", "transport/http/problem",
		"transport/http/route", "transport/http/summary",
		"api", "transport/http/view"}, outside: []string{hclog, metrics},
		why: "it must not import the other folders of transport/http; " + edgeWhy},
	"transport/http/ui": {ours: []string{"yarn", "fsm/event", "fsm/state", "internal/clip", "internal/plot", "internal/quantile",
		"internal/bytesize", "internal/thousands", "transport/http/auth", "transport/http/problem", "transport/http/route",
		"transport/http/summary", "api", "transport/http/view", "scheduler/capacity/...", "transport/http/ui/..."},
		outside: []string{hclog},
		why:     "it must not import the other folders of transport/http: what it needs of the API it declares; " + edgeWhy},
	"transport/http/ui/formtoken":    {ours: []string{"api"}, why: "it knows browsers and nothing that a form does"},
	"transport/http/ui/pagecache":    {ours: []string{"api"}, why: "it keeps pages and knows no address"},
	"transport/http/ui/clustercache": {ours: []string{"api"}, why: "it keeps answers and asks nobody"},
	"transport/http/ui/away":         {ours: []string{"api"}, why: "it judges what it is given and knows no page"},
	"transport/http/ui/siblings": {ours: []string{"api", "fsm/state", "scheduler/capacity", "transport/http/view"},
		why: "it has one form and knows no page"},
	"transport/http/ui/login": {ours: []string{"api", "transport/http/auth", "transport/http/problem"},
		outside: []string{hclog}, why: "it knows sessions and no page of the cluster"},
	"transport/http/ui/eventlog": {ours: []string{"api", "fsm/event", "transport/http/problem", "transport/http/view"},
		why: "it reads the log and knows no page"},
	"transport/http/ui/plots": {ours: []string{"api", "fsm/state", "internal/plot", "internal/quantile",
		"internal/thousands", "transport/http/summary", "transport/http/view", "transport/http/ui/format"},
		why: "it draws samples and knows no page"},
	"transport/http/ui/format": {ours: []string{"yarn", "api", "internal/thousands"},
		why: "it writes texts and knows no page"},
	"transport/http/ui/bookmark": {ours: []string{"yarn"}, why: "it knows addresses and nothing that they show"},
	"transport/http/ui/amounts":  {ours: []string{"api"}, why: "it computes and knows no page"},
	"transport/http/ui/download": {ours: []string{"api", "transport/http/view", "transport/http/ui/eventlog",
		"transport/http/ui/format"}, why: "it writes rows and knows no page"},
	"transport/http/ui/bar": {ours: []string{"api", "transport/http/ui/format"},
		why: "it draws amounts and knows no page"},
	"transport/http/ui/nodemap": {ours: []string{"yarn", "api", "fsm/state", "transport/http/view",
		"transport/http/ui/bar", "transport/http/ui/format"}, why: "it draws nodes and knows no page"},
	"workload/...": {ours: []string{"yarn", "scheduler/input", "internal/codec", "internal/plot",
		"internal/quantile", "workload/..."}, outside: []string{protobuf, hclog},
		why: "it speaks to a cluster through the public wire"},
	"workload/hadoop": {ours: []string{"yarn", "transport/hadoop/ipc", "transport/hadoop/proto",
		"transport/hadoop/token", "transport/hadoop/wire"}, outside: []string{protobuf, hclog},
		why: "it loads a ResourceManager through Hadoop's wire alone"},
	"jepsen-lite/...": {ours: []string{"jepsen-lite/...", "workload/...", "internal/quantile"},
		outside: []string{porc, protobuf}, why: "a checker must not share the suspect's code"},
	"jepsen-lite/logsim": {ours: []string{"..."}, outside: []string{raft, hclog},
		why: "it simulates with the real core over a log of its own"},
	"jepsen-lite/mutants": {ours: []string{"internal/boolint"}, why: "it reads sources and runs commands"},
	"jepsen-lite/ledger": {ours: []string{"yarn", "fsm/event", "jepsen-lite/ledger/settings", "jepsen-lite/ledger/owed",
		"jepsen-lite/ledger/nodelabel"},
		why: "it knows the vocabulary of the log and shares no code with those who write it"},
	"jepsen-lite/ledger/nodelabel": {ours: []string{"yarn"},
		why: "it knows the names of nodes and nothing else"},
	"jepsen-lite/ledger/owed": {ours: []string{"yarn", "fsm/event", "jepsen-lite/ledger/settings"},
		why: "it judges what the ledger knows, and shares no code with the product"},
	"jepsen-lite/ledger/settings": {ours: []string{"yarn", "fsm/event"},
		why: "it reads configurations in its own way, and shares no code with the product's reader"},
	"jepsen-lite/sum": {why: "it adds up integers"},
	"jepsen-lite/tokenlog": {ours: []string{"fsm/event"},
		why: "it knows the vocabulary of the log and shares no code with those who write it"},
	"jepsen-lite/ledger/statediff": {ours: []string{"yarn", "fsm/state", "jepsen-lite/ledger", "jepsen-lite/ledger/owed"},
		why: "it compares the state with the ledger, and shares no code that makes either"},
	"jepsen-lite/harness/...": {ours: []string{"cluster/timers", "internal/certificate", "yarn", "scheduler/input", "api",
		"jepsen-lite/...", "workload/..."}, outside: []string{bbolt, msgpack, xsys},
		why: "it starts rmd, asks it by the public wire and reads its files by itself"},
	"jepsen-lite/scenario": {ours: []string{"cluster/timers", "internal/boolint", "api", "jepsen-lite/...",
		"internal/quantile"}, why: "it runs rmd as an operator does"},
	"jepsen-lite/sim/...": {ours: []string{"..."}, outside: []string{raft, hclog, porc, rapid, msgpack, gometrics},
		why: "it simulates with the real parts"},
	"config": {ours: []string{"cluster", "cluster/timers", "transport/peer", "transport/hadoop", "transport/http", "internal/boolint",
		"internal/certificate", "internal/descriptors", "internal/filemode", "internal/hadoopconf", "internal/localaddr",
		"internal/nearest"}, outside: []string{yaml},
		why: "it is rmd.yaml: it reads, checks and writes settings, and opens nothing"},
	"client": {ours: []string{"api", "internal/sleep"},
		why: "any program may import it: it knows the documents of REST alone"},
	"server": {ours: []string{"analysis/...", "yarn", "config", "scheduler/...", "fsm/...", "snapshot", "leader",
		"cluster/...", "transport/caller", "transport/frontend", "transport/peer", "transport/forward", "api",
		"transport/http/...", "server/...", "internal/atomicfile", "internal/descriptors", "internal/exitcode",
		"internal/job", "internal/outcome", "internal/sleep", "internal/leadership"},
		outside: []string{raft, hclog}, why: "it puts one replica together and holds no logic"},
	"server/hadoop": {ours: []string{"yarn", "config", "scheduler/capacity/...", "scheduler/input", "fsm", "fsm/apptoken",
		"fsm/event", "fsm/state", "fsm/state/change", "transport/frontend", "transport/hadoop/...", "transport/http/auth",
		"transport/http/webapp", "transport/http/yarn", "internal/descriptors", "internal/gss", "internal/gss/kdc",
		"internal/principal", "internal/hadoopconf", "internal/localaddr", "internal/job", "internal/leadership"},
		outside: []string{hclog},
		why:     "it puts the services of YARN's ports together, and knows neither Raft nor the rest of the replica"},
	"server/migration": {ours: []string{"yarn", "fsm/event", "fsm/state", "scheduler", "scheduler/capacity/...",
		"scheduler/input", "scheduler/planner", "transport/hadoop/client", "transport/hadoop/statestore",
		"transport/hadoop/token"},
		why: "it makes a state out of a state store, and opens nothing"},
	"analysis": {why: "it is a room, and says what is in it"},
	"analysis/forecaster": {ours: []string{"yarn", "analysis/forecast", "api", "cluster", "fsm", "fsm/event", "fsm/state",
		"internal/atomicfile", "internal/job", "scheduler", "scheduler/input", "transport/frontend"},
		outside: []string{hclog},
		why:     "it forecasts beside the log of a replica"},
	"analysis/past": {ours: []string{"api", "cluster", "fsm", "fsm/event", "fsm/state", "scheduler/explain"},
		outside: []string{raft, hclog},
		why:     "it reads a replica's log and snapshots, and rebuilds states of its own"},
	"analysis/preview": {ours: []string{"analysis/past", "analysis/shadow", "api", "cluster", "fsm/event", "fsm/state"},
		why: "it plays a part of the log on planners of its own"},
	"analysis/reasons": {ours: []string{"yarn", "fsm/state", "scheduler/explain"},
		why: "it asks an explainer of its own"},
	"analysis/shadow/host": {ours: []string{"analysis/shadow", "api", "fsm", "internal/job", "scheduler/input",
		"transport/http/problem", "transport/http/view"}, outside: []string{hclog},
		why: "it feeds a shadow with what a replica applies"},
	"analysis/whatif": {ours: []string{"api", "fsm/state", "scheduler", "scheduler/explain", "scheduler/input",
		"scheduler/planner"}, without: []string{"os", "net", "time"},
		why: "it plans on copies of a state"},
	"analysis/runner": {ours: []string{"yarn", "fsm/event", "fsm/state", "scheduler/input", "scheduler/planner"},
		without: []string{"os", "net", "time"},
		why:     "it lets a planner go on in virtual time, and touches no replica"},
	"analysis/rerun": {ours: []string{"yarn", "analysis/runner", "fsm/event", "fsm/state", "scheduler/capacity/...",
		"scheduler/input", "api", "transport/http/...", "workload/..."}, outside: []string{hclog},
		why: "it plays a log on planners of its own and touches no replica"},
	"analysis/shadow": {ours: []string{"yarn", "analysis/forecast", "analysis/runner", "fsm/event", "fsm/state",
		"fsm/state/change", "scheduler", "scheduler/planner", "scheduler/capacity/...", "scheduler/input", "api",
		"transport/http/view"},
		without: []string{"os", "net", "time"}, why: "it follows a log on planners of its own and touches no replica"},
	"cmd/internal/...": {ours: []string{"client", "internal/thousands", "cluster", "cluster/refusal", "scheduler/input",
		"api", "internal/nearest", "cmd/internal/...", "internal/exitcode"}, outside: []string{cli, yaml, xterm},
		why: "it is what the command lines share: words, errors and tables"},
	"cmd/rmd/...": {ours: []string{"..."}, outside: []string{cli, hclog, raft, metrics, yaml, xterm, progress},
		why: "the program wires and holds no logic"},
	"cmd/rmd-chaos": {ours: []string{"jepsen-lite/...", "internal/nearest", "internal/failpoint"},
		outside: []string{yaml}, why: "it reads flags and prints; it starts rmd as an operator does"},
	"interop/...": {ours: []string{"interop/...", "internal/gss/gsstest", "internal/portblock"},
		why: "it drives real Hadoop and rmd from outside, as a user does"},
	"interop/harness": {ours: []string{"internal/portblock"}, outside: []string{zk},
		why: "it drives real Hadoop and rmd from outside, and looks into ZooKeeper by itself"},
	"analysis/forecast": {ours: []string{"analysis/runner", "internal/boolint", "yarn", "fsm/event", "fsm/state",
		"fsm/state/change", "fsm/state/length", "scheduler/input", "internal/quantile"},
		without: []string{"os", "net", "time"},
		why:     "it lets the planner go on with a fork, and touches no replica"},
	"twin": {ours: []string{"yarn", "fsm/event", "fsm/state", "fsm/state/change", "scheduler/planner",
		"scheduler/capacity/...", "scheduler/input", "scheduler/placement", "scheduler/entitlement", "scheduler/preemption"},
		why: "it compares the planner, and the rules that place applications, with Hadoop's, and nothing around it"},
	"interop/matrix": {why: "it runs tests as a developer does"},
	"twin/run":       {ours: []string{"twin"}, why: "it reads flags"},
	"bench":          {ours: []string{"interop/harness"}, why: "it compares running systems from outside"},
	"bench/gotest":   {why: "it runs benchmarks as a developer does"},
	"bench/growth": {ours: []string{"bench/gotest", "internal/plot", "internal/thousands"},
		why: "it runs benchmarks as a developer does"},
	"bench/machines": {ours: []string{"internal/quantile", "internal/thousands"},
		why: "it is a model: it runs nothing of the product"},
	"bench/limits": {ours: []string{"bench/gotest", "internal/quantile", "yarn", "fsm/event", "transport/hadoop/proto"},
		outside: []string{raft, boltdb, bbolt, protobuf},
		why:     "it runs benchmarks as a developer does; its own measure the machine alone"},
	"contrib":             {why: "it holds files that an installation needs"},
	"internal/exitcode":   {why: "it declares numbers"},
	"internal/outcome":    {why: "it declares errors"},
	"internal/leadership": {why: "it declares who leads"},
	"transport/frontend": {ours: []string{"fsm/state", "scheduler/capacity/...", "scheduler/input"},
		why: "it declares what ports stand on"},
	"internal/gss": {outside: []string{krb5, krbasn1}, why: "it knows Kerberos, and neither Hadoop nor HTTP"},
	"internal/gss/kdc": {ours: []string{"internal/gss"}, outside: []string{krb5, xsync},
		why: "it asks a KDC and knows no ports"},
	"internal/gss/gsstest": {ours: []string{"internal/gss"}, outside: []string{krb5, krbasn1},
		why: "it makes tickets for tests"},
	"internal/share":       {why: "it counts connections by address"},
	"internal/descriptors": {outside: []string{hclog}, why: "it counts connections"},
	"internal/certificate": {ours: []string{"transport/peer"}, why: "it makes keys and certificates"},
	"internal/sleep":       {why: "it waits under a context"},
	"internal/thousands":   {why: "it writes numbers"},
	"internal/bytesize":    {why: "it writes numbers"},
	"internal/job":         {why: "it counts runs"},
	"internal/localaddr":   {why: "it asks the kernel for addresses, and nothing else"},
	"internal/nearest":     {why: "it compares words"},
	"internal/boolint":     {why: "it makes a number of a bool"},
	"internal/clip":        {why: "it shortens texts"},
	"internal/filemode":    {why: "it judges modes of files"},
	"internal/hadoopconf":  {why: "it reads XML files"},
	"internal/invariant":   {why: "it asserts"},
	"internal/plot":        {why: "it draws, and knows nothing of what is drawn"},
	"internal/quantile":    {why: "it takes quantiles"},
	"internal/orphan":      {why: "it ends processes of tests"},
	"internal/release":     {why: "it says which version this is"},
	"internal/portblock":   {why: "it gives ports to tests"},
	"internal/growth":      {why: "it limits the time of tests"},
	"internal/failpoint":   {why: "it marks points for tests"},
	"internal/logwriter":   {outside: []string{xsys}, why: "it writes a log"},
	"internal/testlog":     {outside: []string{hclog}, why: "it logs to a test"},
	"internal/tidy":        {why: "it reads sources"},
}

// placeOf returns the entry of the table for a folder.
func placeOf(dir string) (place, bool) {
	if p, ok := places[dir]; ok {
		return p, true
	}
	for d := dir; ; {
		if p, ok := places[d+"/..."]; ok {
			return p, true
		}
		i := strings.LastIndexByte(d, '/')
		if i < 0 {
			return place{}, false
		}
		d = d[:i]
	}
}

func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		root, all := strings.CutSuffix(l, "/...")
		return l == "..." || l == name || (all && below(name, root))
	})
}

// importRule checks the imports of production sources against the table. Only tests may import
// codectest.
func importRule(t *tree) []finding {
	var out []finding
	for _, f := range t.production() {
		p, ok := placeOf(f.dir())
		if !ok {
			out = append(out, t.at(f, f.ast.Package,
				"the folder %s has no place in the house: give it a line in the table of internal/tidy, or move its content to the package that uses it", f.dir()))
			continue
		}
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			if what := p.refuses(f.dir(), name); what != "" {
				out = append(out, t.at(f, spec.Pos(), "%s must not import %s: %s", f.dir(), name, what))
			}
		}
	}
	return out
}

func (p place) refuses(dir, name string) string {
	head, _, _ := strings.Cut(name, "/")
	switch ours, isOurs := strings.CutPrefix(name, modulePath+"/"); {
	case isOurs && ours == "internal/codec/codectest":
		return "only tests may"
	case isOurs:
		if !matches(p.ours, ours) {
			return p.why
		}
	case strings.Contains(head, "."):
		if !slices.ContainsFunc(p.outside, func(m string) bool { return below(name, m) }) {
			return "it is not among the modules of this folder; " + p.why
		}
	case slices.ContainsFunc(p.without, func(w string) bool { return below(name, w) }):
		return p.why
	}
	return ""
}
