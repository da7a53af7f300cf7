package twin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// answered compares answers to random questions, numbered by seeds from 1. A file has checksums of
// Hadoop's answers.
type answered struct {
	file  string
	count uint64
	rmd   func(seed uint64) []string
	// hadoop starts Hadoop's classes from a folder of interop/fetch.
	hadoop func(cache string) (ask func(seed uint64) ([]string, error), stop func(), err error)
	shows  string // command that shows the difference of a seed, with %d for the seed
}

// compare compares rmd's answers with the recorded ones. With -record it first records Hadoop's
// answers again.
func (a answered) compare(t *testing.T) {
	t.Helper()
	if *record != "" {
		a.recordAnswers(t)
	}
	want, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(want), "\n")
	if uint64(len(lines)-1) != a.count {
		t.Fatalf("%s has %d sums, not %d", a.file, len(lines)-1, a.count)
	}
	for seed := uint64(1); seed <= a.count; seed++ {
		if sumLine(seed, a.rmd(seed)) != lines[seed-1] {
			t.Fatalf("seed %d: not what Hadoop answers; "+a.shows+" shows the difference", seed, seed)
		}
	}
}

func (a answered) recordAnswers(t *testing.T) {
	ask, stop, err := a.hadoop(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var sums strings.Builder
	for seed := uint64(1); seed <= a.count; seed++ {
		answer, err := ask(seed)
		if err != nil {
			t.Fatal(err)
		}
		sums.WriteString(sumLine(seed, answer))
	}
	if err := os.WriteFile(a.file, []byte(sums.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sumLine(seed uint64, answer []string) string {
	sum := sha256.Sum256([]byte(strings.Join(answer, "\n")))
	return fmt.Sprintf("%d %x\n", seed, sum[:8])
}

// TestEntitlements compares entitlements on random trees, in each mode.
func TestEntitlements(t *testing.T) {
	answered{
		file: "testdata/entitlements.sum", count: 500, shows: "make twin-preempt FIRST=%d TREES=1",
		rmd: func(seed uint64) (all []string) {
			p := randomPartition(seed)
			for _, m := range modes {
				all = append(all, p.entitlements(m)...)
			}
			return all
		},
		hadoop: func(cache string) (func(uint64) ([]string, error), func(), error) {
			jvms := &entitlementJVMs{cache: cache}
			return func(seed uint64) (all []string, err error) {
				p := randomPartition(seed)
				for _, m := range modes {
					lines, _, err := jvms.entitlements(p, m)
					if err != nil {
						return nil, err
					}
					all = append(all, lines...)
				}
				return all, nil
			}, jvms.close, nil
		},
	}.compare(t)
}

// TestLeaves compares what applications of random leaves must give.
func TestLeaves(t *testing.T) {
	answered{
		file: "testdata/leaves.sum", count: 1000, shows: "go run ./twin/run -first %d -leaves 1",
		rmd: func(seed uint64) []string { return randomPreemptedLeaf(seed).shares() },
		hadoop: func(cache string) (func(uint64) ([]string, error), func(), error) {
			j, err := startLeafJVM(cache)
			if err != nil {
				return nil, nil, err
			}
			return func(seed uint64) ([]string, error) {
				l := randomPreemptedLeaf(seed)
				return j.ask(l.text(), len(l.Apps))
			}, func() { _ = j.Close() }, nil
		},
	}.compare(t)
}

// TestPlacements compares how random placement rules are read, and where they place random
// submissions.
func TestPlacements(t *testing.T) {
	answered{
		file: "testdata/placements.sum", count: 1000, shows: "make twin-placement FIRST=%d WORLDS=1",
		rmd: func(seed uint64) []string { return randomPlacements(seed).answers() },
		hadoop: func(cache string) (func(uint64) ([]string, error), func(), error) {
			j, err := startPlacementJVM(cache)
			if err != nil {
				return nil, nil, err
			}
			return func(seed uint64) ([]string, error) {
				w := randomPlacements(seed)
				return j.ask(w.text(), len(w.questions))
			}, func() { _ = j.Close() }, nil
		},
	}.compare(t)
}
