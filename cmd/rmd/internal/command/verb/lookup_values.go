package verb

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/config"
	"rmd/internal/thousands"
	"rmd/workload/trace"
)

// Files lets the shell complete names of files.
func Files(l *Lookup) []Candidate {
	l.Files = true
	return nil
}

// DemoOrFiles has the built-in traces and lets the shell complete names of files.
func DemoOrFiles(l *Lookup) []Candidate {
	l.Files = true
	return BuiltinTraces
}

// BuiltinTraces are the traces that need no file.
var BuiltinTraces = []Candidate{{trace.Demo, "one day of a GPU cluster"},
	{trace.GoogleLike, "generated: CPU jobs of three classes"}, {trace.PhillyLike, "generated: GPU jobs of five teams"}}

// ask reads a document for completion. If the cluster does not answer, the document is empty.
func ask[T any](l *Lookup, path string, q url.Values) (d T) {
	cl, err := l.client()
	if err != nil {
		return d
	}
	_ = ReadDoc(l.Ctx, cl, path, q, &d) // completion cannot show errors
	return d
}

const lookupCount = "500" // more than a user reads

// Apps has the newest applications.
func Apps(l *Lookup) []Candidate {
	return appsWhere(l, url.Values{"limit": {lookupCount}, "order": {"newest"}})
}

// LiveApps has the newest applications that have not ended.
func LiveApps(l *Lookup) []Candidate {
	return appsWhere(l, url.Values{"limit": {lookupCount}, "order": {"newest"}, "state": {"SUBMITTED,ACCEPTED,RUNNING"}})
}

func appsWhere(l *Lookup, q url.Values) (out []Candidate) {
	for _, a := range ask[api.Apps](l, "/v1/apps", q).Apps {
		out = append(out, Candidate{a.ID, a.State + " " + a.Queue + " " + a.Name})
	}
	return out
}

// Nodes has the nodes.
func Nodes(l *Lookup) (out []Candidate) {
	for _, n := range ask[api.Nodes](l, "/v1/nodes", url.Values{"limit": {lookupCount}}).Nodes {
		out = append(out, Candidate{n.ID, fmt.Sprintf("%s, free %s", n.State, n.Free)})
	}
	return out
}

// NodesAssigned has the nodes with "=" after them.
func NodesAssigned(l *Lookup) []Candidate { return Assigned(Nodes(l)) }

// Labels has the labels of nodes.
func Labels(l *Lookup) (out []Candidate) {
	for _, k := range ask[api.Labels](l, "/v1/labels", nil).Labels {
		if k.Name != "" {
			out = append(out, Candidate{k.Name, thousands.Count(k.Nodes, "node") + ", free " + k.Free.String()})
		}
	}
	return out
}

// Queues has all queues.
func Queues(l *Lookup) (out []Candidate) {
	for _, q := range Flatten(ask[api.Queues](l, "/v1/queues", nil).Root, 0) {
		out = append(out, Candidate{q.Path, fmt.Sprintf("%s, %s used, %d apps", q.State, output.Percent(q.AbsUsed), q.Apps)})
	}
	return out
}

// LeafQueues has the queues that take applications.
func LeafQueues(l *Lookup) (out []Candidate) {
	for _, q := range Flatten(ask[api.Queues](l, "/v1/queues", nil).Root, 0) {
		if q.Leaf {
			out = append(out, Candidate{q.Path, fmt.Sprintf("%s, %s used, %d apps", q.State, output.Percent(q.AbsUsed), q.Apps)})
		}
	}
	return out
}

// ReservationIDs has the reservations that are held.
func ReservationIDs(l *Lookup) (out []Candidate) {
	for _, r := range ask[api.Reservations](l, "/v1/reservations", url.Values{"limit": {lookupCount}}).Reservations {
		out = append(out, Candidate{r.ID, "on " + r.Node + " for " + r.App})
	}
	return out
}

// Replicas has the replicas of the cluster.
func Replicas(l *Lookup) (out []Candidate) {
	for _, m := range ask[api.Members](l, "/v1/cluster/members", nil).Members {
		out = append(out, Candidate{m.ID, MemberRole(m) + " at " + m.Address})
	}
	return out
}

// AccessTokens has the names of access tokens.
func AccessTokens(l *Lookup) (out []Candidate) {
	for _, t := range ask[api.AccessTokens](l, "/v1/access/tokens", nil).Tokens {
		out = append(out, Candidate{t.Name, t.Role})
	}
	return out
}

// Versions has the versions of the queue configuration.
func Versions(l *Lookup) (out []Candidate) {
	for _, v := range ask[api.ConfVersions](l, "/v1/conf/versions", nil).Versions {
		out = append(out, Candidate{output.Number(v.Version),
			strings.TrimSpace(output.Time(v.AtMillis) + " " + v.Author + " " + v.Comment)})
	}
	return out
}

// VersionsOrFiles has the versions of the queue configuration and lets the shell complete names of files.
func VersionsOrFiles(l *Lookup) []Candidate {
	l.Files = true
	return Versions(l)
}

// ConfKeys has the keys of the queue configuration in force.
func ConfKeys(l *Lookup) (out []Candidate) {
	d := ask[api.Conf](l, "/v1/conf", nil)
	for _, k := range Sorted(d.Properties) {
		out = append(out, Candidate{k, d.Properties[k]})
	}
	return out
}

// ConfKeysAssigned has the keys of the queue configuration with "=" after them.
func ConfKeysAssigned(l *Lookup) []Candidate {
	return Assigned(ConfKeys(l))
}

// KeysAssignedOrFiles has what ConfKeysAssigned has and lets the shell complete names of files.
func KeysAssignedOrFiles(l *Lookup) []Candidate {
	l.Files = true
	return ConfKeysAssigned(l)
}

// SettingsAssigned has the keys of rmd.yaml with "=" after them.
func SettingsAssigned(*Lookup) []Candidate { return Assigned(PlainWords(config.Keys()...)) }

// Assigned returns the candidates with "=" after them.
func Assigned(all []Candidate) []Candidate {
	out := slices.Clone(all)
	for i := range out {
		out[i].Word += "="
	}
	return out
}
