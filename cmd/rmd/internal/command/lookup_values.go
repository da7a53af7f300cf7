package command

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

func files(l *lookup) []candidate {
	l.files = true
	return nil
}

func demoOrFiles(l *lookup) []candidate {
	l.files = true
	return builtinTraces
}

// builtinTraces are the traces that need no file.
var builtinTraces = []candidate{{trace.Demo, "one day of a GPU cluster"}, {trace.GoogleLike, "generated: CPU jobs of three classes"}, {trace.PhillyLike, "generated: GPU jobs of five teams"}}

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

func nodesAssigned(l *lookup) []candidate { return assigned(nodes(l)) }

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
	return assigned(confKeys(l))
}

func keysAssignedOrFiles(l *lookup) []candidate {
	l.files = true
	return confKeysAssigned(l)
}

func settingsAssigned(*lookup) []candidate { return assigned(plainWords(config.Keys()...)) }

// assigned returns the candidates with "=" after them.
func assigned(all []candidate) []candidate {
	out := slices.Clone(all)
	for i := range out {
		out[i].word += "="
	}
	return out
}
