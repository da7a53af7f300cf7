package local

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/config"
	"rmd/scheduler/capacity"
	"rmd/server"
)

// asFollower is the environment variable that makes a process of this test program run one replica.
// It contains the replica's position, the directory and the peers.
const asFollower = "RMD_LOCAL_FOLLOWER"

func TestMain(m *testing.M) {
	if as := os.Getenv(asFollower); as != "" {
		os.Exit(follow(strings.Fields(as)))
	}
	os.Exit(m.Run())
}

// follow runs a replica until standard input ends.
func follow(as []string) int {
	i, err := strconv.Atoi(as[0])
	if err != nil {
		panic(err)
	}
	c := member(as[1], as[2:], nil)
	r, err := c.open(i)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = r.Close() // nobody can get the error
	return 0
}

// member returns a Cluster for a process that runs only some of the replicas. All replicas but the
// first have long election timeouts, so that the first becomes the leader.
func member(dir string, peers []string, queues []capacity.Property) *Cluster {
	c := &Cluster{opt: Options{Replicas: len(peers), Dir: dir, Scheduling: "eager", Queues: queues, Version: "bench",
		Logger: hclog.NewNullLogger(),
		Adjust: func(i int, k *config.Config) {
			if i > 0 {
				k.Raft.Heartbeat, k.Raft.Election = 5*time.Second, 5*time.Second
			}
		}}}
	for i := range peers {
		c.configs = append(c.configs, c.configOf(i, peers))
	}
	return c
}

// apart runs three replicas in separate processes. The leader is in this process, and apart returns
// it.
func apart(b *testing.B, queues []capacity.Property) *server.Replica {
	b.Helper()
	ports, err := freePorts(3)
	if err != nil {
		b.Fatal(err)
	}
	var peers []string
	for _, p := range ports {
		peers = append(peers, "127.0.0.1:"+strconv.Itoa(p))
	}
	dir := b.TempDir()
	for i := 1; i < len(peers); i++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asFollower+"="+strings.Join(append([]string{strconv.Itoa(i), dir}, peers...), " "))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
	}
	r, err := member(dir, peers, queues).open(0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	for err = r.AwaitLeader(ctx); err == nil && !r.Cluster().IsLeader(); err = ctx.Err() {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}
