package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"rmd/workload/report"
	"rmd/yarn"
)

// maxObservation is the maximum size of one answer in bytes.
const maxObservation = 16 << 20

// reservations has the fields of GET /v1/reservations that are used.
type reservations struct {
	Reservations []struct {
		Size map[string]int64 `json:"size"`
		Free map[string]int64 `json:"free_on_node"`
	} `json:"reservations"`
	Made      int64            `json:"made"`
	Fulfilled int64            `json:"fulfilled"`
	Cancelled map[string]int64 `json:"cancelled"`
}

// Observer returns a function for Config.Observe. It reads GET /v1/reservations of the first
// replica in addrs that answers. token is the access token, or "". client may be nil.
func Observer(addrs []string, token string, client *http.Client) func(context.Context) (Observation, error) {
	if client == nil {
		client = http.DefaultClient
	}
	return func(ctx context.Context) (Observation, error) {
		var errs []error
		for _, a := range addrs {
			o, err := observe(ctx, client, a, token)
			if err == nil {
				return o, nil
			}
			errs = append(errs, err)
		}
		return Observation{}, errors.Join(append(errs, ctx.Err())...)
	}
}

func observe(ctx context.Context, client *http.Client, addr, token string) (Observation, error) {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(addr, "/")+"/v1/reservations", nil)
	if err != nil {
		return Observation{}, fmt.Errorf("read reservations: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return Observation{}, fmt.Errorf("read reservations: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Observation{}, fmt.Errorf("read reservations from %s: %s", addr, resp.Status)
	}
	var r reservations
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxObservation)).Decode(&r); err != nil {
		return Observation{}, fmt.Errorf("read reservations from %s: %w", addr, err)
	}
	return r.observation(), nil
}

func (r *reservations) observation() Observation {
	o := Observation{Outcomes: report.Outcomes{Made: r.Made, Fulfilled: r.Fulfilled, Causes: r.Cancelled}}
	if o.Outcomes.Causes == nil {
		o.Outcomes.Causes = map[string]int64{}
	}
	for _, n := range r.Cancelled {
		o.Outcomes.Cancelled += n
	}
	for _, x := range r.Reservations {
		idle := func(kind string) int64 { return max(0, min(x.Size[kind], x.Free[kind])) }
		o.Reserved.MemoryMB += x.Size[yarn.MemoryName]
		o.Reserved.VCores += x.Size[yarn.VCoresName]
		o.Reserved.GPUs += x.Size[yarn.GPUName]
		o.ReservedIdle.MemoryMB += idle(yarn.MemoryName)
		o.ReservedIdle.VCores += idle(yarn.VCoresName)
		o.ReservedIdle.GPUs += idle(yarn.GPUName)
	}
	return o
}
