package command

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/yarn"
)

// TestFiguresAddUp checks on a cluster with a reservation that the figures add up, are the sums over
// the nodes, and are the same in REST, on the command line, on the page and in the metrics.
func TestFiguresAddUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a cluster")
	}
	s := stage0.ready(t)
	if err := until(time.Minute, "the figures of one moment agree", func() error { return s.figures(t) }); err != nil {
		t.Error(err)
	}
}

// figures compares the faces of the cluster. Between two of them it may have changed.
func (s *stage) figures(t *testing.T) error {
	var c api.Cluster
	var labels api.Labels
	var nodes api.Nodes
	for path, d := range map[string]any{"/v1/cluster": &c, "/v1/labels": &labels, "/v1/nodes": &nodes} {
		if err := s.get(path, d); err != nil {
			return err
		}
	}
	f := c.Totals.Figures
	var sum api.Figures
	for _, kind := range f.Total.Names() {
		var used, free, held int64
		for _, n := range nodes.Nodes {
			used, free = used+n.Used[kind], free+n.Free[kind]
			if n.Reservation != "" {
				held += n.Free[kind]
			}
		}
		if f.Used[kind]+f.Free[kind] != f.Total[kind] || f.HeldFree[kind]+f.Usable[kind] > f.Free[kind] {
			return fmt.Errorf("%s does not add up: %v", kind, f)
		}
		if used != f.Used[kind] || free != f.Free[kind] || held != f.HeldFree[kind] {
			return fmt.Errorf("%s of the nodes: %d used, %d free, %d held; of the cluster %v", kind, used, free, held, f)
		}
	}
	if f.HeldFree[api.MemoryMB] == 0 || f.Reserved[api.MemoryMB] <= f.HeldFree[api.MemoryMB] {
		return fmt.Errorf("no reservation that misses something stands: %v", f)
	}
	for _, l := range labels.Labels {
		for _, p := range []struct {
			to   *api.Resource
			from api.Resource
		}{{&sum.Total, l.Total}, {&sum.Used, l.Used}, {&sum.Free, l.Free}, {&sum.HeldFree, l.HeldFree},
			{&sum.Usable, l.Usable}, {&sum.Reserved, l.Reserved}, {&sum.Pending, l.Pending}} {
			if *p.to == nil {
				*p.to = api.Resource{}
			}
			for kind, n := range p.from {
				(*p.to)[kind] += n
			}
		}
	}
	if got, want := fmt.Sprint(sum), fmt.Sprint(f); got != want {
		return fmt.Errorf("the labels together have %s, the cluster %s", got, want)
	}
	l := labels.Labels[0]
	r := rmd(t, s.env, "label", "list", "-o", "wide", "-q", "--columns", "total,used,free,held,usable,reserved,pending")
	row, _, _ := strings.Cut(r.out, "\n")
	if got, want := strings.Join(regexp.MustCompile(`\s{2,}`).Split(strings.TrimSpace(row), -1), "|"),
		strings.Join([]string{l.Total.String(), l.Used.String(), l.Free.String(), l.HeldFree.String(), l.Usable.String(),
			l.Reserved.String(), l.Pending.String()}, "|"); got != want {
		return fmt.Errorf("rmd label list: %s %s, REST: %s", got, r.err, want)
	}
	page, err := s.text("/ui/")
	if err != nil {
		return err
	}
	memory := ""
	for _, n := range []api.Resource{f.Used, f.Free, f.Usable, f.Total, f.Pending, f.HeldFree} {
		memory += `<td class="num">` + yarn.FormatMemory(n[api.MemoryMB]) + `</td>`
	}
	if !strings.Contains(page, memory) {
		return fmt.Errorf("the overview does not have the row %s", memory)
	}
	metrics, err := s.text("/metrics")
	if err != nil {
		return err
	}
	for kind, n := range map[string]api.Resource{"total": l.Total, "used": l.Used, "free": l.Free, "held_free": l.HeldFree,
		"usable": l.Usable, "reserved": l.Reserved} {
		if want := fmt.Sprintf(`rmd_partition_resource{kind="%s",partition="",resource="vcores"} %d`+"\n", kind,
			n[api.VCores]); !strings.Contains(metrics, want) {
			return fmt.Errorf("the metrics do not have %s", want)
		}
	}
	return nil
}

// text reads a page.
func (s *stage) text(path string) (string, error) {
	res, err := http.Get(s.base + path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}
