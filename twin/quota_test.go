package twin

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const quotaFile = "testdata/quotas.table"

// TestQuotas compares what each quota allows with the table of Hadoop's values, in which absent, 0
// and unlimited are three values. A row in which rmd differs names the difference. -record fills the
// table with the values of Hadoop's CapacityScheduler.
func TestQuotas(t *testing.T) {
	if *record != "" {
		recordQuotas(t)
	}
	text, err := os.ReadFile(quotaFile)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		name, values, _ := strings.Cut(line, "\t")
		table[name] = values
	}
	for _, q := range quotas() {
		hadoop, intended, differs := strings.Cut(table[q.name], "\t")
		want := hadoop
		if differs {
			_, want, _ = strings.Cut(intended, ": ")
		}
		if got := q.value(Play(q.history)); got != want {
			t.Errorf("%s\nrmd    %s\nwant   %s\nHadoop %s", q.name, got, want, hadoop)
		}
	}
}

// quotaDifference returns the name of the intended difference in a row; "" if there is none.
func quotaDifference(q quota, hadoop, rmd string) string {
	switch below := strings.Contains(q.name, " queue root.a.c "); {
	case rmd == "refused" && strings.Contains(q.name, "maximum-allocation"):
		return "largest container too small"
	case hadoop == "refused" && below:
		return "maximum above the parent's"
	case hadoop == "refused" && strings.Contains(q.name, "accessible-node-labels.x.maximum-capacity=-1"):
		return "no maximum for a label"
	case strings.HasPrefix(q.name, "mixed queue root.a ") && strings.Contains(hadoop, "max=0,0,0"):
		return "maximum without a capacity"
	case strings.HasPrefix(q.name, "legacy queue root.a"):
		return "maximum by kind"
	}
	return ""
}

func recordQuotas(t *testing.T) {
	hadoop, err := StartHadoop(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer hadoop.Close()
	var b strings.Builder
	for _, q := range quotas() {
		theirs, ours := q.value(hadoop.Play(q.history)), q.value(Play(q.history))
		fmt.Fprintf(&b, "%s\t%s", q.name, theirs)
		if name := quotaDifference(q, theirs, ours); theirs != ours && name != "" {
			fmt.Fprintf(&b, "\t%s: %s", name, ours)
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(quotaFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
