package work

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/yarn"
)

// TestListsAt80Columns checks that lists on a terminal of 80 columns fit, show whole amounts, and
// show the reason for which an application waits.
func TestListsAt80Columns(t *testing.T) {
	size := api.Resource{api.MemoryMB: 281 << 10, api.VCores: 40, api.GPU: 3}
	for name, c := range map[string]struct {
		write func(*bytes.Buffer, output.Options) error
		want  []string
	}{
		"app list": {func(b *bytes.Buffer, o output.Options) error {
			return appColumns.Write(b, []api.App{{ID: "application_1780000000000_0107", State: "ACCEPTED",
				Queue: "root.production.train", User: "annabelle", Name: "bert-large-uncased", WaitingMillis: 242000,
				Why: "AM_LIMIT_QUEUE", WhyText: "its AM needs 2 GiB; the AMs of root.production.train use 40 GiB of 40 GiB"}}, o)
		}, []string{"0107 ", "  production.train  ", "  AM_LIMIT_QUEUE: its AM needs…"}},
		"app list of queues that have no root in common": {func(b *bytes.Buffer, o output.Options) error {
			return appColumns.Write(b, []api.App{{ID: "application_1780000000000_0107", Queue: "root.a"}, {Queue: "lost"}}, o)
		}, []string{"  root.a  "}},
		"node list": {func(b *bytes.Buffer, o output.Options) error {
			return nodeColumns.Write(b, []api.Node{{ID: "worker-03.rack-7.example.org:8041",
				State: yarn.NodeRunning.String(), Used: size, Free: size, Reservation: "r41"}}, o)
		}, []string{size.String() + "  " + size.String()}},
		"node list of one port": {func(b *bytes.Buffer, o output.Options) error {
			return nodeColumns.Write(b, []api.Node{{ID: "worker-03.example.org:8041",
				State: yarn.NodeRunning.String(), Used: size, Free: size},
				{ID: "worker-04.example.org:8041"}}, o)
		}, []string{"worker-03  "}},
		"node list of two domains": {func(b *bytes.Buffer, o output.Options) error {
			return nodeColumns.Write(b, []api.Node{{ID: "n3.a.org:8041", State: yarn.NodeRunning.String(), Used: size,
				Free: size}, {ID: "n3.b.org:8041"}, {ID: "10.0.0.3:8041"}}, o)
		}, []string{"n3.a.org  ", "n3.b.org  ", "10.0.0.3  "}},
		"node list of two ports": {func(b *bytes.Buffer, o output.Options) error {
			return nodeColumns.Write(b, []api.Node{{ID: "worker-03:8041", Used: size, Free: size}, {ID: "worker-03:8042"}}, o)
		}, []string{"worker-03:8041  ", "worker-03:8042  "}},
		"containers of a node": {func(b *bytes.Buffer, o output.Options) error {
			return nodeContainers.Write(b, []api.Container{{ID: "container_e17_1780000000000_0107_01_000002",
				Node: "worker-03.example.org:8041", State: "ALLOCATED", Size: size}}, o)
		}, []string{"container_e17_1780000000000_0107_01_000002  ALLOCATED  " + size.String()}},
		"reservation list": {func(b *bytes.Buffer, o output.Options) error {
			return reservationColumns.Write(b, []api.Reservation{{ID: "r41", Node: "worker-03.example.org:8041",
				App: "application_1780000000000_0107", Size: size}}, o)
		}, []string{"worker-03  0107  "}},
		"queue tree": {func(b *bytes.Buffer, o output.Options) error {
			return queueColumns(true).Write(b, []verb.FlatQueue{{Queue: api.Queue{Name: "train", Path: "root.train",
				State: "RUNNING", QueueShare: api.QueueShare{AbsCapacity: 40, AbsMax: 100, Pending: size}}}}, o)
		}, []string{size.String()}},
		"label list": {func(b *bytes.Buffer, o output.Options) error {
			return labelColumns.Write(b, []api.Label{{Name: "accelerated", Figures: api.Figures{Used: size, Free: size}}}, o)
		}, []string{size.String() + "  " + size.String()}},
	} {
		var b bytes.Buffer
		if err := c.write(&b, output.Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s has no %q:\n%s", name, want, b.String())
			}
		}
	}
}
