package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rmd/snapshot"
)

// TestInitReplicas starts three replicas from the directories that "rmd init --replicas" created.
// They form a cluster over TLS, every port that the command printed is open, and the printed
// environment gives an administrator access.
func TestInitReplicas(t *testing.T) {
	network := freeNetwork(t)
	dir := filepath.Join(t.TempDir(), "prod")
	var named []string
	c := &processes{t: t}
	for i := 1; i <= 3; i++ {
		p := &process{id: fmt.Sprintf("rm%d", i), http: fmt.Sprintf("%s.%d:8088", network, i)}
		p.dir = filepath.Join(dir, p.id)
		p.config = filepath.Join(p.dir, "rmd.yaml")
		c.all = append(c.all, p)
		named = append(named, fmt.Sprintf("%s=%s.%d", p.id, network, i))
	}
	said := program(t, nil, "init", "--dir", dir, "--cluster", "prod", "--replicas", strings.Join(named, ","), "--tls")
	t.Cleanup(c.stop)
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)

	ports := regexp.MustCompile(regexp.QuoteMeta(network)+`\.\d:\d+ \(`).FindAllString(said, -1)
	if len(ports) != 3*7 {
		t.Errorf("%d ports are named, not 7 of each replica:\n%s", len(ports), said)
	}
	for _, port := range ports {
		conn, err := net.DialTimeout("tcp", strings.TrimSuffix(port, " ("), patience)
		if err != nil {
			t.Errorf("rmd init names a port that nobody opens: %v", err)
			continue
		}
		_ = conn.Close() // only checks that the port is open
	}
	var env []string
	for _, m := range regexp.MustCompile(`(?m)^export (.*)$`).FindAllStringSubmatch(said, -1) {
		env = append(env, m[1])
	}
	if len(env) != 4 || !strings.HasPrefix(env[0], "RMD_ADDR=https://") {
		t.Fatalf("the environment is %q", env)
	}
	c.await("the cluster is healthy", patience, func() bool {
		cmd := exec.Command(os.Args[0], "cluster", "health")
		cmd.Env = append(os.Environ(), append(env, asProgram+"=1")...)
		return cmd.Run() == nil
	})
	contains(t, "whoami", program(t, env, "access", "whoami"), "admin")
	contains(t, "the queues", program(t, env, "queue", "list"), "root.default")
	contains(t, "a change", program(t, env, "access", "token", "create", "--role", "admin", "--name", "boss"),
		"token boss has the role admin")
	restoreThroughFollower(t, env)
}

// restoreThroughFollower restores a snapshot over TLS while another replica than the first of the
// addresses leads, and through a follower alone.
func restoreThroughFollower(t *testing.T, env []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.snap")
	program(t, env, "snapshot", "save", file)
	program(t, env, "cluster", "transfer", "rm2")
	info, err := inspectSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(env[0], "RMD_ADDR="), ",")
	for _, more := range [][]string{nil, {"--addr", first}} {
		args := append([]string{"snapshot", "restore", file, "--replace-state", info.ClusterID, "--yes"}, more...)
		contains(t, "restore", program(t, env, args...), "restored "+file)
	}
}

// inspectSnapshot verifies a snapshot file.
func inspectSnapshot(file string) (snapshot.Info, error) {
	f, err := os.Open(file)
	if err != nil {
		return snapshot.Info{}, err
	}
	defer f.Close()
	return snapshot.Verify(f)
}

// freeNetwork returns the first three bytes of a loopback network that only this process uses.
// YARN's ports are free there, unless a program listens on all addresses.
func freeNetwork(t *testing.T) string {
	t.Helper()
	network := fmt.Sprintf("127.%d.%d", 100+os.Getpid()%100, os.Getpid()/100%250)
	for _, port := range []int{8030, 8031, 8032, 8033, 8034, 8088, 8090} {
		l, err := net.Listen("tcp", fmt.Sprintf("%s.1:%d", network, port))
		if err != nil {
			t.Skipf("port %d is in use on all addresses: %v", port, err)
		}
		_ = l.Close() // only checks that the port is free
	}
	return network
}

// program runs a command that must succeed, and returns its output.
func program(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), append(env, asProgram+"=1")...)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("rmd %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	return out.String()
}
