package yarnweb

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func logsLink(address, container, user string) string {
	return "http://" + address + "/node/containerlogs/" + container + "/" + user
}

func (s *API) wsAttempts(c *route.Call) error {
	v, a, err := s.wsFind(c)
	if err != nil {
		return err
	}
	list := []obj{}
	for _, t := range v.AttemptRecords(a) {
		container, address, node := v.Master(a.ID, t.ID.Attempt, t.Master, t.Node)
		d := obj{{"id", t.ID.Attempt}, {"startTime", t.Started}, {"finishedTime", t.Ended}, {"containerId", container},
			{"nodeHttpAddress", address}, {"nodeId", node}}
		blacklisted, ports := "", ""
		if t.Current {
			blacklisted = v.blacklist(a)
		}
		if container == "" {
			d = append(d, obj{{"logsLink", ""}, {"blacklistedNodes", blacklisted}}...)
		} else {
			ports = "null" // what Java writes for a missing map
			d = append(d, obj{{"logsLink", logsLink(address, container, v.State.Names.Text(a.User))},
				{"blacklistedNodes", blacklisted}, {"nodesBlacklistedBySystem", ""}}...)
		}
		list = append(list, append(d, obj{{"appAttemptId", t.ID.String()}, {"exportPorts", ports},
			{"appAttemptState", t.State}}...))
	}
	return s.writeWS(c, "appAttempts", filled("appAttempt", list))
}

func (v *docs) blacklist(a *state.App) string {
	names := make([]string, 0, len(a.Blacklist))
	for _, id := range a.Blacklist {
		names = append(names, v.State.Names.Text(id))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// wsFindAttempt returns the attempt in the path, or an error with Hadoop's message. The messages
// are those of the client protocol, because Hadoop makes these newer documents with it.
func (s *API) wsFindAttempt(c *route.Call) (*docs, *state.App, view.AttemptRecord, error) {
	var none view.AttemptRecord
	v, err := docsOf(c)
	if err != nil {
		return nil, nil, none, err
	}
	text := c.Args["attempt"]
	id, err := yarn.ParseAttemptID(text)
	if err != nil {
		return nil, nil, none, wsBadCause(illegalArgument + ": " + javaID("AppAttemptId", "appattempt_", text))
	}
	app, err := yarn.ParseApplicationID(c.Args["id"])
	if err != nil {
		return nil, nil, none, wsBadCause(illegalArgument + ": " + javaAppID(c.Args["id"]))
	}
	slot := v.State.Apps.ByID(app)
	if slot == 0 {
		return nil, nil, none, wsNotFoundCause(yarnExceptions + "ApplicationNotFoundException: Application with id '" +
			app.String() +
			"' doesn't exist in RM. Please check that the job submission was successful.")
	}
	a := v.State.Apps.Get(slot)
	for _, t := range v.AttemptRecords(a) {
		if t.ID == id {
			return v, a, t, nil
		}
	}
	return nil, nil, none, wsNotFoundCause(yarnExceptions +
		"ApplicationAttemptNotFoundException: ApplicationAttempt with id '" + text + "' doesn't exist in RM.")
}

// javaID returns Java's message for a malformed identifier.
func javaID(kind, prefix, text string) string {
	if strings.HasPrefix(text, prefix) {
		return "Invalid " + kind + ": " + text
	}
	return "Invalid " + kind + " prefix: " + text
}

func javaAppID(text string) string {
	if strings.HasPrefix(text, "application_") {
		return "Invalid ApplicationId: " + text
	}
	return "Invalid ApplicationId prefix: " + text + ". The valid ApplicationId should start with prefix application"
}

// wsAttempt shows one attempt. All values are texts.
func (s *API) wsAttempt(c *route.Call) error {
	v, a, t, err := s.wsFindAttempt(c)
	if err != nil {
		return err
	}
	container, _, _ := v.Master(a.ID, t.ID.Attempt, t.Master, t.Node)
	host, port, original := t.Host, t.Port, t.Tracking
	if host == "" {
		host, port = "N/A", -1
	}
	if original == "" {
		original = "N/A"
	}
	d := obj{{"appAttemptId", t.ID.String()}, {"host", host}, {"rpcPort", strconv.Itoa(int(port))},
		{"trackingUrl", s.proxied(c, a, original)}, {"originalTrackingUrl", original},
		{"diagnosticsInfo", t.Diagnostics}, {"appAttemptState", t.State}}
	if container != "" {
		d = append(d, field{"amContainerId", container})
	}
	return s.writeBare(c, "appAttempt", append(d,
		obj{{"startedTime", text(t.Started)}, {"finishedTime", text(t.Ended)}}...))
}

func text(n int64) string { return strconv.FormatInt(n, 10) }

// wsContainers lists the containers of an attempt that are in the state.
func (s *API) wsContainers(c *route.Call) error {
	v, a, t, err := s.wsFindAttempt(c)
	if err != nil {
		return err
	}
	var list []obj
	for _, slot := range v.ContainersOf(a, 0, 0) {
		if k := v.State.Containers.Get(slot); k.Attempt == t.ID.Attempt && !a.State.Ended() {
			list = append(list, v.wsContainer(k))
		}
	}
	slices.Reverse(list) // newest first, as in YARN
	return s.writeBare(c, "containers", filled("container", list))
}

func (s *API) wsContainer(c *route.Call) error {
	v, a, t, err := s.wsFindAttempt(c)
	if err != nil {
		return err
	}
	name := c.Args["container"]
	id, err := yarn.ParseContainerID(name)
	if err != nil {
		return wsBadCause(illegalArgument + ": " + javaID("ContainerId", "container_", name))
	}
	slot := v.State.Container(event.ContainerRef{App: a.ID.Seq, Attempt: t.ID.Attempt, Number: id.Number})
	if slot == 0 || id.App != a.ID || id.Attempt != t.ID.Attempt {
		return wsNotFoundCause(yarnExceptions + "ContainerNotFoundException: Container with id '" + name +
			"' doesn't exist in RM.")
	}
	return s.writeBare(c, "container", v.wsContainer(v.State.Containers.Get(slot)))
}

// wsContainer returns the document of a container. All values are texts.
func (v *docs) wsContainer(k *state.Container) obj {
	id, node := v.State.Apps.ContainerID(k).String(), v.NodeID(k.Node)
	address := ""
	if v.State.Nodes.Has(k.Node) {
		address = view.HTTPAddress(v.State.Nodes.Get(k.Node))
	}
	entries := make([]obj, 0, len(v.Kinds))
	for i, name := range v.Kinds {
		entries = append(entries, obj{{"key", name}, {"value", text(k.Size[i])}})
	}
	shown, elapsed := k.State.String(), text(max(v.State.Meta.NowMillis-k.AllocatedMillis, 0))
	switch {
	case k.State == yarn.ContainerCompleted:
		shown, elapsed = "COMPLETE", "0"
	case k.Launched:
		shown = "RUNNING"
	}
	d := obj{{"containerId", id}, {"allocatedMB", text(k.Size[yarn.Memory])},
		{"allocatedVCores", text(k.Size[yarn.VCores])}, {"assignedNodeId", node},
		{"priority", strconv.Itoa(int(k.Key.Priority))}, {"startedTime", text(k.AllocatedMillis)}, {"finishedTime", "0"},
		{"elapsedTime", elapsed}}
	if k.Diagnostics != 0 && v.State.Diagnostics.Has(k.Diagnostics) {
		d = append(d, field{"diagnosticsInfo", v.State.Diagnostics.Get(k.Diagnostics).Text})
	}
	return append(d, obj{{"logUrl", logsLink(address, id, v.State.Names.Text(v.State.Apps.Get(k.App).User))},
		{"containerExitStatus", strconv.Itoa(int(k.ExitStatus))}, {"containerState", shown},
		{"nodeHttpAddress", "http://" + address}, {"nodeId", node}, {"allocatedResources", obj{{"entry", entries}}},
		{"exposedPorts", ""}}...)
}
