package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// tokens submit NAME [hdfs=(1,2)] [kms=(3,4)] [keep] [fetch] [delay=S] [queue=Q]: submits an
// unmanaged application with tokens, by their content.
//
// tokens renewed N S | failed N [final] [again=S] | cancelled N | replaced N hdfs=5: what a call for
// token N has brought. tokens fetched NAME hdfs=5 | unfetched NAME: what the call for the first token
// of NAME has.
//
// tokens collects NAME: a node still collects the logs of NAME. tokens pass S: time passes, and what is
// due is done.
//
// tokens show: shows all tokens. All others show what happens.
func doTokens(w *world, a args, out *strings.Builder) {
	seconds := func(text string) int64 { return 1000 * must(strconv.ParseInt(text, 10, 64)) }
	number := func() uint32 { return uint32(must(strconv.ParseUint(a.need(1), 10, 32))) }
	var in input.Input
	switch a.need(0) {
	case "submit":
		in = &input.SubmitApplication{User: "u", Queue: a.get("queue", "a"), Unmanaged: true, Tokens: input.AppTokens{
			List: append(a.tokens("hdfs", apptoken.KindHDFS), a.tokens("kms", "kms-dt")...), Keep: a.has("keep"),
			Fetch: a.has("fetch"), DelayMillis: seconds(a.get("delay", "0"))}}
	case "renewed":
		in = &input.TokenRenewed{Token: number(), ExpiresMillis: w.now + 10 + seconds(a.need(2))}
	case "failed":
		in = &input.TokenCallFailed{Token: number(), Final: a.has("final"), AgainMillis: seconds(a.get("again", "10")),
			Why: "refused"}
	case "cancelled":
		in = &input.TokenCancelled{Token: number()}
	case "replaced":
		in = &input.TokensFetched{Token: number(), List: a.tokens("hdfs", apptoken.KindHDFS), Credentials: []byte("HDTS")}
	case "fetched":
		in = &input.TokensFetched{App: w.apps[a.need(1)], List: a.tokens("hdfs", apptoken.KindHDFS),
			Credentials: []byte("HDTS")}
	case "unfetched":
		in = &input.TokenFetchFailed{App: w.apps[a.need(1)], AgainMillis: 10_000, Why: "refused"}
	case "collects":
		in = &input.NodeHeartbeat{ID: w.nodes["n0"], KeepAlive: []yarn.ApplicationID{w.apps[a.need(1)]}}
	case "pass":
		w.now += seconds(a.need(1))
		in = &input.Tick{Entropy: testEntropy}
	case "show":
		w.showTokens(out)
		return
	default:
		w.t.Fatalf("tokens %s: no such word", a.need(0))
	}
	r := w.plan(in)
	if s, ok := r.(*input.SubmitApplicationReply); ok && !w.refused(out, r) {
		w.apps[a.need(1)], w.names[s.ID.Seq] = s.ID, a.need(1)
	}
	for _, e := range w.events {
		out.WriteString(w.tellToken(e))
	}
}

func (a args) tokens(key, kind string) (list []input.AppToken) {
	if !a.has(key) {
		return nil
	}
	for _, content := range strings.Split(a.get(key, ""), ",") {
		list = append(list, input.AppToken{Kind: kind, Service: "nn", Identifier: []byte(content), Password: []byte("p"),
			MaxMillis: 100_000_000})
	}
	return list
}

// tellToken tells an event about tokens, or what it leads to.
func (w *world) tellToken(e event.Event) string {
	in := func(at int64) string { return fmt.Sprintf("in %d s", (at-w.now+500)/1000) }
	switch e := e.(type) {
	case *event.TokensAdded:
		return fmt.Sprintf("%s brings %d tokens\n", w.names[e.App], len(e.Tokens))
	case *event.TokenRenewed:
		return fmt.Sprintf("token %d ends %s, next renewal %s\n", e.Token, in(e.EndMillis), in(e.NextMillis))
	case *event.TokenCallFailed:
		if e.Final {
			return fmt.Sprintf("token %d is lost: %s\n", e.Token, e.Why)
		}
		return fmt.Sprintf("token %d is tried again %s: %s\n", e.Token, in(e.NextMillis), e.Why)
	case *event.TokensReleased:
		return fmt.Sprintf("%s releases its tokens, rejected=%v\n", w.names[e.App], e.Rejected)
	case *event.TokenDropped:
		return fmt.Sprintf("token %d is gone\n", e.Token)
	case *event.TokensReplaced:
		return fmt.Sprintf("%d applications get %d new tokens\n", len(e.Apps), len(e.Tokens))
	case *event.TokenFetchFailed:
		return fmt.Sprintf("%s tries again %s\n", w.names[e.App], in(e.NextMillis))
	case *event.TokensKept:
		return fmt.Sprintf("%s keeps its tokens, release %s\n", w.names[e.App], in(e.LeaveMillis))
	}
	return w.tellOne(e)
}

func (w *world) showTokens(out *strings.Builder) {
	for t := range w.p.st.AppTokens.Tokens() {
		var apps []string
		for _, seq := range t.Apps {
			apps = append(apps, w.names[seq])
		}
		fmt.Fprintf(out, "token %d %s %s of %s failures %d\n", t.Number, t.Kind, t.Phase, strings.Join(apps, "+"), t.Failures)
	}
}
