package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/command/work"
	"rmd/internal/bytesize"
	"rmd/internal/sleep"
)

// ClusterVerbs returns the commands of the cluster and its members.
func ClusterVerbs() verb.Verb {
	return verb.Noun("cluster", "create a cluster, change its members, check its health",
		clusterStatus(), clusterInit(), verb.Noun("token", "join tokens", tokenCreate()), clusterJoin(),
		clusterMembers(), memberChange("promote"), memberChange("demote"), clusterRemove(),
		clusterTransfer(), clusterHealth(), clusterVerify())
}

var memberColumns = output.List[api.Member]{
	Name:  func(m api.Member) string { return m.ID },
	Empty: "no members",
	Columns: []output.Column[api.Member]{
		{Head: "ID", Text: func(m api.Member) string { return m.ID }},
		{Head: "ADDRESS", Text: func(m api.Member) string { return m.Address }, Shrink: true},
		{Head: "ROLE", Text: verb.MemberRole},
		{Head: "VOTER", Text: memberVoter},
		{Head: "APPLIED", Text: toldBy(func(m api.Member) uint64 { return m.Applied }), Key: func(m api.Member) float64 {
			return float64(m.Applied)
		}},
		{Head: "LAG", Text: toldBy(func(m api.Member) uint64 { return m.Lag }),
			Key: func(m api.Member) float64 { return float64(m.Lag) }},
		{Head: "CONTACT", Text: memberContact, Key: func(m api.Member) float64 { return float64(m.LastContactMillis) }},
		{Head: "VERSION", Text: func(m api.Member) string { return m.Version }, Shrink: true},
		{Head: "LEVEL", Text: toldBy(func(m api.Member) uint64 { return m.Level })},
		{Head: "TERM", Wide: true, Text: toldBy(func(m api.Member) uint64 { return m.Term })},
		{Head: "STATE", Wide: true, Text: func(m api.Member) string { return m.State }},
		{Head: "DISK-FREE", Wide: true, Text: memberDisk, Key: func(m api.Member) float64 { return float64(m.DiskFree) }},
		{Head: "DIGEST", Wide: true, Text: func(m api.Member) string { return output.Digest(m.Digest) }},
		{Head: "HTTP", Wide: true, Text: func(m api.Member) string { return verb.Dashed(m.HTTPAddress) }},
		{Head: "HTTPS", Wide: true, Text: func(m api.Member) string { return verb.Dashed(m.HTTPSAddress) }},
		{Head: "INCARNATION", Wide: true, Text: func(m api.Member) string { return m.Incarnation }},
	},
}

// tells reports whether a replica answers, so that what it reports of itself is known.
func tells(m api.Member) bool { return m.State == "" || m.State == "alive" }

// toldBy returns a number that the replica itself reports, or "-" if the replica does not answer.
func toldBy(number func(api.Member) uint64) func(api.Member) string {
	return func(m api.Member) string {
		if !tells(m) {
			return "-"
		}
		return output.Number(number(m))
	}
}

func memberDisk(m api.Member) string {
	switch {
	case !tells(m):
		return "-"
	case m.DiskFull:
		return "FULL"
	}
	return bytesize.Format(m.DiskFree)
}

func memberVoter(m api.Member) string {
	switch {
	case m.Pending:
		return "pending"
	case m.Voter && m.Witness:
		return "witness"
	}
	return output.YesNo(m.Voter)
}

func memberContact(m api.Member) string {
	switch {
	case m.Leader || m.State != "alive":
		return "-"
	case m.LastContactMillis < 0:
		return "never"
	}
	return output.Millis(m.LastContactMillis)
}

func clusterStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show the cluster's status and its replicas",
		Flags:    verb.ListFlags(memberColumns),
		Examples: []string{"rmd cluster status", "rmd cluster status --watch -o wide"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, memberColumns, func(ctx context.Context) (f verb.Fetched[api.Member], err error) {
				var d api.Cluster
				f.Doc, err = c.ClusterDoc(ctx, &d)
				f.Things, f.Head = d.Members, statusHead(d)
				return f, err
			})
		}}
}

// statusHead returns the health of the cluster, and how whole its free resources are if it has nodes. Without a
// leader nobody knows which nodes live.
func statusHead(d api.Cluster) string {
	lines := []string{verdictLine(d)}
	if d.Leader != "" && d.Totals.Nodes > 0 {
		lines = append(lines, work.RoomLines(d.Rooms, verdictWidth)...)
	}
	return strings.Join(lines, "\n")
}

// verdictLine returns the health of the cluster in one line.
func verdictLine(d api.Cluster) string {
	v := d.Verdict
	parts := []string{d.Condition()}
	if d.Name != "" { // a replica of 1.0 does not say it
		parts[0] = d.Name + ": " + parts[0]
	}
	if d.Leader != "" {
		since := ""
		if d.LeaderSinceMs > 0 {
			since = ", " + output.Millis(d.LeaderForMs)
		}
		parts = append(parts, fmt.Sprintf("leader %s (term %d%s)", d.Leader, d.Term, since))
	} else {
		parts = append(parts, fmt.Sprintf("no leader (term %d)", d.Term))
	}
	if v.Status != "starting" { // it knows neither the members nor what is committed
		parts = append(parts, fmt.Sprintf("%d of %d replicas in step", v.InStep, len(d.Members)),
			fmt.Sprintf("can lose %d", v.CanLose),
			"applied "+output.Count(d.Index))
	}
	if d.Digest != "" && v.DigestsEqual != nil {
		equal := "equal"
		if !*v.DigestsEqual {
			equal = "DIFFER"
		}
		parts = append(parts, fmt.Sprintf("digest %s %s", output.Digest(d.Digest), equal))
	}
	line := verb.Pack(parts, "   ", verdictWidth)
	if v.Status != "healthy" && v.Text != "" {
		line += "\n" + v.Text
	} else {
		for _, w := range v.Warnings {
			line += "\nwarning: " + w
		}
	}
	if f := d.LastFailover; d.Leader != "" && f != nil && f.Millis > 0 {
		line += fmt.Sprintf("\nlast election %s: %s", output.Time(f.AtMillis), f.Text(d.ID))
	}
	return line
}

// verdictWidth is the maximum width of a line of the verdict.
const verdictWidth = 80

func clusterMembers() verb.Verb {
	return verb.Verb{Name: "members", Usage: "list the replicas", Flags: verb.ListFlags(memberColumns),
		Examples: []string{"rmd cluster members -o json"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, memberColumns, func(ctx context.Context) (f verb.Fetched[api.Member], err error) {
				cl, err := c.Client()
				if err != nil {
					return f, err
				}
				a, err := cl.Plain(ctx, "/v1/cluster/members")
				if err != nil {
					return f, err
				}
				var d api.Members
				f.Doc, err = a.Body, a.Decode(&d)
				f.Things = d.Members
				return f, err
			})
		}}
}

func clusterHealth() verb.Verb {
	return verb.Verb{Name: "health",
		Usage: "check that there is a quorum, one replica can fail, all digests are equal, and no replica has a problem; else exit 9", Flags: verb.WatchFlags(),
		Examples: []string{"rmd cluster health --quiet || echo look at it"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, memberColumns, func(ctx context.Context) (f verb.Fetched[api.Member], err error) {
				var d api.Cluster
				f.Doc, err = c.ClusterDoc(ctx, &d)
				f.Things, f.Head = d.Members, verdictLine(d)
				f.Verify = func() error { return judgeHealth(d) }
				return f, err
			})
		}}
}

func judgeHealth(d api.Cluster) error {
	v := d.Verdict
	var wrong []string
	if d.Leader == "" {
		wrong = append(wrong, "there is no leader")
	}
	if v.HealthyVoters < v.Quorum || v.Voters == 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d voters healthy, needed: %d", v.HealthyVoters, v.Voters, v.Quorum))
	}
	if v.CanLose < 1 {
		wrong = append(wrong, "the cluster cannot lose a replica")
	}
	if v.DigestsEqual != nil && !*v.DigestsEqual {
		wrong = append(wrong, "the digests differ")
	}
	wrong = append(wrong, v.Problems...)
	if len(wrong) == 0 {
		return nil
	}
	return clierr.New(clierr.CodeCheck, "see \"rmd cluster status -o wide\"", "%s", strings.Join(wrong, ", "))
}

func clusterVerify() verb.Verb {
	list := output.List[api.ReplicaDigest]{
		Name: func(r api.ReplicaDigest) string { return r.ID },
		Columns: []output.Column[api.ReplicaDigest]{
			{Head: "ID", Text: func(r api.ReplicaDigest) string { return r.ID }},
			{Head: "DIGEST", Text: func(r api.ReplicaDigest) string { return r.Digest }},
			{Head: "ERROR", Text: func(r api.ReplicaDigest) string { return r.Error }, Shrink: true, End: true},
		},
	}
	return verb.Verb{Name: "verify", Usage: "compare the digests of all replicas at one index",
		Flags:    verb.ListFlags(list),
		Examples: []string{"rmd cluster verify"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, list, func(ctx context.Context) (f verb.Fetched[api.ReplicaDigest], err error) {
				var d api.Verify
				f.Doc, err = c.Get(ctx, "/v1/cluster/verify", nil, &d)
				slices.SortFunc(d.Digests, func(a, b api.ReplicaDigest) int { return output.Natural(a.ID, b.ID) })
				f.Things = d.Digests
				f.Head = fmt.Sprintf("at index %s %s", output.Count(d.Index),
					map[bool]string{true: "the digests are equal", false: "not all replicas reported the same digest"}[d.Equal])
				f.Verify = func() error { return judgeDigests(d) }
				return f, err
			})
		}}
}

// judgeDigests returns an error that says whether digests differ or replicas only did not answer.
func judgeDigests(d api.Verify) error {
	told := map[string]bool{}
	var silent []string
	for _, r := range d.Digests {
		if r.Error != "" {
			silent = append(silent, r.ID)
			continue
		}
		told[r.Digest] = true
	}
	switch {
	case d.Equal:
		return nil
	case len(told) > 1:
		return clierr.New(clierr.CodeCheck, "stop a replica whose digest differs, and see its log",
			"the replicas do not agree at index %d", d.Index)
	}
	return clierr.New(clierr.CodeCheck, "see \"rmd cluster members\", and try again",
		"%s did not report a digest at index %d; the others agree", strings.Join(silent, ", "), d.Index)
}

func clusterTransfer() verb.Verb {
	return verb.Verb{Name: "transfer", Usage: "transfer leadership to a replica, by default to the best one",
		Args: "[ID]", Max: 1,
		Changes:  true,
		Examples: []string{"rmd cluster transfer", "rmd cluster transfer rm2"},
		Complete: []verb.Source{verb.Replicas},
		Run: func(c *verb.Call) error {
			cl, err := c.Client()
			if err != nil {
				return err
			}
			before, err := cl.Cluster(c.Ctx())
			if err != nil {
				return err
			}
			a, err := cl.Post(c.Ctx(), "/v1/cluster:transfer", api.TransferRequest{ID: c.Arg(0)})
			if err != nil {
				return err
			}
			if c.Arg(0) != "" && c.Arg(0) == before.Leader {
				return verb.ShowDone(c, a, before.Leader, "%s leads already; nothing was changed", before.Leader)
			}
			switch to := leaderAfter(c, cl, before); to {
			case "":
				return verb.ShowDone(c, a, "", "%s gave up leadership; the new leader is not known yet, see \"rmd cluster status\"",
					before.Leader)
			case before.Leader:
				return verb.ShowDone(c, a, to, "%s leads again; see \"rmd cluster members\" for why no other replica could", to)
			default:
				return verb.ShowDone(c, a, to, "transferred leadership from %s to %s", before.Leader, to)
			}
		}}
}

// transferMost is how long to wait until the called replica knows the new leader.
const transferMost = 5 * time.Second

// leaderAfter returns the leader of a later term than that of before, or "" if it is not known in
// time.
func leaderAfter(c *verb.Call, cl *client.Client, before api.Cluster) string {
	ctx, cancel := context.WithTimeout(c.Ctx(), transferMost)
	defer cancel()
	for {
		if d, err := cl.Cluster(ctx); err == nil && d.Leader != "" && d.Term > before.Term {
			return d.Leader
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return ""
		}
	}
}
