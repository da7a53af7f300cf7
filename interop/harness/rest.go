package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"rmd/internal/portblock"
)

var asker = &http.Client{Timeout: 5 * time.Second}

// Get reads a JSON document from a port on this machine. doc may be nil.
func Get(port int, path string, doc any) error {
	req, err := http.NewRequest(http.MethodGet, "http://"+portblock.Loopback(port)+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := asker.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %.200s", path, resp.Status, b)
	}
	if doc == nil {
		return nil
	}
	return json.Unmarshal(b, doc)
}

// Read reads a document from the active ResourceManager. It repeats the request until there is an
// answer.
func (c *Cluster) Read(path string, doc any) {
	c.t.Helper()
	var last error
	for end := time.Now().Add(slack * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if last = Get(c.Active().Web, path, doc); last == nil {
			return
		}
	}
	c.t.Fatalf("read %s: %v", path, last)
}

// App is the view of an application in the ResourceManager's REST interface.
type App struct {
	ID          string `json:"id"`
	State       string `json:"state"`
	Final       string `json:"finalStatus"`
	Queue       string `json:"queue"`
	Diagnostics string `json:"diagnostics"`
	Master      string `json:"amHostHttpAddress"`
	Containers  int    `json:"runningContainers"`
	MB          int    `json:"allocatedMB"`
	ReservedMB  int    `json:"reservedMB"`
}

// Ended reports whether the application has ended.
func (a App) Ended() bool {
	return a.State == "FINISHED" || a.State == "FAILED" || a.State == "KILLED"
}

// App reads one application.
func (c *Cluster) App(id string) App {
	c.t.Helper()
	var doc struct {
		App App `json:"app"`
	}
	c.Read("/ws/v1/cluster/apps/"+id, &doc)
	return doc.App
}

// AwaitApp waits until wanted is true for an application, and returns the application.
func (c *Cluster) AwaitApp(id, what string, within time.Duration, wanted func(App) bool) App {
	c.t.Helper()
	var a App
	within *= slack
	for end := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		if a = c.App(id); wanted(a) {
			return a
		}
		if time.Now().After(end) {
			c.t.Fatalf("not within %s: %s is %s: %+v", within, id, what, a)
		}
	}
}

// AwaitState waits until an application is in a state. It fails the test if the application ends in
// another one.
func (c *Cluster) AwaitState(id, state string, within time.Duration) App {
	c.t.Helper()
	return c.AwaitApp(id, state, within, func(a App) bool {
		if a.Ended() && a.State != state {
			c.t.Fatalf("%s is %s (%s), not %s: %s", id, a.State, a.Final, state, a.Diagnostics)
		}
		return a.State == state
	})
}

// Attempt returns the latest attempt of an application.
func (c *Cluster) Attempt(id string) Attempt {
	c.t.Helper()
	var doc struct {
		All struct {
			Attempts list[Attempt] `json:"appAttempt"`
		} `json:"appAttempts"`
	}
	c.Read("/ws/v1/cluster/apps/"+id+"/appattempts", &doc)
	var latest Attempt
	for _, a := range doc.All.Attempts {
		if a.Number > latest.Number {
			latest = a
		}
	}
	return latest
}

// Attempt is one attempt of an application.
type Attempt struct {
	Number    int    `json:"id"`
	Container string `json:"containerId"`
	Node      string `json:"nodeId"`
}

// nodeView is a node in the ResourceManager's REST interface.
type nodeView struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Version string `json:"version"`
}

// nodes returns a text about every node that the ResourceManager knows, by node id.
func (c *Cluster) nodes(what func(nodeView) string) map[string]string {
	c.t.Helper()
	var doc struct {
		Nodes struct {
			Nodes list[nodeView] `json:"node"`
		} `json:"nodes"`
	}
	c.Read("/ws/v1/cluster/nodes", &doc)
	out := map[string]string{}
	for _, n := range doc.Nodes.Nodes {
		out[n.ID] = what(n)
	}
	return out
}

// NodeStates returns the state of every node, by node id.
func (c *Cluster) NodeStates() map[string]string {
	c.t.Helper()
	return c.nodes(func(n nodeView) string { return n.State })
}

// NodeVersions returns the version of Hadoop of every node, by node id.
func (c *Cluster) NodeVersions() map[string]string {
	c.t.Helper()
	return c.nodes(func(n nodeView) string { return n.Version })
}

// AwaitNodes waits until n nodes are running.
func (c *Cluster) AwaitNodes(n int, within time.Duration) {
	c.t.Helper()
	Await(c.t, fmt.Sprintf("%d nodes run", n), within, func() bool {
		running := 0
		for _, s := range c.NodeStates() {
			if s == "RUNNING" {
				running++
			}
		}
		return running == n
	})
}
