package cluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"rmd/internal/orphan"
	"rmd/internal/portblock"
	"rmd/transport/peer"
)

// TestMain runs this binary as one replica when a parent test asks for it.
func TestMain(m *testing.M) {
	if args := os.Getenv("RMD_TEST_REPLICA"); args != "" {
		orphan.ExitWithParent()
		replicaMain(strings.Split(args, ","))
		return
	}
	os.Exit(m.Run())
}

// replicaMain runs a replica process. args are the id, the data directory, the own address and all
// addresses. It prints a line for each leadership, and runs until it is killed.
func replicaMain(args []string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("FAILED", err)
			os.Exit(1)
		}
	}
	cfg := DefaultConfig()
	cfg.Heartbeat, cfg.Election, cfg.Lease = calm, calm, calm
	cfg.ID, cfg.ClusterName, cfg.DataDir, cfg.FSM = args[0], "test", args[1], newTestFSM()
	cfg.Logger = testLogger(nil, args[0])
	cfg.BootstrapExpect, cfg.Join = 3, args[3:]
	cfg.DiskReserve, cfg.DiskStop = 0, 0
	cfg.HungGiveUp, cfg.HungExit = 10*patience, 20*patience
	cfg.OnFatal = func(_ int, err error) { fail(err) }
	pc := peer.DefaultConfig()
	pc.ClusterName, pc.ID, pc.Listen, pc.Logger = "test", args[0], args[2], cfg.Logger
	srv, err := peer.Listen(pc)
	fail(err)
	cfg.Peer = srv
	c, err := Open(cfg)
	fail(err)
	go c.sayAcquainted()
	for l := range c.Leadership() {
		if l.IsLeader {
			if c.Barrier(patience) != nil {
				continue // it lost leadership before its first entry was committed; another leader will print its line
			}
			fmt.Println("LEADER", l.Term)
			for range 8 { // load, so that the survivors' logs end at different indexes
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

// sayAcquainted prints a line when this process knows the leader and has heard from all others that
// they hear it. In a new cluster it campaigns immediately instead of waiting for the timers.
func (c *Cluster) sayAcquainted() {
	for ; ; time.Sleep(10 * time.Millisecond) {
		if c.LastIndex() == 1 { // only the first membership exists, and there was no leader yet
			c.lead.Succession.Campaign()
			// another campaign would end this election
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if leader, _ := c.Leader(); leader != "" {
					break
				}
			}
		}
		leader, _ := c.Leader()
		heard := 0
		for _, s := range c.core.Configuration().Servers {
			if p := c.lead.Succession.StatusOf(s.ID); p.HearsLeader && p.Term == c.Term() {
				heard++
			}
		}
		if leader != "" && heard == 2 {
			fmt.Println("ACQUAINTED")
			return
		}
	}
}

// processes runs three replicas, each in a process of its own.
type processes struct {
	t     *testing.T
	exe   string
	addrs []string
	dirs  []string
	cmds  []*exec.Cmd
	leads chan leads
	met   chan int // receives a replica's number when it prints ACQUAINTED
}

// leads records that a replica became leader.
type leads struct {
	id int
	at time.Time
}

func newProcesses(t *testing.T) *processes {
	exe, err := os.Executable()
	if err != nil {
		t.Skip("this binary cannot be run again: ", err)
	}
	p := &processes{t: t, exe: exe, cmds: make([]*exec.Cmd, 3), leads: make(chan leads, 64), met: make(chan int, 64)}
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
	cmd.Env = append(os.Environ(), fmt.Sprintf("RMD_TEST_REPLICA=rm%d,%s,%s,%s", i, p.dirs[i], p.addrs[i],
		strings.Join(p.addrs, ",")))
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
			} else if s.Text() == "ACQUAINTED" {
				p.met <- i
			} else if strings.HasPrefix(s.Text(), "FAILED") {
				fmt.Println(s.Text())
			}
		}
	}()
}

// kill kills a replica with SIGKILL.
func (p *processes) kill(i int) {
	if p.cmds[i] != nil {
		_ = p.cmds[i].Process.Kill()
		_ = p.cmds[i].Wait()
	}
}

// next waits for the next leadership and returns it.
func (p *processes) next() leads {
	p.t.Helper()
	select {
	case e := <-p.leads:
		return e
	case <-time.After(patience):
		p.t.Fatalf("no leader within %s", patience)
		return leads{}
	}
}

// newest returns the last leadership: several survivors may become leader one after the other.
func (p *processes) newest(now leads) leads {
	for {
		select {
		case now = <-p.leads:
		default:
			return now
		}
	}
}

// acquainted waits until n processes have printed ACQUAINTED.
func (p *processes) acquainted(n int) {
	p.t.Helper()
	for range n {
		select {
		case <-p.met:
		case <-time.After(patience):
			p.t.Fatalf("not all hear from each other within %s", patience)
		}
	}
}

// TestKillLeaderProcess kills the leading process under load with SIGKILL. It checks that a
// successor commits an entry before raft's own timers expire. A benchmark measures the exact time.
func TestKillLeaderProcess(t *testing.T) {
	p := newProcesses(t)
	for i := range p.cmds {
		p.run(i)
	}
	now := p.next()
	p.acquainted(3)
	for quick, round := 0, 1; quick < 3; round++ {
		now = p.newest(now)
		start := time.Now()
		p.kill(now.id)
		e := p.next()
		took := e.at.Sub(start)
		t.Logf("new leader committed after %s", took.Round(time.Millisecond))
		if took < soonerThanTimers {
			quick++
		}
		if round == roundsMax {
			t.Fatalf("%d of %d were replaced sooner than by raft's own timers", quick, round)
		}
		p.run(now.id)
		p.acquainted(1)
		now = e
	}
}
