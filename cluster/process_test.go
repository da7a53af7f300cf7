package cluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"rmd/internal/portblock"
	"rmd/transport/peer"
)

// TestMain runs this binary as one replica when a parent test asks for it.
func TestMain(m *testing.M) {
	if args := os.Getenv("RMD_TEST_REPLICA"); args != "" {
		replicaMain(strings.Split(args, ","))
		return
	}
	os.Exit(m.Run())
}

// replicaMain is a replica process: id, data directory, own address, all addresses. It prints a line for
// each leadership it takes and lives until it is killed.
func replicaMain(args []string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("FAILED", err)
			os.Exit(1)
		}
	}
	cfg := DefaultConfig() // 500/500/400 ms
	cfg.ID, cfg.ClusterName, cfg.DataDir, cfg.FSM = args[0], "test", args[1], newTestFSM()
	cfg.Logger = testLogger(nil, args[0])
	cfg.BootstrapExpect, cfg.Join = 3, args[3:]
	cfg.DiskReserve, cfg.DiskStop = 0, 0
	pc := peer.DefaultConfig()
	pc.ClusterName, pc.ID, pc.Listen, pc.Logger = "test", args[0], args[2], cfg.Logger
	srv, err := peer.Listen(pc)
	fail(err)
	cfg.Peer = srv
	c, err := Open(cfg)
	fail(err)
	for l := range c.Leadership() {
		if l.IsLeader {
			if c.Barrier(5*time.Second) != nil {
				continue // deposed before its first entry was committed: another one will say so
			}
			fmt.Println("LEADER", l.Term)
			for range 8 { // load, so that the survivors' logs end at different places
				go func() {
					for {
						if _, _, err := c.Propose(make([]byte, 200)).Wait(); err != nil {
							return
						}
					}
				}()
			}
		}
	}
}

// processes are three replicas, each a process.
type processes struct {
	t     *testing.T
	exe   string
	addrs []string
	dirs  []string
	cmds  []*exec.Cmd
	leads chan leads
}

// leads says that a replica took leadership.
type leads struct {
	id int
	at time.Time
}

func newProcesses(t *testing.T) *processes {
	exe, err := os.Executable()
	if err != nil {
		t.Skip("this binary cannot be run again: ", err)
	}
	p := &processes{t: t, exe: exe, cmds: make([]*exec.Cmd, 3), leads: make(chan leads, 64)}
	for _, port := range portblock.Open(t).TakeAll(3) {
		p.addrs, p.dirs = append(p.addrs, portblock.Loopback(port)), append(p.dirs, t.TempDir())
	}
	t.Cleanup(func() {
		for i := range p.cmds {
			p.kill(i)
		}
	})
	return p
}

// run starts replica i.
func (p *processes) run(i int) {
	_ = os.Chmod(p.dirs[i], 0o700)
	cmd := exec.Command(p.exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("RMD_TEST_REPLICA=rm%d,%s,%s,%s", i, p.dirs[i], p.addrs[i], strings.Join(p.addrs, ",")))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmds[i] = cmd
	go func() { // ends with the process
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.HasPrefix(s.Text(), "LEADER") {
				p.leads <- leads{i, time.Now()}
			} else if strings.HasPrefix(s.Text(), "FAILED") {
				fmt.Println(s.Text())
			}
		}
	}()
}

// kill is kill -9.
func (p *processes) kill(i int) {
	if p.cmds[i] != nil {
		_ = p.cmds[i].Process.Kill()
		_ = p.cmds[i].Wait()
	}
}

// next waits for the next leadership.
func (p *processes) next() leads {
	p.t.Helper()
	select {
	case e := <-p.leads:
		return e
	case <-time.After(10 * time.Second):
		p.t.Fatal("no leader within 10 s")
		return leads{}
	}
}

// TestKillLeaderProcess: kill -9 of the leading process under load, with default timeouts, and the time to
// the first entry committed by its successor.
func TestKillLeaderProcess(t *testing.T) {
	p := newProcesses(t)
	for i := range p.cmds {
		p.run(i)
	}
	now := p.next()
	slow := 0
	for range 5 {
		time.Sleep(700 * time.Millisecond) // liveness connections of and to all
		start := time.Now()
		p.kill(now.id)
		e := p.next()
		took := e.at.Sub(start)
		t.Logf("new leader committed after %s", took.Round(time.Millisecond))
		if took > 400*time.Millisecond { // raft's own timers need at least 500 ms
			slow++
		}
		p.run(now.id)
		now = e
	}
	if slow > 1 { // one may be the machine's fault
		t.Errorf("%d of 5 took as long as raft's own timers", slow)
	}
}
