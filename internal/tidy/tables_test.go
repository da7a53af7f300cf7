package tidy

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of the documents again")

// madeTable is a table of a document that is made from a table of the program. The line
// "<!-- NAME: … -->" precedes it.
type madeTable struct {
	file, name string
	head       []string
	rows       [][]string
}

func madeTables() []madeTable {
	meaning := []string{"cause", "meaning"}
	grants := append(causeRows(explain.Causes()),
		[]string{"`MAX_PARALLEL_APPS`", "a limit on parallel applications blocks an attempt"},
		[]string{"`" + yarn.CancelAskGone.String() + "`, …",
			"the cause of a [cancelled reservation](queues.md#container-reservations)"},
		[]string{"`" + yarn.PreemptGuarantee.String() + "`, …", "the cause of a [preemption](preemption.md#causes)"})
	keys := func(name string, p capacity.Place) madeTable {
		m := madeTable{"docs/operations/queue-keys.md", name, []string{"key", "default", "meaning"}, nil}
		for _, k := range capacity.Keys(p) {
			def, text := k.Default, k.Text
			if def != "" && !strings.ContainsAny(def, " '") {
				def = "`" + def + "`"
			}
			if k.Own {
				text = "rmd's own key: " + text
			}
			m.rows = append(m.rows, []string{"`" + k.Name + "`", def, text})
		}
		return m
	}
	return []madeTable{
		keys("keys of a queue", capacity.OfQueue), keys("keys of the cluster", capacity.OfCluster),
		keys("keys of preemption", capacity.OfPreemption), keys("other keys", capacity.OfSite),
		{"docs/operations/errors.md", "refusals", []string{"code", "meaning", "what to do"}, refusalRows()},
		{"docs/operations/queues.md", "causes of cancellations", meaning, causeRows(yarn.Causes[yarn.CancelCause]())},
		{"docs/operations/preemption.md", "causes of preemptions", meaning, causeRows(yarn.Causes[yarn.PreemptionCause]())},
		{"docs/operations/preemption.md", "causes of withdrawals", meaning, causeRows(yarn.Causes[yarn.WithdrawalCause]())},
		{"docs/operations/rest.md", "causes of grants", []string{"`reason`", "meaning"}, grants},
	}
}

// causeRows returns a row of a name and a sentence for each value.
func causeRows[T interface {
	String() string
	Text() string
}](all []T) (rows [][]string) {
	for _, v := range all {
		rows = append(rows, []string{"`" + v.String() + "`", v.Text()})
	}
	return rows
}

// refusalRows returns a row for each refusal of the planner that has a meaning of its own.
func refusalRows() (rows [][]string) {
	for _, r := range input.Refusals() {
		if r.Text != "" {
			rows = append(rows, []string{"`" + string(r.Code) + "`", r.Text, r.Do})
		}
	}
	return rows
}

// text returns the table in Markdown.
func (m madeTable) text() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(m.head)
	b.WriteString(strings.Repeat("|---", len(m.head)) + "|\n")
	for _, r := range m.rows {
		line(r)
	}
	return b.String()
}

// TestTablesOfDocuments checks that the documents have the tables of the program. With -rewrite it
// writes them.
func TestTablesOfDocuments(t *testing.T) {
	for _, m := range madeTables() {
		path := filepath.Join("..", "..", m.file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mark := "<!-- " + m.name + ": go test ./internal/tidy -run TestTables -rewrite -->\n\n"
		before, rest, ok := strings.Cut(string(data), mark)
		if !ok {
			t.Errorf("%s has no line %q", m.file, strings.TrimSpace(mark))
			continue
		}
		end := 0
		for line := range strings.Lines(rest) {
			if !strings.HasPrefix(line, "|") {
				break
			}
			end += len(line)
		}
		switch {
		case rest[:end] == m.text():
		case *rewrite:
			if err := os.WriteFile(path, []byte(before+mark+m.text()+rest[end:]), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: the table %q is not that of the program: go test ./internal/tidy -run TestTables -rewrite\nwant:\n%s",
				m.file, m.name, m.text())
		}
	}
}

// TestDocumentsNameEveryCode checks that the operator's guide explains each reason to wait and each
// refusal of the planner.
func TestDocumentsNameEveryCode(t *testing.T) {
	var reasons, codes []string
	for _, r := range input.Refusals() {
		codes = append(codes, string(r.Code))
	}
	for r := scheduler.NoReason + 1; r < scheduler.Reasons; r++ {
		reasons = append(reasons, r.String())
	}
	for _, c := range []struct {
		file  string
		names []string
	}{
		{"docs/operations/troubleshooting.md", reasons},
		{"docs/operations/errors.md", codes},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.names) < 20 {
			t.Fatalf("only %d names for %s", len(c.names), c.file)
		}
		for _, name := range c.names {
			if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
				first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
				return strings.HasPrefix(line, "|") && strings.Contains(first, "`"+name+"`")
			}) {
				t.Errorf("%s has no row for %s", c.file, name)
			}
		}
	}
}
