package tidy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"rmd/internal/job"
)

// replicaFolders have the code that runs in a replica.
var replicaFolders = []string{"analysis", "cluster", "fsm", "leader", "server", "snapshot", "transport"}

// repeats lists calls with which work is repeated or delayed.
var repeats = []string{"time.NewTicker", "time.Tick", "time.AfterFunc", "time.After", "time.NewTimer", "sleep.For"}

// Reasons why a function needs no job.
const (
	waits      = "no job: it waits for a caller, who gets the outcome"
	cannotFail = "no job: it only looks at memory, and cannot fail"
	idle       = "no job: it drops what nobody uses"
)

// background lists the functions of replicas that repeat or delay work. The text is the name of the
// job to which the function reports its runs, or else the reason why it needs none, which begins with
// "no job: ".
var background = map[string]string{
	"cluster/admin.go: awaitCommitted":                        waits,
	"cluster/bootstrap.go: expect":                            "no job: it waits for replicas that start; status says not-initialized",
	"cluster/change.go: afterHandover":                        waits,
	"cluster/local/replica.go: Pause":                         waits,
	"cluster/digest.go: watchDigests":                         "digests",
	"cluster/diskspace.go: watchSpace":                        "disk-space",
	"cluster/local/instance.go: Stop":                         waits,
	"cluster/leading/leadership.go: Follow":                   cannotFail,
	"cluster/membership.go: notifyRemoved":                    "no job: the removed replica also learns it from others",
	"cluster/membership.go: removedHere":                      "no job: it ends the replica",
	"cluster/membership.go: watchMembership":                  "membership",
	"cluster/local/replica.go: Watch":                         cannotFail,
	"cluster/raft696_transfer.go: watchTransfer":              "no job: if it fails, the replica stops",
	"cluster/raftstore/shortage.go: RetryShortage":            waits,
	"cluster/rafttransport/raft_w4_backoff.go: awaitFollower": waits,
	"cluster/rafttransport/raft_w4_backoff.go: mayRetryAfter": waits,
	"cluster/reach/reach.go: Run":                             "no job: Members shows each failure",
	"cluster/local/replica.go: WaitApplied":                   waits,
	"cluster/readindex.go: awaitTermCommit":                   waits,
	"cluster/snapshot.go: watchSnapshotBytes":                 "snapshot",
	"cluster/succession/ranking.go: awaitChange":              waits,
	"cluster/succession/ranking.go: pause":                    waits,
	"cluster/transfer.go: awaitTarget":                        waits,
	"cluster/transfer.go: transferHere":                       waits,
	"fsm/wait.go: await":                                      waits,
	"leader/driver.go: run":                                   "no job: Progress shows when it hangs",
	"leader/sequencer.go: serve":                              "no job: Progress shows when it hangs",
	"server/backup.go: lastState":                             waits,
	"server/bootstrap.go: seed":                               "init",
	"server/current.go: current":                              waits,
	"server/clocks.go: watchClocks":                           "no job: a replica that does not answer is a problem of its own",
	"analysis/forecaster/forecaster.go: Run":                  "forecasts",
	"analysis/past/states.go: reach":                          idle,
	"server/leadership.go: AwaitLeader":                       waits,
	"server/ready.go: search":                                 "no job: /v1/ready shows that it goes on",
	"analysis/reasons/reasons.go: wake":                       idle,
	"server/samples.go: run":                                  "samples",
	"server/tls.go: watchCertificates":                        "certificates",
	"transport/forward/forwarder.go: awaitLeader":             waits,
	"transport/hadoop/access/groups.go: Of":                   "groups",
	"transport/hadoop/ipc/client.go: sweep":                   cannotFail,
	"transport/hadoop/ipc/server.go: Close":                   waits,
	"transport/hadoop/ipc/server.go: accept":                  "no job: the budget of file descriptors is a problem of its own",
	"transport/hadoop/ipc/server.go: sweep":                   cannotFail,
	"transport/hadoop/ipc/unread.go: awaitTurn":               waits,
	"transport/hadoop/launcher/launcher.go: wait":             "am-launcher",
	"transport/hadoop/renewer/renewer.go: wait":               "tokens",
	"transport/hadoop/renewer/renewer.go: follow":             "tokens",
	"transport/hadoop/tracker/service.go: Run":                "no job: what it cannot send comes again with the next heartbeat; status says that there is no leader",
	"transport/http/metrics/watch.go: Watch":                  "event-counts",
	"transport/http/server.go: every":                         cannotFail,
	"transport/http/summary/keeper.go: wake":                  idle,
	"transport/http/ui/live.go: live":                         waits,
	"transport/http/ui/clustercache/clustercache.go: Get":     waits,
	"transport/http/view/source.go: fork":                     idle,
	"transport/peer/mesh.go: awaitConnect":                    waits,
	"transport/peer/mesh.go: prove":                           waits,
	"transport/peer/mesh.go: serve":                           waits,
	"transport/peer/server.go: accept":                        "no job: the budget of file descriptors is a problem of its own",
}

// backgroundName returns the key of a function in the table.
func backgroundName(f *file, d *ast.FuncDecl) string { return f.path + ": " + d.Name.Name }

// backgroundOf returns the functions that call one of repeats, by backgroundName.
func backgroundOf(t *tree) map[string]finding {
	out := map[string]finding{}
	for _, f := range t.production() {
		if !slices.ContainsFunc(replicaFolders, func(root string) bool { return below(f.dir(), root) }) {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := call.X.(*ast.Ident); ok && slices.Contains(repeats, x.Name+"."+call.Sel.Name) {
					out[backgroundName(f, fn)] = t.at(f, fn.Pos(),
						"%s works in the background: report its runs to a job of internal/job and add it to the table of background_test.go", fn.Name.Name)
				}
				return true
			})
		}
	}
	return out
}

// backgroundRule finds background work that is not in the table. Work that fails must be seen.
func backgroundRule(t *tree) []finding {
	var out []finding
	for name, f := range backgroundOf(t) {
		if background[name] == "" {
			out = append(out, f)
		}
	}
	return out
}

// TestBackgroundTable checks that each row of the table is needed and names a job. A test of package
// server checks that a replica registers all jobs.
func TestBackgroundTable(t *testing.T) {
	found := backgroundOf(loadModule(t))
	for name, what := range background {
		if _, ok := found[name]; !ok {
			t.Errorf("%s does not work in the background any more: remove it from the table", name)
		}
		if !strings.HasPrefix(what, "no job: ") &&
			!slices.ContainsFunc(job.Table, func(k job.Kind) bool { return string(k.Name) == what }) {
			t.Errorf("%s: there is no job %q", name, what)
		}
	}
}
