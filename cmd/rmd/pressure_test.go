package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rmd/api"
	"rmd/internal/quantile"
	"rmd/scheduler/input"
	"rmd/workload/submit"
)

// hogs keeps every core busy until the test ends, at normal priority.
func hogs(t *testing.T) {
	t.Helper()
	for range 4 {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
}

// pause stops a process with SIGSTOP for d.
func pause(t *testing.T, p *process, d time.Duration) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	time.Sleep(d)
	p.signal(t, syscall.SIGCONT)
}

// crush submits applications from many callers that do not repeat refused calls.
type crush struct {
	t                     testing.TB
	granted, busy, hinted atomic.Int64
	late                  atomic.Int64 // answers that say that the outcome is unknown
	mu                    sync.Mutex
	others                map[string]int // number of other answers, by their first words
	answered              samples        // duration of bodies in which all inputs were granted
	wg                    sync.WaitGroup
	stop                  context.CancelFunc
}

// crush starts callers at the leader. Each sends bodies of inBody submissions.
func (c *processes) crush(p *process, queue string, callers, inBody int) *crush {
	ctx, stop := context.WithCancel(context.Background())
	k := &crush{t: c.t, others: map[string]int{}, stop: stop}
	var body []byte
	for range inBody {
		body = api.AppendFrame(body, input.EncodeRequest(nil,
			input.Request{Input: &input.SubmitApplication{User: "u", Queue: queue, Unmanaged: true}}))
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	for range callers {
		k.wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				resp, err := client.Post("http://"+p.http+"/v1/inputs", submit.ContentType, bytes.NewReader(body))
				if err != nil {
					k.note("no answer")
					continue
				}
				if k.read(resp) == inBody {
					k.answered.add(time.Since(began))
				}
			}
		})
	}
	return k
}

// read counts the answers to the inputs of a body, and returns how many were granted.
func (k *crush) read(resp *http.Response) (granted int) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // a partial text is good enough for the message
		k.note(resp.Status + " " + string(text))
		return 0
	}
	r := bufio.NewReader(resp.Body)
	for {
		frame, err := api.ReadFrame(r)
		if err != nil {
			if err != io.EOF {
				k.note(err.Error())
			}
			return granted
		}
		switch text := string(frame[1:]); {
		case frame[0] == api.FrameReply:
			reply, err := input.DecodeReply(&input.SubmitApplication{}, frame[1:])
			if err != nil || reply.Refused() != nil {
				k.note(fmt.Sprint(err, reply))
				continue
			}
			granted++
			k.granted.Add(1)
		case strings.HasPrefix(text, "BUSY"):
			k.busy.Add(1)
			if strings.Contains(text, "try again in ") {
				k.hinted.Add(1)
			}
		case overhead > 1 && (strings.HasPrefix(text, "TIMED_OUT") || strings.HasPrefix(text, "UNKNOWN_OUTCOME")):
			k.late.Add(1) // under the race detector, beside other tests, calls may take too long
		default:
			k.note(text)
		}
	}
}

func (k *crush) note(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.others[text[:min(len(text), 60)]]++
}

func (k *crush) end() {
	k.stop()
	k.wg.Wait()
}

// TestPressure sends a leader far more than it can commit, and stops its followers for one second.
// The leader's memory must stay bounded, because the port accepts only what it has room for. A full
// queue refuses inputs with a hint when to try again. Afterwards every granted application must
// exist.
func TestPressure(t *testing.T) {
	length := 6 * time.Second
	if os.Getenv("RMD_LONG") != "" {
		length = span(t)
	}
	c := startProcesses(t, 3, patient, "")
	c.queues(crowd)
	leader := c.leader()
	before := leader.resident()
	calm := c.crush(leader, crowd.paths()[0], 4, 16)
	time.Sleep(length / 3)
	calm.end()
	all := calm.answered.take()
	t.Logf("below the limit: %.0f applications/s, %s (p50), %s (p99)", float64(calm.granted.Load())/(length/3).Seconds(),
		quantile.Of(all, 0.5), quantile.Of(all, 0.99))
	k := c.crush(leader, crowd.paths()[0], 64, 512) // four times the capacity of the queue
	time.Sleep(length / 3)
	for _, p := range c.others(leader) { // nothing is committed for one second
		p.signal(t, syscall.SIGSTOP)
	}
	time.Sleep(time.Second)
	for _, p := range c.others(leader) {
		p.signal(t, syscall.SIGCONT)
	}
	time.Sleep(length / 3)
	k.end()
	memory := leader.resident()
	t.Logf("above it: %.0f applications/s granted, %.0f refused as busy; memory %d MiB, then %d; other answers: %v",
		float64(k.granted.Load())/(length*2/3+time.Second).Seconds(),
		float64(k.busy.Load())/(length*2/3+time.Second).Seconds(), before>>20, memory>>20, k.others)
	if k.hinted.Load() != k.busy.Load() {
		t.Errorf("%d calls were refused as busy, %d with a hint", k.busy.Load(), k.hinted.Load())
	}
	if len(calm.others)+len(k.others) > 0 {
		t.Errorf("other answers: %v %v", calm.others, k.others)
	}
	want := calm.granted.Load() + k.granted.Load()
	if memory > before+overhead*(want*4096+512<<20) {
		t.Errorf("memory grew from %d to %d MiB with %d applications", before>>20, memory>>20, want)
	}
	for _, p := range c.all {
		var doc api.Cluster
		c.await(p.id+" has all of them", patience, func() bool { return c.get(p, "/v1/cluster?consistent", &doc) })
		if n, late := int64(doc.Totals.Apps), calm.late.Load()+k.late.Load(); n < want || n > want+late {
			t.Errorf("%s has %d applications; %d were granted, the outcomes of %d are unknown", p.id, n, want, late)
		}
	}
}
