package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
)

const shadowPath = "/v1/shadow"

func shadowVerbs() verb {
	return noun("shadow", "another queue configuration beside the cluster, which allocates nothing",
		shadowStart(), shadowStatus(), shadowReport(), shadowStop())
}

func shadowStart() verb {
	return verb{name: "start", usage: "run another configuration on a follower", args: "FILE | DIR | KEY=VALUE…", min: 1, max: -1,
		flags: []cli.Flag{
			spanFlag("behind", "how far it stays behind the log once it differs", 10*time.Minute),
			&cli.Uint64Flag{Name: "seed", Usage: "seed of container lengths that are not known in time", Value: 1},
		},
		long: "Runs a file of queues, or the current configuration with some keys changed, on what happens in the cluster. A follower does so, on a copy of its state: " +
			"nothing is written to the log, and nobody gets a container of it. Of several addresses it takes the first whose replica does not lead. " +
			"A KEY that begins with root. stands for yarn.scheduler.capacity.root.…; KEY= deletes a key.",
		examples: []string{"rmd shadow start capacity-scheduler.xml", "rmd shadow start root.train.capacity=40 root.batch.capacity=10 --behind 1h"},
		complete: []source{keysAssignedOrFiles},
		run: func(c *call) error {
			in, err := c.wantedShadow()
			if err != nil {
				return err
			}
			a, err := c.onFollower(func(cl *client.Client) (*client.Answer, error) { return cl.Post(c.ctx(), shadowPath, in) })
			if err != nil {
				return err
			}
			return c.showShadow(a, writeShadowStatus)
		}}
}

func shadowStatus() verb {
	return verb{name: "status", usage: "say whether a shadow runs, where, and whether it differs from the cluster", flags: watchFlags(),
		examples: []string{"rmd shadow status"},
		run:      func(c *call) error { return c.watchShadow(writeShadowStatus) }}
}

func shadowReport() verb {
	return verb{name: "report", usage: "compare waits, use, preemptions and fairness of each queue", flags: watchFlags(),
		long: "Shows each leaf queue in the cluster and in the shadow, since the shadow began. Once the shadow goes its own way its figures are estimates. " +
			"OWED is the part of the guarantee that the queue wanted and did not have, as a mean over the time. The page /ui/shadow has the plots.",
		examples: []string{"rmd shadow report --watch", "rmd shadow report -o json"},
		run:      func(c *call) error { return c.watchShadow(writeShadowReport) }}
}

func shadowStop() verb {
	return verb{name: "stop", usage: "end the shadow, and show its last report",
		examples: []string{"rmd shadow stop"},
		run: func(c *call) error {
			cl, _, err := c.shadowReplica(c.ctx())
			if err != nil {
				return err
			}
			a, err := cl.Delete(c.ctx(), shadowPath, nil)
			if err != nil {
				return err
			}
			return c.showShadow(a, writeShadowReport)
		}}
}

// wantedShadow reads the arguments: a file, or keys to change in the configuration in force.
func (c *call) wantedShadow() (in api.StartShadow, err error) {
	behind := c.span("behind").Milliseconds()
	in.BehindMillis, in.Seed = &behind, c.Uint64("seed")
	if _, err := os.Stat(c.arg(0)); err == nil || !strings.Contains(c.arg(0), "=") {
		if c.NArg() > 1 {
			return in, clierr.Usagef("write one file, or keys", "%q is a file, and there are more arguments", c.arg(0))
		}
		props, err := readProperties(c.arg(0))
		in.Properties, in.Name = asMap(props), filepath.Base(c.arg(0))
		return in, err
	}
	var now api.Conf
	if _, err := c.get(c.ctx(), "/v1/conf", nil, &now); err != nil {
		return in, err
	}
	in.Properties, in.Name = now.Properties, strings.Join(c.Args().Slice(), " ")
	return in, assign(in.Properties, c.Args().Slice())
}

// inStep returns a client for each replica that is in step, or for all addresses if none is, so that
// a request to it says what is wrong.
func (c *call) inStep(ctx context.Context) ([]*client.Client, error) {
	all, err := c.client()
	if err != nil {
		return nil, err
	}
	var out []*client.Client
	for _, s := range all.Survey(ctx) {
		if s.InStep() {
			one, err := c.clientOf([]string{s.Addr})
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
	}
	if out == nil {
		out = append(out, all)
	}
	return out, nil
}

// onFollower calls the replicas one after the other until one does not refuse because it is the
// leader.
func (c *call) onFollower(ask func(*client.Client) (*client.Answer, error)) (a *client.Answer, err error) {
	all, err := c.inStep(c.ctx())
	if err != nil {
		return nil, err
	}
	for _, cl := range all {
		if a, err = ask(cl); client.CodeOf(err) != api.CodeShadowOnLeader {
			break
		}
	}
	return a, err
}

// shadowReplica returns the replica that has a shadow. If none has one, it returns the first
// replica that answers.
func (c *call) shadowReplica(ctx context.Context) (found *client.Client, a *client.Answer, err error) {
	all, err := c.inStep(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, cl := range all {
		answer, failed := cl.Get(ctx, shadowPath, nil)
		var d api.Shadow
		if failed == nil {
			failed = answer.Decode(&d)
		}
		switch {
		case failed != nil:
			err = failed
		case d.State != api.ShadowNone:
			return cl, answer, nil
		case found == nil:
			found, a = cl, answer
		}
	}
	if found != nil {
		err = nil
	}
	return found, a, err
}

// watchShadow shows a shadow, repeatedly with --watch.
func (c *call) watchShadow(write func(*call, io.Writer, api.Shadow) error) error {
	return showText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
		_, a, err := c.shadowReplica(ctx)
		if err != nil {
			return nil, nil, err
		}
		var d api.Shadow
		err = a.Decode(&d)
		return a.Body, func(w io.Writer) error { return write(c, w, d) }, err
	})
}

// showShadow shows the answer to a change of the shadow.
func (c *call) showShadow(a *client.Answer, write func(*call, io.Writer, api.Shadow) error) error {
	var d api.Shadow
	if err := a.Decode(&d); err != nil {
		return err
	}
	return c.writeRuns(
		func(w io.Writer) error { return write(c, w, d) },
		func(w io.Writer) error { return output.WriteDocument(w, output.JSON, a.Body) })
}

// writeShadowStatus prints the state of the shadow and how it differs.
func writeShadowStatus(c *call, w io.Writer, d api.Shadow) error {
	l := &labelled{width: c.cut()}
	l.fold("", d.Text)
	if d.State != api.ShadowNone {
		l.line("replica", "%s", d.Replica)
		l.line("shadow", "%s: %s", d.Name, shadowChanges(d))
		list(l, "warning", d.Warnings, func(s string) string { return s })
		l.line("compares", "%s to %s, up to index %d", output.Time(d.BeganMillis), output.Time(d.AtMillis), d.Index)
		l.line("decided", "%d events as the cluster, in %d entries", d.Decided, d.Entries)
		if len(d.Changes) == 0 {
			l.line("digest", "%s, the cluster's %s", d.Digest, d.ClusterDigest)
		}
	}
	if x := d.Divergence; x != nil {
		l.line("differs", "since index %d, %s", x.Index, output.Time(x.AtMillis))
		l.line("cluster", "%s", x.Cluster)
		l.line("shadow", "%s", x.Shadow)
		l.line("behind", "%s", output.Millis(d.BehindMillis))
		l.line("ends", "%d of %d containers ended at a guessed time", d.GuessedEnds, d.KnownEnds+d.GuessedEnds)
		if d.NotFollowed > 0 {
			l.line("left out", "%d submissions and changes that it could not follow", d.NotFollowed)
		}
	}
	_, err := io.WriteString(w, l.b.String())
	return err
}

func shadowChanges(d api.Shadow) string {
	switch n := len(d.Changes); {
	case n == 0:
		return "the same configuration"
	case n == 1:
		return "1 key differs"
	default:
		return fmt.Sprintf("%d keys differ", n)
	}
}

// shadowRow is a queue in the cluster or in the shadow.
type shadowRow struct {
	path, side string
	api.ShadowSide
}

var shadowColumns = output.List[shadowRow]{
	Name:  func(r shadowRow) string { return r.path },
	Empty: "there are no queues",
	Columns: []output.Column[shadowRow]{
		{Head: "QUEUE", Text: func(r shadowRow) string { return r.path }, Shrink: true},
		{Head: "SIDE", Text: func(r shadowRow) string { return r.side }},
		{Head: "STARTED", Text: func(r shadowRow) string { return output.Number(r.Waits.Count) }, Right: true},
		{Head: "WAIT MEAN", Text: func(r shadowRow) string { return output.Millis(r.Waits.MeanMillis) }, Right: true},
		{Head: "P50", Text: func(r shadowRow) string { return output.Millis(r.Waits.P50Millis) }, Right: true},
		{Head: "P95", Text: func(r shadowRow) string { return output.Millis(r.Waits.P95Millis) }, Right: true},
		{Head: "MAX", Text: func(r shadowRow) string { return output.Millis(r.Waits.MaxMillis) }, Right: true, Wide: true},
		{Head: "AM MEAN", Text: func(r shadowRow) string { return output.Millis(r.AMs.MeanMillis) }, Right: true, Wide: true},
		{Head: "WAITING", Text: func(r shadowRow) string { return output.Number(r.Waiting) }, Right: true},
		{Head: "USED", Text: func(r shadowRow) string { return output.Percent(100 * r.Used) }, Right: true},
		{Head: "OWED", Text: func(r shadowRow) string { return output.Percent(100 * r.Owed) }, Right: true},
		{Head: "PREEMPTED", Text: func(r shadowRow) string { return output.Number(r.Preempted) }, Right: true},
	},
}

// writeShadowReport prints the queues of the cluster and the shadow.
func writeShadowReport(c *call, w io.Writer, d api.Shadow) error {
	if err := writeShadowStatus(c, w, d); err != nil || d.State == api.ShadowNone {
		return err
	}
	fmt.Fprintln(w)
	var rows []shadowRow
	for _, q := range d.Queues {
		rows = append(rows, shadowRow{q.Path, "cluster", q.Cluster}, shadowRow{q.Path, "shadow", q.Shadow})
	}
	return c.writeShadowRows(w, rows)
}

func (c *call) writeShadowRows(w io.Writer, rows []shadowRow) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	return shadowColumns.Write(w, rows, o)
}
