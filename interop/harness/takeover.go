package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"rmd/internal/portblock"
)

// Configure writes the files of replicas of rmd at the addresses of the Java ResourceManagers.
func (c *Cluster) Configure() {
	c.t.Helper()
	for _, m := range c.Managers {
		m.configure(0)
	}
}

// StopJava ends the Java ResourceManagers as an operator does. Those that are started from now on are
// replicas of rmd.
func (c *Cluster) StopJava() {
	for _, m := range c.Managers {
		m.Stop(20 * time.Second)
		m.Process = c.replica(m)
	}
	c.Kind = RMD
}

// Import runs "rmd import zk" for the first replica.
func (c *Cluster) Import(more ...string) (out string, code int) {
	c.t.Helper()
	return c.rmd(append([]string{"import", "zk", "--config", c.path("conf", c.Managers[0].ID, "rmd.yaml")}, more...)...)
}

// ImportProcess is Import as a process that may be killed.
func (c *Cluster) ImportProcess() *exec.Cmd {
	cmd := exec.Command(Program(c.t), "import", "zk", "--config", c.path("conf", c.Managers[0].ID, "rmd.yaml"))
	cmd.Env = c.environment()
	return cmd
}

// DataDir is where the replica keeps its state.
func (m *Manager) DataDir() string { return m.c.path("data", m.ID) }

// rmd runs a command line of rmd to its end.
func (c *Cluster) rmd(args ...string) (out string, code int) {
	c.t.Helper()
	cmd := exec.Command(Program(c.t), args...)
	cmd.Env = c.environment()
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// StartReplicas starts the first replica on what was imported, and joins the others.
func (c *Cluster) StartReplicas() {
	c.t.Helper()
	first := c.Managers[0]
	first.Start()
	first.AwaitReady()
	for _, m := range c.Managers[1:] {
		m.Start()
		token := c.path("tmp", m.ID+".token")
		Await(c.t, m.ID+" joins", time.Minute, func() bool {
			m.mustLive()
			create := exec.Command(Program(c.t), "cluster", "token", "create", "--addr", portblock.Loopback(first.Web))
			create.Env = c.environment()
			b, err := create.Output()
			if err != nil || os.WriteFile(token, b, 0o600) != nil {
				return false
			}
			out, code := c.rmd("cluster", "join", portblock.Loopback(first.peer), "--addr", portblock.Loopback(m.Web), "--token-file", token)
			if code != 0 {
				c.t.Logf("join of %s: %s", m.ID, out)
			}
			return code == 0
		})
		m.AwaitReady()
	}
}

// Zookeeper lists the znodes of the state store with their data, by a client of ZooKeeper's own.
func (c *Cluster) Zookeeper() string {
	c.t.Helper()
	r := c.client(false, "128m", time.Minute, "org.apache.zookeeper.ZooKeeperMain", "-server", portblock.Loopback(c.zoo.port), "ls", "-R", "/rmstore").Wait()
	var keep []string
	for line := range strings.Lines(r.Text()) {
		if strings.HasPrefix(line, "/") {
			keep = append(keep, line)
		}
	}
	if len(keep) == 0 {
		c.t.Fatal(fmt.Errorf("ZooKeeper lists nothing: %s", r.Text()))
	}
	return strings.Join(keep, "")
}
