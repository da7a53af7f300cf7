package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rmd/api"
	"rmd/cmd/rmd/internal/command/replica"
)

// stage is the cluster for the scripts: `rmd dev` in a separate process, with three replicas, four
// nodes and no workload.
type stage struct {
	once sync.Once
	err  error
	cmd  *exec.Cmd
	log  bytes.Buffer
	base string
	env  map[string]string
}

var stage0 = &stage{}

// stop stops the process, if it runs.
func (s *stage) stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
	}
}

// ready starts the cluster once, with the applications that the scripts use.
func (s *stage) ready(t *testing.T) *stage {
	t.Helper()
	s.once.Do(func() { s.err = errors.Join(s.start(), s.furnish()) })
	if s.err != nil {
		t.Fatalf("no cluster to play on: %v\n%s", s.err, s.log.String())
	}
	return s
}

func (s *stage) start() error {
	port, err := freeBase(10100)
	if err != nil {
		return err
	}
	s.base = "http://127.0.0.1:" + strconv.Itoa(port)
	s.env = map[string]string{"RMD_ADDR": fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", port, port+replica.DevStep,
		port+2*replica.DevStep), "RMD_USER": "tester", "ONE": fmt.Sprintf("127.0.0.1:%d", port)}
	s.cmd = exec.Command("rmd", "dev", "--workload", "none", "--port", strconv.Itoa(port))
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.Dir = os.TempDir()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return until(2*time.Minute, "4 nodes run", func() error {
		var d api.Cluster
		if err := s.get("/v1/cluster", &d); err != nil {
			return err
		}
		if d.Totals.UsableNodes != 4 || d.Verdict.InStep != 3 {
			return fmt.Errorf("%d nodes, %d replicas in step", d.Totals.UsableNodes, d.Verdict.InStep)
		}
		return nil
	})
}

// freeBase returns a base port from a port on for which the ports of all replicas are free.
func freeBase(from int) (int, error) {
	for base := from + os.Getpid()%100*40; base < from+5000; base += 17 { // below the ports of package portblock
		free := true
		for i := range 3 {
			for _, p := range []int{base + replica.DevStep*i, base + replica.DevStep*i + replica.PeerPort - replica.HTTPPort} {
				l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(p))
				if free = free && err == nil; err == nil {
					_ = l.Close()
				}
			}
		}
		if free {
			return base, nil
		}
	}
	return 0, errors.New("no free ports")
}

// until repeats try until it succeeds.
func until(most time.Duration, what string, try func() error) error {
	end := time.Now().Add(most)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *stage) get(path string, v any) error { return s.call(http.MethodGet, path, nil, v) }

func (s *stage) call(method, path string, body, v any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, s.base+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.HeaderUser, "tester")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		var e api.Error
		_ = json.NewDecoder(res.Body).Decode(&e)
		return fmt.Errorf("%s %s: %s %s", method, path, e.Code, e.Message)
	}
	return json.NewDecoder(res.Body).Decode(v)
}

// furnish uses more than half of each node and submits an application that waits for a whole node.
// The scheduler reserves a node for it.
func (s *stage) furnish() error {
	if s.cmd == nil || s.base == "" {
		return nil
	}
	full, err := s.master("root.batch", "full",
		api.Ask{Priority: 1, Count: 4, Size: api.Resource{api.MemoryMB: 240_000, api.VCores: 50, api.GPU: 5}})
	if err != nil {
		return err
	}
	waiting, err := s.master("root.train", "waiting",
		api.Ask{Priority: 1, Count: 1, Size: api.Resource{api.MemoryMB: 327_680, api.VCores: 88, api.GPU: 8}})
	if err != nil {
		return err
	}
	s.env["FULL"], s.env["WAITING"] = full, waiting
	return until(time.Minute, "a node is reserved", func() error {
		var d api.Reservations
		if err := s.get("/v1/reservations", &d); err != nil {
			return err
		}
		var a api.App
		if err := s.get("/v1/apps/"+full, &a); err != nil {
			return err
		}
		if len(d.Reservations) != 1 || a.Containers != 4 {
			return fmt.Errorf("%d reservations, %d containers", len(d.Reservations), a.Containers)
		}
		s.env["RESERVATION"], s.env["NODE"] = d.Reservations[0].ID, d.Reservations[0].Node
		// A script must not drain a node that is reserved or that another script drains, because
		// scripts run in parallel.
		names := []string{"OTHER", "THIRD"}
		for _, node := range []string{"sim-03:45454", "sim-04:45454", "sim-02:45454"} {
			if node != s.env["NODE"] && len(names) > 0 {
				s.env[names[0]], names = node, names[1:]
			}
		}
		return nil
	})
}

// master submits an application, registers its AM and sends an ask.
func (s *stage) master(queue, name string, ask api.Ask) (string, error) {
	var sub api.Submitted
	if err := s.call(http.MethodPost, "/v1/apps", api.Submit{Queue: queue, Name: name, Unmanaged: true, User: "ann"},
		&sub); err != nil {
		return "", err
	}
	var reg api.Registered
	if err := s.call(http.MethodPost, "/v1/apps/"+sub.ID+"/attempt:register", api.Register{}, &reg); err != nil {
		return "", err
	}
	var got api.Allocated
	return sub.ID, s.call(http.MethodPost, "/v1/apps/"+sub.ID+"/attempt:allocate",
		api.Allocate{Asks: []api.Ask{ask}}, &got)
}

// TestScripts runs the scripts in testdata/script against the shared cluster.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a cluster")
	}
	play(t, stage0.ready(t), scriptsIn(t, "")...)
}

// TestScriptsAlone runs scripts that change what other scripts see, or that expect exact numbers.
// Each has its own cluster.
func TestScriptsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a cluster")
	}
	for _, script := range scriptsIn(t, "alone") {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			s := &stage{}
			t.Cleanup(s.stop)
			play(t, s.ready(t), script)
		})
	}
}

// scriptsIn returns the scripts of a directory.
func scriptsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts in %q, %v", len(files), dir, err)
	}
	return files
}

// play runs scripts in parallel.
func play(t *testing.T, s *stage, files ...string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Files: files, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			for name, v := range s.env {
				e.Setenv(name, v)
			}
			e.Setenv("SHELLS", e.WorkDir)
			e.Setenv("TZ", "UTC")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			shell, ok := strings.CutPrefix(cond, "has-")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, err := exec.LookPath(shell)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "narrow": narrow, "waitfor": waitFor},
	})
}

// exits runs a command that must end with an exit code: exits 3 rmd app status …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	code := 0
	var e *exec.ExitError
	err := ts.Exec(args[1], args[2:]...)
	switch {
	case errors.As(err, &e):
		code = e.ExitCode()
	case err != nil:
		ts.Fatalf("running %q: %v, want exit code %s", args[1:], err, args[0])
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit %d, want %s\n%s", code, args[0], ts.ReadFile("stderr"))
	}
}

// narrow checks that no line of a file has more than 80 columns.
func narrow(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		for line := range strings.Lines(ts.ReadFile(name)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				ts.Fatalf("%d columns: %s", n, line)
			}
		}
	}
}

// waitFor repeats a command until it succeeds.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if err := until(time.Minute, strings.Join(args, " "),
		func() error { return ts.Exec(args[0], args[1:]...) }); err != nil {
		ts.Fatalf("%v", err)
	}
}
