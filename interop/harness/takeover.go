package harness

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"rmd/internal/portblock"
)

// Configure writes the files of replicas of rmd with the addresses of the Java ResourceManagers.
func (c *Cluster) Configure() {
	c.t.Helper()
	for _, m := range c.Managers {
		m.configure(0)
	}
}

// StopJava stops the Java ResourceManagers like an operator. From then on, Start starts replicas of
// rmd.
func (c *Cluster) StopJava() {
	for _, m := range c.Managers {
		m.StopJava()
	}
}

// StopJava stops one of them.
func (m *Manager) StopJava() {
	m.Stop(20 * time.Second)
	m.Process, m.c.Kind = m.c.replica(m), RMD
}

// AddWitness adds a replica of rmd that clients and nodes do not know.
func (c *Cluster) AddWitness() *Manager {
	m := newManager(c, len(c.Managers)+1)
	m.ID, m.witness = "w1", true
	m.Process = c.replica(m)
	c.write(m.ID, "", nil) // before it is one of the ResourceManagers
	c.Managers = append(c.Managers, m)
	return m
}

// Import runs "rmd import zk" for the first replica.
func (c *Cluster) Import(more ...string) (out string, code int) {
	c.t.Helper()
	return c.rmd(append([]string{"import", "zk", "--config", c.path("conf", c.Managers[0].ID, "rmd.yaml")}, more...)...)
}

// ImportProcess returns the command of Import, for tests that kill it.
func (c *Cluster) ImportProcess() *exec.Cmd {
	cmd := exec.Command(Program(c.t), "import", "zk", "--config", c.path("conf", c.Managers[0].ID, "rmd.yaml"))
	cmd.Env = c.environment()
	return cmd
}

// DataDir returns the replica's data directory.
func (m *Manager) DataDir() string { return m.c.path("data", m.ID) }

// Shell runs a command line on the machine of this replica, as a guide has it.
func (m *Manager) Shell(line string) (out string, code int) {
	c := m.c
	c.t.Helper()
	names := []string{"/etc/rmd/rmd.yaml", c.path("conf", m.ID, "rmd.yaml")}
	var hosts strings.Builder
	for _, o := range c.Managers {
		names = append(names, o.ID+".example:8034", portblock.Loopback(o.peer))
		fmt.Fprintf(&hosts, " %s) RMD_ADDR=%s ;;", o.ID, portblock.Loopback(o.Web))
	}
	cmd := exec.Command("bash", "-c", fmt.Sprintf(`set -o pipefail
rmd() { %q "$@"; }
ssh() { case $1 in%s esac; shift; "$@"; }
sudo() { shift 2; "$@"; }
ssh %s eval %q`, Program(c.t), hosts.String(), m.ID, strings.NewReplacer(names...).Replace(line)))
	cmd.Env = append(c.environment(), "RMD_ADDR=")
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), m.DataDir(), "/var/lib/rmd"), cmd.ProcessState.ExitCode()
}

// rmd runs a command line of rmd and waits for its end.
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

// StartReplicas starts the first replica with the imported state, and joins the others.
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
			out, code := c.rmd("cluster", "join", portblock.Loopback(first.peer), "--addr", portblock.Loopback(m.Web),
				"--token-file", token)
			if code != 0 {
				c.t.Logf("join of %s: %s", m.ID, out)
			}
			return code == 0
		})
		m.AwaitReady()
	}
}

// ReturnToJava stops the replicas of rmd. From then on, Start starts Java ResourceManagers.
func (c *Cluster) ReturnToJava() {
	for _, m := range c.Managers {
		m.Stop(20 * time.Second)
		m.Process = c.java(m)
	}
	c.Kind = JavaHA
}

// RemoveFromStore removes an application from the state store of stopped Java ResourceManagers.
func (c *Cluster) RemoveFromStore(app string) Result {
	c.t.Helper()
	return c.program(c.Managers[0].ID, true, "128m", toolTime, resourceManager,
		"-remove-application-from-state-store", app).Wait()
}

// Zookeeper lists the znodes of the state store, each with a checksum of its data and the
// transaction of its last change.
func (c *Cluster) Zookeeper() string {
	c.t.Helper()
	conn, _, err := zk.Connect([]string{portblock.Loopback(c.zoo.port)}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	var list strings.Builder
	var walk func(path string)
	walk = func(path string) {
		data, stat, err := conn.Get(path)
		if err != nil {
			c.t.Fatalf("read %s: %v", path, err)
		}
		fmt.Fprintf(&list, "%s %x %d\n", path, sha256.Sum256(data), stat.Mzxid)
		children, _, err := conn.Children(path)
		if err != nil {
			c.t.Fatalf("list %s: %v", path, err)
		}
		for _, name := range slices.Sorted(slices.Values(children)) {
			walk(path + "/" + name)
		}
	}
	walk("/rmstore")
	return list.String()
}
