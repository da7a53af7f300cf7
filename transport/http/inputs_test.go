package httpserver

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func beat(n int) input.Request {
	return input.Request{Input: &input.NodeHeartbeat{ID: yarn.NodeID{Host: "n", Port: uint16(n)}}}
}

func postFrames(b *bench, body []byte) *httptest.ResponseRecorder {
	return b.ask("POST", "/v1/inputs", string(body), "Content-Type", api.InputsType)
}

// answers splits a response body into its frames.
func answers(t *testing.T, body []byte) [][]byte {
	t.Helper()
	var out [][]byte
	for len(body) > 0 {
		f, rest, err := api.NextFrame(body)
		if err != nil {
			t.Fatal(err)
		}
		out, body = append(out, f), rest
	}
	return out
}

// TestInputs checks that the inputs of one body run at the same time and are answered in order.
func TestInputs(t *testing.T) {
	b := newBench(t, nil)
	const n = 50
	var running atomic.Int32
	all := make(chan struct{})
	b.d.answering(func(ctx context.Context, r input.Request) (input.Reply, uint64, error) {
		if running.Add(1) == n-2 {
			close(all)
		}
		select {
		case <-all: // answer none before all have started
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
		port := r.Input.(*input.NodeHeartbeat).ID.Port
		if port == 7 {
			return nil, 0, refusal{"STANDBY"}
		}
		return &input.NodeHeartbeatReply{Kill: []yarn.ContainerID{{Number: uint64(port)}}, Resync: port == 3},
			uint64(port), nil
	})
	var body []byte
	for i := range n {
		frame := input.EncodeRequest(nil, beat(i))
		switch i {
		case 10:
			frame = []byte("nonsense")
		case 11:
			frame = nil
		}
		body = api.AppendFrame(body, frame)
	}
	w := postFrames(b, body)
	if w.Code != 200 || w.Header().Get("Content-Type") != api.InputsType {
		t.Fatalf("POST /v1/inputs: status %d, type %q, want 200 and %q: %s",
			w.Code, w.Header().Get("Content-Type"), api.InputsType, w.Body)
	}
	got := answers(t, w.Body.Bytes())
	if len(got) != n {
		t.Fatalf("%d answers", len(got))
	}
	for i, f := range got {
		switch {
		case i == 7:
			if f[0] != api.FrameError || !strings.HasPrefix(string(f[1:]), api.CodeNoLeader) {
				t.Errorf("answer %d = %q, want an error frame with code %s", i, f, api.CodeNoLeader)
			}
		case i == 10 || i == 11:
			if f[0] != api.FrameError || !strings.HasPrefix(string(f[1:]), api.CodeInvalidRequest) {
				t.Errorf("answer %d = %q, want an error frame with code %s", i, f, api.CodeInvalidRequest)
			}
		default:
			r, err := input.DecodeReply(beat(i).Input, f[1:])
			if err != nil || f[0] != api.FrameReply {
				t.Fatalf("answer %d: frame type %d, decoded with error %v, want a reply frame",
					i, f[0], err)
			}
			if k := r.(*input.NodeHeartbeatReply); k.Kill[0].Number != uint64(i) || k.Resync != (i == 3) {
				t.Errorf("answer %d = %+v, want a kill of container number %d and resync %t",
					i, k, i, i == 3)
			}
		}
	}
}

// TestInputsRefused checks that the answer to a refused input is a reply that contains the fault.
func TestInputsRefused(t *testing.T) {
	b := newBench(t, nil)
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		return input.Refuse(r.Input, input.Refusef(input.NoSuchNode, "register", "no node")), 0, nil
	})
	req := input.Request{Key: "sim/4", BodyHash: 77, Input: beat(1).Input}
	got := answers(t, postFrames(b, api.AppendFrame(nil, input.EncodeRequest(nil, req))).Body.Bytes())
	r, err := input.DecodeReply(req.Input, got[0][1:])
	if err != nil || got[0][0] != api.FrameReply || r.Refused().Reason != input.NoSuchNode {
		t.Errorf("answer of type %d = %v, %v, want a reply refused with %s",
			got[0][0], r, err, input.NoSuchNode)
	}
	if d := b.d.last(t); d.Key != "sim/4" || d.BodyHash != 77 {
		t.Errorf("proposed key %q, body hash %d, want those of the frame: \"sim/4\", 77", d.Key, d.BodyHash)
	}
}

func TestInputsBounds(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxInputs, c.MaxInputsBytes = 3, 2000 })
	one := api.AppendFrame(nil, input.EncodeRequest(nil, beat(1)))
	for name, c := range map[string]struct {
		body   []byte
		status int
	}{
		"none": {nil, 200}, "three": {bytes.Repeat(one, 3), 200}, "four": {bytes.Repeat(one, 4), 413},
		"cut":         {one[:len(one)-1], 400},
		"huge length": {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 400},
		"overflow":    {bytes.Repeat([]byte{0xff}, 20), 400}, "long": {api.AppendFrame(nil, make([]byte, 3000)), 400},
	} {
		if w := postFrames(b, c.body); w.Code != c.status {
			t.Errorf("inputs, %s: status %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
	}
	if w := b.ask("POST", "/v1/inputs", string(one), "Content-Type", "application/json"); w.Code != 415 {
		t.Errorf("POST /v1/inputs of JSON: status %d, want 415", w.Code)
	}
}

// TestInputsInFlight checks that all inputs of a body are answered when the body has more inputs
// than may be in flight.
func TestInputsInFlight(t *testing.T) {
	b := newBench(t, func(c *Config) { c.InputsInFlight = 2 })
	var now, most atomic.Int32
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		n := now.Add(1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		defer now.Add(-1)
		return r.Input.NewReply(), 1, nil
	})
	body := bytes.Repeat(api.AppendFrame(nil, input.EncodeRequest(nil, beat(1))), 200)
	if got := answers(t, postFrames(b, body).Body.Bytes()); len(got) != 200 || most.Load() > 2 {
		t.Errorf("%d answers, %d at once", len(got), most.Load())
	}
}

func TestInputsOverTheWire(t *testing.T) {
	b := newBench(t, nil)
	srv := listen(t, b)
	body := bytes.Repeat(api.AppendFrame(nil, input.EncodeRequest(nil, beat(1))), 2000)
	resp, err := srv.Client().Post(srv.URL+"/v1/inputs", api.InputsType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST /v1/inputs: status %d, error %v while reading, want 200 and the whole body",
			resp.StatusCode, err)
	}
	if got := answers(t, out.Bytes()); len(got) != 2000 {
		t.Errorf("%d answers", len(got))
	}
}

// BenchmarkInputs measures POST /v1/inputs without the planner. Budget on one core: 3 µs per input,
// in bodies of 100.
func BenchmarkInputs(b *testing.B) {
	w := newBench(b, nil)
	w.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		return r.Input.NewReply(), 1, nil
	})
	body := bytes.Repeat(api.AppendFrame(nil, input.EncodeRequest(nil, beat(1))), 100)
	b.ReportAllocs()
	for b.Loop() {
		w.d.forget()
		if r := postFrames(w, body); r.Code != 200 {
			b.Fatalf("POST /v1/inputs: status %d, want 200", r.Code)
		}
	}
}
