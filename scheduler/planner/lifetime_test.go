package planner

import (
	"fmt"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestBadLifetimeIsRefused checks that a submission with an invalid lifetime tag is refused, also
// as a dry run. The message names the tag. A refusal leaves no application and no name, and does
// not use up an ID.
func TestBadLifetimeIsRefused(t *testing.T) {
	r := newRig(t)
	before := r.p.st.Digest()
	submit := func(dry bool, tags ...string) *input.SubmitApplication {
		return &input.SubmitApplication{Name: "never", User: "nobody", Queue: "root.a", AM: yarn.NewResource(1024, 1),
			Tags: tags, DryRun: dry}
	}
	for _, tags := range [][]string{
		{"etl", yarn.LifetimeTag + "seconds=0"}, {yarn.LifetimeTag + "seconds=-60"},
		{yarn.LifetimeTag + "seconds=3153600000"},
		{yarn.LifetimeTag + "seconds=99999999999999999999"}, {yarn.LifetimeTag + "seconds=soon"}, {yarn.LifetimeTag + "90"},
		{yarn.LifetimeTag},
		{yarn.LifetimeTag + "seconds=60", yarn.LifetimeTag + "seconds=90"},
	} {
		for _, dry := range []bool{false, true} {
			reply, events := r.do(submit(dry, tags...))
			f := reply.Refused()
			if f == nil || f.Reason != input.InvalidRequest || !strings.Contains(f.What, tags[len(tags)-1]) ||
				!strings.Contains(f.Do, yarn.LifetimeTag+"seconds=90") {
				t.Errorf("submission with tags %q: refusal %v, want code %s with the last tag and an example",
					tags, f, input.InvalidRequest)
			}
			if len(events) > 0 || r.p.st.Digest() != before {
				t.Fatalf("%q: %d events of a submission that is refused", tags, len(events))
			}
		}
	}
	if id := r.ok(submit(false, yarn.LifetimeTag+"seconds=31536000")).(*input.SubmitApplicationReply).ID; id.Seq != 1 {
		t.Errorf("the first application is %s", id)
	}
	if got := r.p.st.Apps.Get(r.p.st.Apps.Find(1)).DeclaredLifetime(); got != 365*86_400_000 {
		t.Errorf("it declares %d ms", got)
	}
}

// TestLifetimeInNewQueue checks that the application that creates its queue gets the lifetime of the
// template, as any later one. In Hadoop 3.4 it does not.
func TestLifetimeInNewQueue(t *testing.T) {
	q := newQuiet(t, confPrefix+"root.a.capacity", "1w", confPrefix+"root.b.capacity", "1w",
		confPrefix+"root.a.auto-queue-creation-v2.enabled", "true",
		confPrefix+"root.a.auto-queue-creation-v2.leaf-template.maximum-application-lifetime", "60",
		confPrefix+"root.a.auto-queue-creation-v2.leaf-template.default-application-lifetime", "30")
	for _, c := range []struct{ asked, want int64 }{{0, 30_000}, {20_000, 20_000}, {90_000, 60_000}} {
		for range 2 {
			in := &input.SubmitApplication{Queue: fmt.Sprint("root.a.q", c.asked), User: "ann", Unmanaged: true,
				LifetimeMillis: c.asked}
			if got := q.app(q.do(in).(*input.SubmitApplicationReply).ID).LifetimeMillis; got != c.want {
				t.Errorf("with %d ms asked, the lifetime is %d, want %d", c.asked, got, c.want)
			}
		}
	}
}
