package twin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLeaves compares what applications must give in some random leaves with what Hadoop's plug-in has
// answered. -record asks it again. CompareLeaves compares more leaves, and shows the difference.
func TestLeaves(t *testing.T) {
	const file, leaves = "testdata/leaves.sum", 1000
	line := func(seed uint64, answer []string) string {
		sum := sha256.Sum256([]byte(strings.Join(answer, "\n")))
		return fmt.Sprintf("%d %x\n", seed, sum[:8])
	}
	var got strings.Builder
	for seed := uint64(1); seed <= leaves; seed++ {
		got.WriteString(line(seed, randomPreemptedLeaf(seed).shares()))
	}
	if *record != "" {
		recordLeaves(t, file, leaves, line)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("leaf %d: not what Hadoop answers; go run ./twin/run -first %d -leaves 1 shows the difference", i+1, i+1)
		}
	}
}

func recordLeaves(t *testing.T, file string, leaves uint64, line func(seed uint64, answer []string) string) {
	j, err := startLeafJVM(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var answered strings.Builder
	for seed := uint64(1); seed <= leaves; seed++ {
		l := randomPreemptedLeaf(seed)
		answer, err := j.ask(l.text(), len(l.Apps))
		if err != nil {
			t.Fatal(err)
		}
		answered.WriteString(line(seed, answer))
	}
	if err := os.WriteFile(file, []byte(answered.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
