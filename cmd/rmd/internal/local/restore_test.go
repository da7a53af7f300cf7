package local

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/workload/submit"
	"rmd/yarn"
)

// ask sends a request to the REST port of replica i and decodes its answer.
func ask(t *testing.T, c *Cluster, i int, method, path, token string, body []byte, out any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.Replicas[i].HTTPAddr()+path,
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set(api.HeaderToken, token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if raw, ok := out.(*[]byte); ok {
		*raw = b
	} else if err == nil && out != nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		t.Fatalf("%s %s: status %d, reading the answer: %v; body %q", method, path, resp.StatusCode, err, b)
	}
	return resp.StatusCode
}

// TestRestoreKeepsAccessTokens restores a snapshot from before the first access token. The tokens
// stay valid on every replica, also after a restart.
func TestRestoreKeepsAccessTokens(t *testing.T) {
	c := start(t, nil)
	leads := func() (i int) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if i = c.Leader(); i >= 0 {
				return i
			}
		}
		t.Fatal("nobody leads")
		return i
	}
	lead := leads()
	var saved []byte
	if code := ask(t, c, lead, "GET", "/v1/snapshot", "", nil, &saved); code != 200 {
		t.Fatalf("save: %d %s", code, saved)
	}
	var boss api.AccessTokenMade
	if code := ask(t, c, lead, "POST", "/v1/access/tokens", "", []byte(`{"name":"boss","role":"admin"}`),
		&boss); code != 201 {
		t.Fatalf("make a token: %d", code)
	}
	path := "/v1/snapshot?replace_state=" + c.Replicas[lead].Cluster().ClusterID()
	for _, dry := range []string{"&dry_run", ""} {
		var d api.Restored
		if code := ask(t, c, lead, "PUT", path+dry, boss.Token, saved, &d); code != 200 || d.TokensKept != 1 {
			t.Fatalf("restore%s: %d %+v", dry, code, d)
		}
	}
	protected := func(when string) {
		t.Helper()
		caughtUp(t, c, leads())
		for i := range c.Replicas {
			var refused api.Error
			if code := ask(t, c, i, "POST", "/v1/queues/root.batch:stop", "", nil, &refused); code != 401 {
				t.Errorf("%s, replica %d: anybody's change is answered with %d %+v", when, i, code, refused)
			}
			var me api.Access
			if ask(t, c, i, "GET", "/v1/access", boss.Token, nil, &me); me.Name != "boss" || me.Role != "admin" {
				t.Errorf("%s, replica %d: the token is taken for %+v", when, i, me)
			}
		}
		if code := ask(t, c, leads(), "POST", "/v1/queues/root.batch:stop", boss.Token, nil, nil); code != 200 {
			t.Errorf("%s: the administrator's change is answered with %d", when, code)
		}
	}
	protected("after the restore")
	for i := range c.Replicas {
		if err := c.Replicas[i].Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range c.Replicas {
		if err := c.reopen(i); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range c.Replicas {
		if err := r.AwaitLeader(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	protected("after a restart")

	// Tokens in the snapshot replace those of the cluster.
	var guarded []byte
	ask(t, c, leads(), "GET", "/v1/snapshot", boss.Token, nil, &guarded)
	var d api.Restored
	path = strings.TrimSuffix(path, "&dry_run")
	if code := ask(t, c, leads(), "PUT", path, boss.Token, guarded, &d); code != 200 || d.TokensKept != 0 {
		t.Errorf("restore with tokens: %d %+v", code, d)
	}
}

// TestWorkloadSurvivesFirstToken checks that the workload of a cluster in this process continues
// after a user creates the first access token. From then on, replicas refuse callers without a
// token.
func TestWorkloadSurvivesFirstToken(t *testing.T) {
	c := start(t, nil)
	register := func(token string) error {
		k := submit.DefaultConfig()
		k.Addrs, k.Token, k.Logger = c.Addrs(), token, hclog.NewNullLogger()
		d, err := submit.Open(k)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = d.Do(ctx, &input.RegisterNode{ID: yarn.NodeID{Host: "sim-1", Port: 1}, Rack: "/r",
			Total: yarn.NewResource(1024, 1), Version: "simulated"})
		return err
	}
	if err := register(""); err != nil {
		t.Fatalf("before there is a token: %v", err)
	}
	if code := ask(t, c, c.Leader(), "POST", "/v1/access/tokens", "", []byte(`{"name":"boss","role":"admin"}`),
		nil); code != 201 {
		t.Fatalf("make a token: %d", code)
	}
	caughtUp(t, c, c.Leader())
	if err := register(""); err == nil {
		t.Error("a stranger speaks for a node")
	}
	if err := register(c.Token()); err != nil {
		t.Errorf("the own workload is refused: %v", err)
	}
	st, _ := c.Replicas[0].Machine().Fork()
	if len(st.Access) != 1 {
		t.Errorf("%d access tokens are in the state", len(st.Access))
	}
}
