package local

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/apptoken"
	"rmd/internal/growth"
	"rmd/internal/job"
	"rmd/internal/quantile"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/server"
	"rmd/server/hadoop"
	"rmd/transport/hadoop/renewer"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// asksPerSecond is the pace of the ApplicationMaster in BenchmarkAskBesideTokens. tokensPerMinute
// are the tokens that are due meanwhile.
const asksPerSecond, tokensPerMinute = 100, 10_000

// BenchmarkAskBesideTokens measures the asks of an ApplicationMaster while the leader renews the tokens
// of 10,000 applications a minute, with as many applications whose tokens are due a day later, and
// without those applications. Each answer of a name node takes 5 ms. With -benchtime 6000x it takes a
// minute each. cpu-% is the share of one core that all three replicas take.
func BenchmarkAskBesideTokens(b *testing.B) {
	tokens := func(b *testing.B) int { return b.N * tokensPerMinute / (60 * asksPerSecond) }
	b.Run("none", func(b *testing.B) { askBeside(b, newNameNodes(0, 0), 0) })
	b.Run("later", func(b *testing.B) { askBeside(b, newNameNodes(tokens(b), 24*time.Hour), tokens(b)) })
	b.Run("due", func(b *testing.B) { askBeside(b, newNameNodes(tokens(b), 0), tokens(b)) })
}

func askBeside(b *testing.B, nn *nameNodes, tokens int) {
	c, do := bench(b, append(preset.QueuesFor([]string{"root.a"}),
		capacity.Property{Name: "yarn.scheduler.capacity.maximum-applications", Value: "100000000"}))
	defer node(do)()
	app := do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply).ID
	am := &asker{do: do, attempt: yarn.AttemptID{App: app, Attempt: 1}}
	do(&input.RegisterAttempt{Attempt: am.attempt})
	submitWithTokens(b, do, c.Replicas[c.Leader()], nn, tokens)
	time.Sleep(time.Until(nn.begin))
	defer renew(b, c.Replicas[c.Leader()], nn, 0)()
	var took []time.Duration
	pace := time.NewTicker(time.Second / asksPerSecond)
	defer pace.Stop()
	cpu := growth.ProcessorTime()
	b.ResetTimer()
	for range b.N {
		<-pace.C
		began := time.Now()
		am.ask(b)
		took = append(took, time.Since(began))
		am.giveBack()
	}
	b.StopTimer()
	cpu = growth.ProcessorTime() - cpu
	slices.Sort(took)
	b.ReportMetric(float64(quantile.Of(took, 0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile.Of(took, 0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(100*cpu.Seconds()/b.Elapsed().Seconds(), "cpu-%")
	b.ReportMetric(float64(nn.again.Load()), "renewals")
}

// node runs a node that sends a heartbeat a second until the returned function is called.
func node(do func(input.Input) input.Reply) (stop func()) {
	do(&input.RegisterNode{ID: nodeID(1), Rack: "/r", Total: yarn.NewResource(1<<20, 1<<10)})
	beats := time.NewTicker(time.Second)
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-beats.C:
				do(&input.NodeHeartbeat{ID: nodeID(1)})
			case <-stopping:
				return
			}
		}
	}()
	return func() {
		close(stopping)
		<-ended
	}
}

// submitWithTokens submits applications with a token each, and returns when all tokens have been renewed
// once.
func submitWithTokens(b *testing.B, do func(input.Input) input.Reply, lead *server.Replica, nn *nameNodes, tokens int) {
	defer renew(b, lead, nn, 1_000_000)()
	const submitters = 64
	var wg sync.WaitGroup
	for first := range submitters {
		wg.Go(func() {
			for i := first; i < tokens; i += submitters {
				do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true, Tokens: input.AppTokens{
					List: []input.AppToken{{Kind: apptoken.KindHDFS, Service: fmt.Sprint("nn", i%10),
						Identifier: fmt.Append(nil, i)}}}})
			}
		})
	}
	wg.Wait()
	for nn.first.Load() < int64(tokens) {
		time.Sleep(10 * time.Millisecond)
	}
}

// renew runs a renewer at the leader until the returned function is called.
func renew(b *testing.B, lead *server.Replica, nn *nameNodes, perSecond int) (stop func()) {
	cfg := renewer.Config{Logger: hclog.NewNullLogger(), Submitter: lead.Forwarder(), Reader: hadoop.NewReader(lead.Machine(), isCurrent),
		Services: nn, Final: func(error) bool { return false }, PerSecond: perSecond,
		Job: job.New(time.Now).Job(job.Tokens)}
	cfg.Defaults()
	cfg.Policy.ThreadsMax, cfg.Policy.Timeout = 50, time.Minute // YARN's defaults
	r, err := renewer.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Lead(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// isCurrent says that the leader has applied what it has committed.
func isCurrent(context.Context) error { return nil }

// nameNodes renew each token first so that it is due at its turn, later after begin, and then for a day.
type nameNodes struct {
	begin        time.Time
	later        time.Duration
	first, again atomic.Int64 // renewals
}

// newNameNodes leaves time to submit the tokens before it begins.
func newNameNodes(tokens int, later time.Duration) *nameNodes {
	return &nameNodes{begin: time.Now().Add(time.Second + time.Duration(tokens)*3*time.Millisecond), later: later}
}

// Renew implements renewer.Services.
func (n *nameNodes) Renew(_ context.Context, t token.Token, _ []byte) (time.Time, error) {
	now := time.Now()
	if now.After(n.begin) {
		time.Sleep(5 * time.Millisecond)
		n.again.Add(1)
		return now.Add(24 * time.Hour), nil
	}
	i, err := strconv.Atoi(string(t.Identifier))
	if err != nil {
		return time.Time{}, err
	}
	due := n.begin.Add(n.later + time.Duration(i)*time.Minute/tokensPerMinute)
	n.first.Add(1)
	return now.Add(due.Sub(now) * 10 / 9), nil // due after nine tenths
}

// Cancel implements renewer.Services.
func (*nameNodes) Cancel(context.Context, token.Token, []byte) error { return nil }

// Prepare implements renewer.Services.
func (*nameNodes) Prepare(context.Context, token.Token, []byte) error { return nil }

// Fetch implements renewer.Services.
func (*nameNodes) Fetch(context.Context, string) ([]token.Token, error) { return nil, nil }

// asker is an ApplicationMaster that wants one container at a time.
type asker struct {
	do       func(input.Input) input.Reply
	attempt  yarn.AttemptID
	response int32
	has      []yarn.ContainerID
}

// ask asks for a container, which must come with the answer.
func (a *asker) ask(b *testing.B) {
	r := a.do(&input.Allocate{Attempt: a.attempt, Response: a.response, Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1},
		Name: yarn.Any, Count: 1, Size: yarn.NewResource(1024, 1), Relax: true}}}).(*input.AllocateReply)
	if len(r.Granted) != 1 {
		b.Fatalf("%d containers in the answer to the ask", len(r.Granted))
	}
	a.response, a.has = r.Response, []yarn.ContainerID{r.Granted[0].Container}
}

// giveBack releases the container.
func (a *asker) giveBack() {
	a.response = a.do(&input.Allocate{Attempt: a.attempt, Response: a.response,
		Releases: a.has}).(*input.AllocateReply).Response
}
