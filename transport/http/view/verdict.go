package view

import (
	"fmt"
	"strings"

	"rmd/transport/http/v1/api"
)

// inStep is the largest number of entries that a healthy replica may be behind.
const inStep = 100

// Verdict judges the replicas: which are in step, how many more may fail, and whether digests for
// the same index are equal.
func Verdict(initialized bool, leader string, list []api.Member) api.Verdict {
	var v api.Verdict
	v.DigestsEqual = digestsEqual(list)
	for _, m := range list {
		healthy := m.State == "alive" && m.Lag <= inStep && !m.DiskFull
		if healthy {
			v.InStep++
		}
		if m.Voter {
			v.Voters++
			if healthy {
				v.HealthyVoters++
			}
		}
	}
	v.Quorum = v.Voters/2 + 1
	v.CanLose = max(v.HealthyVoters-v.Quorum, 0)
	switch {
	case !initialized && len(list) == 0:
		v.Status, v.Text = "not-initialized", "not initialized yet"
	case v.DigestsEqual != nil && !*v.DigestsEqual:
		v.Status, v.Text = "diverged", "replicas differ in their state"
	case leader == "":
		v.Status, v.Text = "no-leader", fmt.Sprintf("no leader; %d of %d voters healthy, %d needed", v.HealthyVoters, v.Voters, v.Quorum)
	case v.InStep < len(list) || v.HealthyVoters < v.Quorum || len(problems(list)) > 0:
		v.Status = "degraded"
		v.Text = fmt.Sprintf("%d of %d replicas in step, can lose %d", v.InStep, len(list), v.CanLose)
	default:
		v.Status = "healthy"
		v.Text = fmt.Sprintf("%d of %d replicas in step, can lose %d", v.InStep, len(list), v.CanLose)
		if v.CanLose == 0 {
			v.Text += ": the loss of any voter stops it; add voters"
		}
	}
	v.Text = strings.Join(append([]string{v.Text}, problems(list)...), "; ")
	return v
}

// problems lists the problems of the replicas.
func problems(list []api.Member) (out []string) {
	for _, m := range list {
		switch {
		case m.Problem != "":
			out = append(out, m.ID+": "+m.Problem)
		case m.DiskFull: // an older version reports no more than this
			out = append(out, m.ID+": disk full")
		}
	}
	return out
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
