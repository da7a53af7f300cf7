package twin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPlacements compares how random placement rules are read, and where they send random submissions,
// with what Hadoop's classes have answered. -record asks them again. ComparePlacements shows the
// difference.
func TestPlacements(t *testing.T) {
	const file, worlds = "testdata/placements.sum", 1000
	line := func(seed uint64, answers []string) string {
		sum := sha256.Sum256([]byte(strings.Join(answers, "\n")))
		return fmt.Sprintf("%d %x\n", seed, sum[:8])
	}
	var got strings.Builder
	for seed := uint64(1); seed <= worlds; seed++ {
		got.WriteString(line(seed, randomPlacements(seed).answers()))
	}
	if *record != "" {
		recordPlacements(t, file, worlds, line)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("world %d: not what Hadoop answers; make twin-placement FIRST=%d WORLDS=1 shows the difference", i+1, i+1)
		}
	}
}

func recordPlacements(t *testing.T, file string, worlds uint64, line func(seed uint64, answers []string) string) {
	j, err := startPlacementJVM(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var answered strings.Builder
	for seed := uint64(1); seed <= worlds; seed++ {
		w := randomPlacements(seed)
		answers, err := j.ask(w.text(), len(w.questions))
		if err != nil {
			t.Fatal(err)
		}
		answered.WriteString(line(seed, answers))
	}
	if err := os.WriteFile(file, []byte(answered.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
