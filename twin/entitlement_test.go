package twin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestEntitlements compares rmd's entitlements on some random trees with what Hadoop's calculator has
// answered. -record asks it again. CompareEntitlements compares more trees, and shows the difference.
func TestEntitlements(t *testing.T) {
	const file, trees = "testdata/entitlements.sum", 500
	sum := func(seed uint64, entitlements func(p *randomTree) string) string {
		return fmt.Sprintf("%d %x\n", seed, sha256.Sum256([]byte(entitlements(randomPartition(seed)))))[:24] + "\n"
	}
	var got strings.Builder
	for seed := uint64(1); seed <= trees; seed++ {
		got.WriteString(sum(seed, func(p *randomTree) (all string) {
			for _, m := range modes {
				all += strings.Join(p.entitlements(m), "\n")
			}
			return all
		}))
	}
	if *record != "" {
		hadoop := entitlementJVMs{cache: *record}
		defer hadoop.close()
		var answered strings.Builder
		for seed := uint64(1); seed <= trees; seed++ {
			answered.WriteString(sum(seed, func(p *randomTree) (all string) {
				for _, m := range modes {
					lines, _, err := hadoop.entitlements(p, m)
					if err != nil {
						t.Fatal(err)
					}
					all += strings.Join(lines, "\n")
				}
				return all
			}))
		}
		if err := os.WriteFile(file, []byte(answered.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("tree %d: not what Hadoop answers; make twin-preempt FIRST=%d TREES=1 shows the difference", i+1, i+1)
		}
	}
}
