package report

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
)

const second = int64(1e9)

// failing returns a history of a minute with three replicas, four nodes and six clients, a
// partition, a crash and a slow link. From index 150 on, r3 has another state.
func failing() *history.History {
	h := history.New()
	rng := rand.New(rand.NewSource(7))
	at := func(seconds float64, l history.Line) {
		ns := int64(seconds*1e9) + second
		switch l := l.(type) {
		case *history.Replica:
			l.NS = ns
		case *history.Fault:
			l.NS = ns
		case *history.Mark:
			l.NS = ns
		case *history.Order:
			l.NS = ns
		case *history.Op:
			l.NS = ns
		}
		h.Add(l)
	}
	replicas := []string{"r1", "r2", "r3"}
	for _, id := range replicas {
		at(0, &history.Replica{ID: id, Kind: history.Start, Incarnation: 1})
		at(.1, &history.Replica{ID: id, Kind: history.Config, Index: 1, Voters: replicas})
	}
	lead := func(seconds float64, who string, term uint64) {
		for _, id := range replicas {
			at(seconds-.05, &history.Replica{ID: id, Kind: history.Vote, Term: term, For: who})
		}
		at(seconds, &history.Replica{ID: who, Kind: history.Lead, Term: term})
	}
	lead(.6, "r1", 1)
	at(19, &history.Fault{Kind: "partition", When: history.Begin, ID: 1, On: []string{"r1"}})
	lead(20.2, "r2", 2)
	at(21, &history.Replica{ID: "r1", Kind: history.Follow, Term: 2})
	at(27, &history.Fault{Kind: "partition", When: history.End, ID: 1})
	at(33, &history.Fault{Kind: "crash", When: history.Begin, ID: 2, On: []string{"r3"}})
	at(33, &history.Replica{ID: "r3", Kind: history.Stop})
	at(35, &history.Fault{Kind: "slow-link", When: history.Begin, ID: 3, On: []string{"r2"}, Text: "200 ms"})
	at(37, &history.Replica{ID: "r3", Kind: history.Start, Incarnation: 2, Term: 2})
	at(37, &history.Fault{Kind: "crash", When: history.End, ID: 2})
	at(37.2, &history.Replica{ID: "r3", Kind: history.Restore, Index: 139, Digest: 1139})
	at(41, &history.Fault{Kind: "slow-link", When: history.End, ID: 3})
	at(46, &history.Fault{Kind: "transfer", When: history.Once, On: []string{"r2"}})
	at(50, &history.Mark{Name: history.Recovery})
	at(60, &history.Mark{Name: history.Over})
	for i := uint64(2); i < 240; i++ {
		seconds, term := .7+float64(i)/4, uint64(1)
		if seconds > 20.2 {
			term = 2
		}
		for k, id := range replicas {
			if id == "r3" && (seconds > 33 && seconds < 37.2 || i < 140 && seconds > 33) {
				continue
			}
			digest := 1000 + i
			if id == "r3" && i >= 150 {
				digest += 7
			}
			at(seconds+float64(k)*.002, &history.Replica{ID: id, Kind: history.Apply, Term: term, Index: i, Digest: digest})
		}
	}
	for c := range 6 {
		for p, seconds := 100*c, rng.Float64(); seconds < 58; p++ {
			id := fmt.Sprintf("application_1780000000000_%04d", c*1000+p)
			in := &history.Value{App: id, Name: fmt.Sprintf("job-%d", p)}
			op := func(t history.Type, out *history.Value) *history.Op {
				return &history.Op{Process: p, Type: t, F: history.Submit, In: in, Out: out, Client: fmt.Sprintf("client%d", c+1)}
			}
			at(seconds, op(history.Invoke, nil))
			seconds += .05
			switch {
			case seconds > 19 && seconds < 20.3:
				at(seconds, op(history.Info, &history.Value{Text: "timeout"}))
			case rng.Intn(15) == 0:
				at(seconds, op(history.Fail, &history.Value{Code: "QUEUE_STOPPED"}))
			default:
				at(seconds, op(history.OK, &history.Value{App: id}))
				at(seconds+.2, &history.Order{Node: fmt.Sprintf("n%d:45454", 1+rng.Intn(4)), Kind: history.StartContainer,
					Container: strings.Replace(id, "application", "container", 1) + "_01_000001"})
			}
			seconds += .3 + 2*rng.Float64()
		}
	}
	state := func(id string, digest uint64, used string) {
		h.Add(&history.Dump{Replica: id, Index: 150, Digest: digest, NS: 40 * second, Fields: []history.Field{
			{Name: "app/12/state", Value: "RUNNING"}, {Name: "node/n1:45454/allocated", Value: used},
			{Name: "queue/root.a/used", Value: used}, {Name: "queue/root/used", Value: used}}})
	}
	state("r1", 1150, "4096MB 4vc")
	state("r3", 1157, "3072MB 3vc")
	h.Dumps[1].Fields = append(h.Dumps[1].Fields, history.Field{Name: "reservation/r4/node", Value: "n2:45454"})
	h.Sort()
	return h
}

func judged(t *testing.T, h *history.History) *check.Verdict {
	t.Helper()
	opt := check.DefaultOptions(500 * time.Millisecond)
	opt.Exact = true
	v, err := check.Judge(h, opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func page(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	if err := WritePage(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dataOf returns the data that the page passes to its script.
func dataOf(t *testing.T, text string) data {
	t.Helper()
	_, rest, _ := strings.Cut(text, `id="data">`)
	text, _, _ = strings.Cut(rest, "</script>")
	var d data
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPage checks that the page has the violation with its chain at the top, shows the digests side
// by side at the first index where they differ, and loads nothing.
func TestPage(t *testing.T) {
	h := failing()
	v := judged(t, h)
	if failed := v.Failed(); len(failed) != 1 || failed[0].ID != "S1" {
		t.Fatalf("failed invariants %+v, want S1 alone", failed)
	}
	text := page(t, Page{Title: "tier1 native, seed 1411", Again: "make sim SEED=1411", History: h, Verdict: v})
	for _, want := range []string{
		"Violated: S1.", `at index 150 r1 has digest 000000000000047e (term 2), r3 has 0000000000000485 (term 2)`,
		"r3 applies index 150 of term 2: digest 0000000000000485", "make sim SEED=1411",
		"Digests differ first at index 150", "digest at 149", "differs from the majority", "r1 and r3, field by field",
		"queue/root.a/used", "3072MB 3vc", "<td class=\"mono\">—</td><td class=\"mono\">n2:45454</td>", "Equal: 1 fields",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, never := range []string{"http://", "https://", "src=\"", "@import", "url("} {
		if strings.Contains(text, never) {
			t.Errorf("the page names %s", never)
		}
	}
	d := dataOf(t, text)
	var lanes []string
	for _, l := range d.Lanes {
		lanes = append(lanes, l.Name)
	}
	if got := strings.Join(lanes,
		" "); got != "faults r1 r2 r3 n1:45454 n2:45454 n3:45454 n4:45454 client1 client2 client3 client4 client5 client6" {
		t.Errorf("lanes: %s", got)
	}
	bars := map[string]int{}
	for _, b := range d.Bars {
		if b.To < b.From {
			t.Errorf("a bar ends before it begins: %+v", b)
		}
		bars[b.Kind]++
	}
	if bars["lead"] != 2 || bars["deposed"] != 1 || bars["down"] != 1 || bars["fault"] != 8 {
		t.Errorf("bars: %v", bars)
	}
	ticks := map[string]int{}
	for _, k := range d.Ticks {
		ticks[k.Kind]++
	}
	if ticks["ok"] == 0 || ticks["fail"] == 0 || ticks["info"] == 0 || ticks["order"] != ticks["ok"] {
		t.Errorf("ticks: %v", ticks)
	}
	last := len(d.Chain) - 1 // starts, leadership and restore come first
	if last != 5 || d.Focus != d.Chain[last].At || d.Lanes[d.Chain[last].Lane].Name != "r3" ||
		!strings.Contains(d.Chain[3].Text, "from the snapshot of index 139") {
		t.Errorf("chain: %+v, focus %v", d.Chain, d.Focus)
	}
}

// TestPageHolds checks the page of a run without a violation, and that of an empty history.
func TestPageHolds(t *testing.T) {
	h := failing()
	for _, e := range h.Replicas {
		e.Digest = 0
	}
	h.Dumps = nil
	text := page(t, Page{Title: "good", History: h, Verdict: judged(t, h)})
	for _, never := range []string{`id="violation"`, "Digests differ"} {
		if strings.Contains(text, never) {
			t.Errorf("the page shows %s", never)
		}
	}
	if !strings.Contains(text, "No violations.") {
		t.Error("the page does not say that all is well")
	}
	text = page(t, Page{Title: "empty", History: history.New(), Verdict: judged(t, history.New())})
	if strings.Contains(text, ":null") {
		t.Error("the script is given null for a list")
	}
}

// TestPageIsBounded checks that the page of a long run shows the events near the violation, and
// that the remaining nodes and clients share a lane.
func TestPageIsBounded(t *testing.T) {
	h := failing()
	text := page(t, Page{Title: "long", History: h, Verdict: judged(t, h), Lanes: 2, Ticks: 50})
	d := dataOf(t, text)
	if len(d.Ticks) != 50 || !strings.Contains(text, "50 of ") {
		t.Errorf("%d ticks", len(d.Ticks))
	}
	if n := len(d.Lanes); n != 1+3+3+3 || d.Lanes[n-1].Name != "other clients" {
		t.Errorf("%d lanes: %+v", n, d.Lanes)
	}
}

// TestPageIsThinned checks that the page of a long run without a violation shows events up to its
// end, and prefers those that did not succeed.
func TestPageIsThinned(t *testing.T) {
	var ticks []tick
	for i := range 1000 {
		k := tick{At: float64(i), Kind: "ok"}
		if i%10 == 0 {
			k.Kind = "info"
		}
		ticks = append(ticks, k)
	}
	line := &timeline{Data: data{Ticks: slices.Clone(ticks)}}
	line.cut(400)
	var halves, bad [2]int
	for _, k := range line.Data.Ticks {
		halves[int(k.At)/500]++
		bad[int(k.At)/500] += 1 - k.sort()
	}
	if halves != [2]int{200, 200} || bad != [2]int{50, 50} || !strings.Contains(line.shown, "400 of 1 000") {
		t.Errorf("%v of the halves, %v of what did not go well, %q", halves, bad, line.shown)
	}
	line = &timeline{Data: data{Ticks: slices.Clone(ticks)}}
	line.cut(40)
	if last := line.Data.Ticks[len(line.Data.Ticks)-1]; len(line.Data.Ticks) != 40 || last.Kind != "info" ||
		last.At < 900 {
		t.Errorf("%d events, the last one %+v", len(line.Data.Ticks), last)
	}
}

// TestPageQuotes checks that text from a history is quoted.
func TestPageQuotes(t *testing.T) {
	h := failing()
	evil := `</script><script>alert(1)</script>"'<b>`
	h.Add(&history.Fault{Kind: evil, When: history.Once, NS: second})
	text := page(t, Page{Title: evil, History: h, Verdict: judged(t, h)})
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<b>") && strings.Contains(text, `"'<b>`) {
		t.Error("a fault's name is markup")
	}
	dataOf(t, text)
}
