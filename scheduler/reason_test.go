package scheduler

import "testing"

func TestEveryReasonHasItsRow(t *testing.T) {
	seen, names := map[Reason]bool{}, map[string]bool{}
	for _, r := range rows {
		if seen[r.reason] || names[r.name] {
			t.Errorf("reason %d, %q: another row has the reason or the name", r.reason, r.name)
		}
		if r.reason != NoReason && (r.name == "" || r.diagnostic == "") {
			t.Errorf("reason %d: name %q, YARN's sentence %q, want both", r.reason, r.name, r.diagnostic)
		}
		seen[r.reason], names[r.name] = true, true
	}
}
