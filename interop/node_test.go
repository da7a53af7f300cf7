//go:build interop

package interop

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestNodeRestart kills a NodeManager and starts it again. The NodeManager must recover its
// containers and report them when it registers. No container may start again.
func TestNodeRestart(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Nodes: 1})
	shell := c.StartShell(harness.Shell{Containers: 3, Command: "sleep", Args: "25"})
	app := c.Submitted(shell)
	c.AwaitApp(app, "running 3 containers", time.Minute, func(a harness.App) bool { return a.Containers == 4 })
	n := c.Nodes[0]
	harness.Await(t, "all containers run", time.Minute, func() bool { return len(harness.Of(n.Running(), app)) == 4 })
	before := harness.Of(n.Started(), app)
	n.Kill()
	n.Start()
	n.AwaitRegistered()
	c.AwaitNodes(1, time.Minute)
	succeeded(t, shell.Wait(), "Application completed successfully")
	if after := harness.Of(n.Started(), app); !slices.Equal(before, after) {
		t.Errorf("started %v before and %v after", before, after)
	}
	if a := c.Attempt(app); a.Number != 1 {
		t.Errorf("%d attempts", a.Number)
	}
}

// TestNodeLost kills a NodeManager and all its containers. The ResourceManager must report them as
// lost, and the ApplicationMaster must get other containers.
func TestNodeLost(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Site: map[string]string{
		"yarn.nm.liveness-monitor.expiry-interval-ms": "8000",
		// At its end, DistributedShell's AM tries to stop its containers on the lost node.
		"yarn.client.nodemanager-connect.max-wait-ms": "4000", "yarn.client.nodemanager-connect.retry-interval-ms": "1000"}})
	shell := c.StartShell(harness.Shell{Containers: 2, MB: 2048, Command: "sleep", Args: "15"})
	app := c.Submitted(shell)
	c.AwaitApp(app, "running 2 containers", time.Minute, func(a harness.App) bool { return a.Containers == 3 })
	master := c.Attempt(app)
	lost := c.Nodes[0]
	if lost.ID() == master.Node {
		lost = c.Nodes[1]
	}
	harness.Await(t, lost.Name+" runs a container", time.Minute,
		func() bool { return len(harness.Of(lost.Started(), app)) > 0 })
	gone := harness.Of(lost.Started(), app)
	// DistributedShell gives up if the node dies between the start of a container and the answer
	time.Sleep(3 * time.Second)
	lost.Destroy()
	harness.Await(t, lost.ID()+" is lost", time.Minute, func() bool { return c.NodeStates()[lost.ID()] == "LOST" })
	succeeded(t, shell.Wait(), "Application completed successfully")
	if all := harness.Of(c.Started(), app); len(all) != 3+len(gone) {
		t.Errorf("%d containers were started; %d were lost of 3: %v", len(all), len(gone), all)
	}
	if a := c.Attempt(app); a.Number != 1 {
		t.Errorf("%d attempts", a.Number)
	}
}

// TestMasterKilled kills an ApplicationMaster. A second attempt must finish the application, and
// the containers of the first must end.
func TestMasterKilled(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind()})
	shell := c.StartShell(harness.Shell{Containers: 1, Command: "sleep", Args: "20"})
	app := c.Submitted(shell)
	c.AwaitApp(app, "running a container", time.Minute, func(a harness.App) bool { return a.Containers == 2 })
	harness.Await(t, "all containers were started", time.Minute,
		func() bool { return len(harness.Of(c.Started(), app)) == 2 })
	first := c.Attempt(app)
	of := harness.Of(c.Started(), app)
	worker := of[slices.IndexFunc(of, func(id string) bool { return id != first.Container })]
	for _, pid := range c.Containers(first.Container) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended with another one
	}
	harness.Await(t, "the first attempt's container is gone", time.Minute,
		func() bool { return len(c.Containers(worker)) == 0 })
	succeeded(t, shell.Wait(), "Application completed successfully")
	if a := c.Attempt(app); a.Number != 2 {
		t.Errorf("%d attempts", a.Number)
	}
}

// TestSilentNode stops a NodeManager with SIGSTOP. It is the emptiest node, and must get no container
// while it is silent: neither an ApplicationMaster nor a task.
func TestSilentNode(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Nodes: 2})
	quiet := c.Nodes[0]
	quiet.Pause()
	time.Sleep(5 * time.Second) // more than two heartbeats, and far less than its expiry
	shell := c.StartShell(harness.Shell{Containers: 2, MB: 512, Command: "sleep", Args: "1"})
	app := c.Submitted(shell)
	succeeded(t, shell.Wait(), "Application completed successfully")
	quiet.Resume()
	if a := c.Attempt(app); a.Number != 1 || a.Node == quiet.ID() {
		t.Errorf("attempt %d at %s", a.Number, a.Node)
	}
	if got := harness.Of(quiet.Started(), app); len(got) > 0 {
		t.Errorf("%v were started on the silent node", got)
	}
}
