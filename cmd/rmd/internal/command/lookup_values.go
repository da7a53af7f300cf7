package command

import (
	"fmt"
	"net/url"
	"strings"

	"rmd/cmd/internal/output"
	"rmd/config"
	"rmd/internal/thousands"
	"rmd/transport/http/v1/api"
	"rmd/workload/trace"
)

// argumentValues has the kinds of arguments of each command. The arguments of a command that is not
// listed are free text.
var argumentValues = map[string][]source{
	"app status": {apps}, "app explain": {apps}, "app forecast": {apps}, "app wait": {apps}, "app attempts": {apps}, "app containers": {apps},
	"app kill": {liveApps}, "app move": {liveApps, leafQueues}, "app priority": {liveApps}, "app gang": {liveApps},
	"node status": {nodes}, "node drain": {nodes}, "node forget": {nodes}, "node resource": {nodes},
	"label status": {labels}, "label remove": {labels}, "label add": {noCandidates}, "label map": {nodesAssigned},
	"queue status": {queues}, "queue stop": {queues}, "queue start": {queues},
	"reservation status": {reservationIDs}, "reservation cancel": {reservationIDs},
	"conf get": {confKeys}, "conf set": {confKeysAssigned}, "shadow start": {confKeysAssigned, files}, "conf diff": {versionsOrFiles, versions}, "conf validate": {files}, "conf apply": {files}, "conf rollback": {versions},
	"access token revoke": {accessTokens},
	"cluster promote":     {replicas}, "cluster demote": {replicas}, "cluster remove": {replicas}, "cluster transfer": {replicas},
	"autopilot set": {noCandidates}, "snapshot save": {files}, "snapshot inspect": {files}, "snapshot restore": {files},
	"replay": {demoOrFiles}, "completion": {fixed("bash", "zsh", "fish", "powershell")},
}

// repeated are the commands whose last argument may be repeated.
var repeated = []string{"app kill", "conf set", "label remove", "label map"}

// flagValues has the kind of value of a flag, for one command or for all commands with the flag.
var flagValues = map[string]source{
	"--output": fixed(output.Formats()...), "--log-level": fixed("trace", "debug", "info", "warn", "error", "off"),
	"--cacert": files, "--cert": files, "--key": files, "--config": files, "--report": files, "--queues": files, "--nodes": files, "--trace": demoOrFiles,
	"--token-file": files, "--peers": files, "--context": files, "--data": files, "--dir": files, "--conf-dir": files,
	"--app": apps, "--queue": queues, "--node": nodes, "--kind": func(*lookup) []candidate { return wordsOf(eventKinds()) },
	"--label": labels, "--am-label": labels,
	"app submit --queue": leafQueues,
	"app list --state":   fixed("SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"),
	"node list --state":  fixed("RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST", "REBOOTED", "SHUTDOWN"),
	"app wait --for":     fixed("running", "finished"),
	"--workload":         fixed("mixed", "none"), "--compare": fixed(noReservations, comparePreemption, compareForecasts, compareShadow, compareBackfill, compareNodes), "--scheduling": fixed("eager", "heartbeat"), "--format": fixed(trace.Formats()...),
	"--by": fixed(topViews...), "cluster token create --role": fixed("voter", "nonvoter"), "--role": fixed("read", "submit", "operator", "admin"), "--speed": fixed("max"),
	"--version": versions, "--if-version": versions,
	"--columns": columnHeads(""), "--sort": columnHeads("-"),
	"server --set": func(*lookup) []candidate { return suffixed(config.Keys(), "=") },
}

func noCandidates(*lookup) []candidate { return nil }

func files(l *lookup) []candidate {
	l.files = true
	return nil
}

func demoOrFiles(l *lookup) []candidate {
	l.files = true
	return []candidate{{trace.Demo, "one day of a GPU cluster"}, {trace.GoogleLike, "generated: CPU jobs of three classes"}, {trace.PhillyLike, "generated: GPU jobs of five teams"}}
}

func wordsOf(list []string) []candidate {
	out := make([]candidate, len(list))
	for i, w := range list {
		out[i].word = w
	}
	return out
}

func suffixed(list []string, suffix string) []candidate {
	out := wordsOf(list)
	for i := range out {
		out[i].word += suffix
	}
	return out
}

func fixed(list ...string) source {
	return func(*lookup) []candidate { return wordsOf(list) }
}

// ask reads a document for completion. If the cluster does not answer, the document is empty.
func ask[T any](l *lookup, path string, q url.Values) (d T) {
	cl, err := l.client()
	if err != nil {
		return d
	}
	_ = readDoc(l.ctx, cl, path, q, &d) // completion cannot show errors
	return d
}

const lookupCount = "500" // more than a user reads

func apps(l *lookup) []candidate {
	return appsWhere(l, url.Values{"limit": {lookupCount}, "order": {"newest"}})
}

func liveApps(l *lookup) []candidate {
	return appsWhere(l, url.Values{"limit": {lookupCount}, "order": {"newest"}, "state": {"SUBMITTED,ACCEPTED,RUNNING"}})
}

func appsWhere(l *lookup, q url.Values) (out []candidate) {
	for _, a := range ask[api.Apps](l, "/v1/apps", q).Apps {
		out = append(out, candidate{a.ID, a.State + " " + a.Queue + " " + a.Name})
	}
	return out
}

func nodes(l *lookup) (out []candidate) {
	for _, n := range ask[api.Nodes](l, "/v1/nodes", url.Values{"limit": {lookupCount}}).Nodes {
		out = append(out, candidate{n.ID, fmt.Sprintf("%s, free %s", n.State, n.Free)})
	}
	return out
}

func nodesAssigned(l *lookup) []candidate {
	out := nodes(l)
	for i := range out {
		out[i].word += "="
	}
	return out
}

func labels(l *lookup) (out []candidate) {
	for _, k := range ask[api.Labels](l, "/v1/labels", nil).Labels {
		if k.Name != "" {
			out = append(out, candidate{k.Name, thousands.Count(k.Nodes, "node") + ", free " + k.Free.String()})
		}
	}
	return out
}

func queues(l *lookup) (out []candidate) {
	for _, q := range flatten(ask[api.Queues](l, "/v1/queues", nil).Root, 0) {
		out = append(out, candidate{q.Path, fmt.Sprintf("%s, %s used, %d apps", q.State, output.Percent(q.AbsUsed), q.Apps)})
	}
	return out
}

func leafQueues(l *lookup) (out []candidate) {
	for _, q := range flatten(ask[api.Queues](l, "/v1/queues", nil).Root, 0) {
		if q.Leaf {
			out = append(out, candidate{q.Path, fmt.Sprintf("%s, %s used, %d apps", q.State, output.Percent(q.AbsUsed), q.Apps)})
		}
	}
	return out
}

func reservationIDs(l *lookup) (out []candidate) {
	for _, r := range ask[api.Reservations](l, "/v1/reservations", url.Values{"limit": {lookupCount}}).Reservations {
		out = append(out, candidate{r.ID, "on " + r.Node + " for " + r.App})
	}
	return out
}

func replicas(l *lookup) (out []candidate) {
	for _, m := range ask[api.Members](l, "/v1/cluster/members", nil).Members {
		out = append(out, candidate{m.ID, memberRole(m) + " at " + m.Address})
	}
	return out
}

func accessTokens(l *lookup) (out []candidate) {
	for _, t := range ask[api.AccessTokens](l, "/v1/access/tokens", nil).Tokens {
		out = append(out, candidate{t.Name, t.Role})
	}
	return out
}

func versions(l *lookup) (out []candidate) {
	for _, v := range ask[api.ConfVersions](l, "/v1/conf/versions", nil).Versions {
		out = append(out, candidate{output.Number(v.Version), strings.TrimSpace(output.Time(v.AtMillis) + " " + v.Author + " " + v.Comment)})
	}
	return out
}

func versionsOrFiles(l *lookup) []candidate {
	l.files = true
	return versions(l)
}

func confKeys(l *lookup) (out []candidate) {
	d := ask[api.Conf](l, "/v1/conf", nil)
	for _, k := range sorted(d.Properties) {
		out = append(out, candidate{k, d.Properties[k]})
	}
	return out
}

func confKeysAssigned(l *lookup) []candidate {
	out := confKeys(l)
	for i := range out {
		out[i].word += "="
	}
	return out
}

// listHeads are the columns of each command that shows a list.
var listHeads = map[string][]string{
	"app list": appColumns.Heads(), "app attempts": attemptColumns.Heads(), "app containers": containerColumns.Heads(),
	"node list": nodeColumns.Heads(), "label list": labelColumns.Heads(), "label nodes": mappedColumns.Heads(), "queue list": queueColumns(false).Heads(), "queue tree": queueColumns(true).Heads(), "reservation list": reservationColumns.Heads(),
	"conf get": propertyColumns.Heads(), "conf diff": changeColumns.Heads(), "conf history": versionColumns.Heads(),
	"cluster status": memberColumns.Heads(), "cluster members": memberColumns.Heads(), "log show": entryColumns.Heads(),
}

// columnHeads returns the columns of the command. down is a prefix for the reverse order.
func columnHeads(down string) source {
	return func(l *lookup) (out []candidate) {
		heads := listHeads[strings.Join(l.path, " ")]
		if by := l.flags["by"]; strings.Join(l.path, " ") == "top" {
			if by == "" {
				by = topViews[0]
			}
			heads = topTables[by].heads
		}
		out = wordsOf(heads)
		if down != "" {
			for _, h := range heads {
				out = append(out, candidate{word: down + h})
			}
		}
		return out
	}
}
