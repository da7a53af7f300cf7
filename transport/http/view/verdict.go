package view

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"rmd/api"
)

// inStep is the largest number of entries that a healthy replica may be behind.
const inStep = 100

// Verdict judges the replicas: which are in step, how many more may fail, and whether digests for
// the same index are equal. A replica is in step if it answers, is not far behind, and makes
// progress. The cluster can lose a replica if the others could then elect a leader, with the
// connections that they can open today. It can lose none while it has no leader.
func Verdict(initialized bool, leader string, list []api.Member) api.Verdict {
	var v api.Verdict
	v.DigestsEqual, v.Problems, v.Warnings = digestsEqual(list), problems(list),
		slices.Concat(warnings(list), unlike(list))
	var voters []api.Member
	var silentVoters []string
	for _, m := range list {
		healthy := m.State == "alive" && m.Lag <= inStep && !m.DiskFull && m.Stalled == ""
		if healthy {
			v.InStep++
		}
		if m.Voter {
			v.Voters++
			if healthy {
				v.HealthyVoters++
				voters = append(voters, m)
			} else if m.State == "unreachable" {
				silentVoters = append(silentVoters, m.ID)
			}
		}
	}
	v.Quorum = v.Voters/2 + 1
	v.CanLose = canLose(voters, v.Quorum)
	switch {
	case !initialized && len(list) == 0:
		v.Status, v.Text = "not-initialized", "not initialized yet"
	case v.DigestsEqual != nil && !*v.DigestsEqual:
		v.Status, v.Text = "diverged", "replicas differ in their state"
	case leader == "":
		v.CanLose = 0 // what is missing may be any of them
		v.Status, v.Text = "no-leader", fmt.Sprintf("no leader; %d of %d voters healthy, %d needed", v.HealthyVoters,
			v.Voters, v.Quorum)
		if missing := api.Missing(v.Voters, silentVoters); missing != "" {
			v.Text += "; " + missing
		}
	case v.InStep < len(list) || v.HealthyVoters < v.Quorum || len(v.Problems) > 0:
		v.Status = "degraded"
		v.Text = fmt.Sprintf("%d of %d replicas in step, can lose %d", v.InStep, len(list), v.CanLose)
	default:
		v.Status = "healthy"
		v.Text = fmt.Sprintf("%d of %d replicas in step, can lose %d", v.InStep, len(list), v.CanLose)
		if v.CanLose == 0 {
			v.Text += ": the loss of any voter stops it; add voters"
		}
	}
	v.Text = strings.Join(slices.Concat([]string{v.Text + silent(list)}, v.Problems, v.Warnings), "; ")
	return v
}

// silent names the replicas that do not answer, after the other words of a verdict.
func silent(list []api.Member) string {
	var ids []string
	for _, m := range api.Unreachable(list) {
		ids = append(ids, m.ID)
	}
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return "; " + ids[0] + " does not answer"
	default:
		return "; " + strings.Join(ids, " and ") + " do not answer"
	}
}

// canLose returns how many of the healthy voters may fail, whichever they are, so that a quorum of
// the others can still elect a leader.
func canLose(voters []api.Member, quorum int) int {
	voters = voters[:min(len(voters), votersMax)]
	for n := range len(voters) {
		for left := range uint(1) << len(voters) {
			if bits.OnesCount(left) == len(voters)-n && !electable(voters, left, quorum) {
				return max(n-1, 0)
			}
		}
	}
	return max(len(voters)-1, 0)
}

// votersMax bounds the work of canLose. A cluster has at most 7 voters.
const votersMax = 10

// electable reports whether the voters in a set, given as bits, can elect a leader: a quorum of them
// can each ask a quorum for its votes. One such voter is not enough, because another one may have the
// longest log.
func electable(voters []api.Member, set uint, quorum int) bool {
	in := func(i int) bool { return set>>i&1 == 1 }
	candidates := 0
	for i, c := range voters {
		votes := 0
		for j, v := range voters {
			if in(j) && (i == j || c.Unreached[v.ID] == "") {
				votes++
			}
		}
		if in(i) && votes >= quorum {
			candidates++
		}
	}
	return candidates >= quorum
}

// problems lists the problems of the replicas.
func problems(list []api.Member) (out []string) {
	alive := map[string]bool{}
	for _, m := range list {
		alive[m.ID] = m.State == "alive"
	}
	for _, m := range list {
		add := func(text string) {
			if text != "" {
				out = append(out, m.ID+": "+text)
			}
		}
		switch {
		case m.Problem != "":
			add(m.Problem)
		case m.DiskFull: // an older version reports no more than this
			add("disk full")
		}
		if !strings.Contains(m.Problem, m.Stalled) {
			add(m.Stalled)
		}
		add(unreached(m, alive))
	}
	return out
}

// unreached names the live replicas to which a replica cannot open a new connection.
func unreached(m api.Member, alive map[string]bool) string {
	var ids []string
	for id := range m.Unreached { // sorted below
		if alive[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return fmt.Sprintf("it cannot open a new connection to %s, which an election needs: %s", strings.Join(ids, " and "),
		m.Unreached[ids[0]])
}

// warnings lists what will become a problem if nobody acts.
func warnings(list []api.Member) (out []string) {
	for _, m := range list {
		if m.Warning != "" {
			out = append(out, m.ID+": "+m.Warning)
		}
	}
	return out
}

// unlike lists the replicas that open fewer ports than others, or read files of Hadoop that say
// something else. They look healthy until clients and nodes fail over to them.
func unlike(list []api.Member) (out []string) {
	ports, files := map[string]string{}, map[string]map[string][]string{}
	for _, m := range list {
		for _, p := range m.Ports {
			ports[p] = cmp.Or(ports[p], m.ID)
		}
		for name, digest := range m.Files { // the order does not matter: the lists have the order of the replicas
			if files[name] == nil {
				files[name] = map[string][]string{}
			}
			files[name][digest] = append(files[name][digest], m.ID)
		}
	}
	for _, m := range list {
		if m.Ports == nil { // it does not answer, or its version does not say
			continue
		}
		for _, p := range slices.Sorted(maps.Keys(ports)) {
			if !slices.Contains(m.Ports, p) && !(m.Witness && !strings.HasPrefix(p, "REST")) {
				out = append(out, fmt.Sprintf("%s: it does not open the port %q, which %s opens: who fails over to it fails",
					m.ID, p, ports[p]))
			}
		}
		if m.Files == nil { // then its ports say so
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if most := mostCommon(files[name]); !slices.Contains(most, m.ID) {
				out = append(out, fmt.Sprintf("%s: it has read another %s than %s: make them equal, then reload all", m.ID, name,
					strings.Join(most, " and ")))
			}
		}
	}
	return out
}

// mostCommon returns the replicas with the digest that most of them have.
func mostCommon(byDigest map[string][]string) (most []string) {
	for _, digest := range slices.Sorted(maps.Keys(byDigest)) {
		if ids := byDigest[digest]; len(ids) > len(most) || len(ids) == len(most) && ids[0] < most[0] {
			most = ids
		}
	}
	return most
}

// digestsEqual compares the digests that replicas reported for the same index. It returns nil if
// there are no two such digests.
func digestsEqual(list []api.Member) *bool {
	at := map[uint64]string{}
	var compared, equal bool
	equal = true
	for _, m := range list {
		if m.Digest == "" {
			continue
		}
		have, ok := at[m.DigestIndex]
		if !ok {
			at[m.DigestIndex] = m.Digest
			continue
		}
		compared = true
		equal = equal && have == m.Digest
	}
	if !compared {
		return nil
	}
	return &equal
}
