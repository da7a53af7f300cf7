package trial

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
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/verb"
)

const shadowPath = "/v1/shadow"

// ShadowVerbs returns the commands of another queue configuration beside the cluster.
func ShadowVerbs() verb.Verb {
	return verb.Noun("shadow", "another queue configuration beside the cluster, which allocates nothing",
		shadowStart(), shadowStatus(), shadowReport(), shadowStop())
}

func shadowStart() verb.Verb {
	return verb.Verb{Name: "start", Usage: "run another configuration on a follower", Args: "FILE | DIR | KEY=VALUE…",
		Min: 1, Max: -1,
		Flags: []cli.Flag{
			verb.SpanFlag("behind", "how far it stays behind the log once it differs", 10*time.Minute),
			&cli.Uint64Flag{Name: "seed", Usage: "seed of container lengths that are not known in time", Value: 1},
		},
		Long: "Runs a file of queues, or the current configuration with some keys changed, on what happens in the cluster. A follower does so, on a copy of its state: " +
			"nothing is written to the log, and nobody gets a container of it. Of several addresses it takes the first whose replica does not lead. " +
			"A KEY that begins with root. stands for yarn.scheduler.capacity.root.…; KEY= deletes a key.",
		Changes: true,
		Examples: []string{"rmd shadow start capacity-scheduler.xml",
			"rmd shadow start root.train.capacity=40 root.batch.capacity=10 --behind 1h"},
		Complete: []verb.Source{verb.KeysAssignedOrFiles},
		Run: func(c *verb.Call) error {
			in, err := wantedShadow(c)
			if err != nil {
				return err
			}
			a, err := onFollower(c, func(cl *client.Client) (*client.Answer, error) { return cl.Post(c.Ctx(), shadowPath, in) })
			if err != nil {
				return err
			}
			return showShadow(c, a, writeShadowStatus)
		}}
}

func shadowStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "say whether a shadow runs, where, and whether it differs from the cluster",
		Flags:    verb.WatchFlags(),
		Examples: []string{"rmd shadow status"},
		Run:      func(c *verb.Call) error { return watchShadow(c, writeShadowStatus) }}
}

func shadowReport() verb.Verb {
	return verb.Verb{Name: "report", Usage: "compare waits, use, preemptions and fairness of each queue",
		Flags: verb.WatchFlags(),
		Long: "Shows each leaf queue in the cluster and in the shadow, since the shadow began. Once the shadow goes its own way its figures are estimates. " +
			"OWED is the part of the guarantee that the queue wanted and did not have, as a mean over the time. The page /ui/shadow has the plots.",
		Examples: []string{"rmd shadow report --watch", "rmd shadow report -o json"},
		Run:      func(c *verb.Call) error { return watchShadow(c, writeShadowReport) }}
}

func shadowStop() verb.Verb {
	return verb.Verb{Name: "stop", Usage: "end the shadow, and show its last report",
		Changes:  true,
		Examples: []string{"rmd shadow stop"},
		Run: func(c *verb.Call) error {
			cl, _, err := shadowReplica(c, c.Ctx())
			if err != nil {
				return err
			}
			a, err := cl.Delete(c.Ctx(), shadowPath, nil)
			if err != nil {
				return err
			}
			return showShadow(c, a, writeShadowReport)
		}}
}

// wantedShadow reads the arguments: a file, or keys to change in the configuration in force.
func wantedShadow(c *verb.Call) (in api.StartShadow, err error) {
	behind := c.Span("behind").Milliseconds()
	in.BehindMillis, in.Seed = &behind, c.Uint64("seed")
	if _, err := os.Stat(c.Arg(0)); err == nil || !strings.Contains(c.Arg(0), "=") {
		if c.NArg() > 1 {
			return in, clierr.Usagef("write one file, or keys", "%q is a file, and there are more arguments", c.Arg(0))
		}
		props, err := conf.ReadProperties(c.Arg(0))
		in.Properties, in.Name = conf.AsMap(props), filepath.Base(c.Arg(0))
		return in, err
	}
	var now api.Conf
	if _, err := c.Get(c.Ctx(), "/v1/conf", nil, &now); err != nil {
		return in, err
	}
	in.Properties, in.Name = now.Properties, strings.Join(c.Args().Slice(), " ")
	return in, conf.Assign(in.Properties, c.Args().Slice())
}

// inStep returns a client for each replica that is in step, or for all addresses if none is, so that
// a request to it says what is wrong.
func inStep(c *verb.Call, ctx context.Context) ([]*client.Client, error) {
	all, err := c.Client()
	if err != nil {
		return nil, err
	}
	var out []*client.Client
	for _, s := range all.Survey(ctx) {
		if s.InStep() {
			one, err := c.ClientOf([]string{s.Addr})
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
func onFollower(c *verb.Call, ask func(*client.Client) (*client.Answer, error)) (a *client.Answer, err error) {
	all, err := inStep(c, c.Ctx())
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
func shadowReplica(c *verb.Call, ctx context.Context) (found *client.Client, a *client.Answer, err error) {
	all, err := inStep(c, ctx)
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
func watchShadow(c *verb.Call, write func(*verb.Call, io.Writer, api.Shadow) error) error {
	return verb.ShowText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
		_, a, err := shadowReplica(c, ctx)
		if err != nil {
			return nil, nil, err
		}
		var d api.Shadow
		err = a.Decode(&d)
		return a.Body, func(w io.Writer) error { return write(c, w, d) }, err
	})
}

// showShadow shows the answer to a change of the shadow.
func showShadow(c *verb.Call, a *client.Answer, write func(*verb.Call, io.Writer, api.Shadow) error) error {
	var d api.Shadow
	if err := a.Decode(&d); err != nil {
		return err
	}
	return writeRuns(c,
		func(w io.Writer) error { return write(c, w, d) },
		func(w io.Writer) error { return output.WriteDocument(w, output.JSON, a.Body) })
}

// writeShadowStatus prints the state of the shadow and how it differs.
func writeShadowStatus(c *verb.Call, w io.Writer, d api.Shadow) error {
	l := &verb.Labelled{Width: c.Cut()}
	l.Fold("", d.Text)
	if d.State != api.ShadowNone {
		l.Line("replica", "%s", d.Replica)
		l.Line("shadow", "%s: %s", d.Name, shadowChanges(d))
		verb.List(l, "warning", d.Warnings, func(s string) string { return s })
		l.Line("compares", "%s to %s, up to index %d", output.Time(d.BeganMillis), output.Time(d.AtMillis), d.Index)
		l.Line("decided", "%d events as the cluster, in %d entries", d.Decided, d.Entries)
		if len(d.Changes) == 0 {
			l.Line("digest", "%s, the cluster's %s", d.Digest, d.ClusterDigest)
		}
	}
	if x := d.Divergence; x != nil {
		l.Line("differs", "since index %d, %s", x.Index, output.Time(x.AtMillis))
		l.Line("cluster", "%s", x.Cluster)
		l.Line("shadow", "%s", x.Shadow)
		l.Line("behind", "%s", output.Millis(d.BehindMillis))
		l.Line("ends", "%d of %d containers ended at a guessed time", d.GuessedEnds, d.KnownEnds+d.GuessedEnds)
		if d.NotFollowed > 0 {
			l.Line("left out", "%d submissions and changes that it could not follow", d.NotFollowed)
		}
	}
	_, err := io.WriteString(w, l.B.String())
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
		verb.QueueColumn(func(r shadowRow) string { return r.path }),
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
func writeShadowReport(c *verb.Call, w io.Writer, d api.Shadow) error {
	if err := writeShadowStatus(c, w, d); err != nil || d.State == api.ShadowNone {
		return err
	}
	fmt.Fprintln(w)
	var rows []shadowRow
	for _, q := range d.Queues {
		rows = append(rows, shadowRow{q.Path, "cluster", q.Cluster}, shadowRow{q.Path, "shadow", q.Shadow})
	}
	return writeShadowRows(c, w, rows)
}

func writeShadowRows(c *verb.Call, w io.Writer, rows []shadowRow) error {
	o, err := c.Options()
	if err != nil {
		return err
	}
	return shadowColumns.Write(w, rows, o)
}
