package httpserver

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// attemptView is one attempt of an application: the current one, or one that is
// remembered.
type attemptView struct {
	id                       yarn.AttemptID
	current                  bool
	state                    string // YARN's word
	final                    yarn.FinalStatus
	started, launched, ended int64
	master                   uint64
	node                     uint32
	host                     string
	port                     int32
	tracking, diagnostics    string
}

// attemptViews lists the attempts that the state remembers, the oldest first.
func (v *view) attemptViews(a *state.App) []attemptView {
	var out []attemptView
	if a.Attempt != 0 && a.AttemptState != state.AttemptEnded {
		d := a.Details()
		out = append(out, attemptView{id: a.AttemptID(), current: true, state: wsAttemptState(a), final: a.Final,
			started: a.AttemptMillis, launched: a.LaunchedMillis, master: a.MasterNumber, node: a.MasterNode, host: d.Host, port: a.RPCPort,
			tracking: d.TrackingURL, diagnostics: d.Diagnostics})
	}
	for slot := a.History; slot != 0; {
		h := v.st.Attempts.Get(slot)
		out = append(out, attemptView{id: yarn.AttemptID{App: a.ID, Attempt: h.Number}, current: h.Number == a.Attempt, state: endedState(a, h), final: h.Final,
			started: h.StartedMillis, launched: h.LaunchedMillis, ended: h.EndedMillis, master: h.MasterNumber, node: h.MasterNode, host: h.Host, port: h.RPCPort,
			tracking: h.TrackingURL, diagnostics: h.Diagnostics})
		slot = h.Next
	}
	slices.Reverse(out)
	return out
}

// wsAttemptState is YARN's name for where a current attempt stands.
func wsAttemptState(a *state.App) string {
	switch {
	case a.AttemptState == state.AttemptFinishing:
		return "FINISHING"
	case a.AttemptState == state.AttemptRegistered:
		return "RUNNING"
	case a.LaunchedMillis != 0 || a.Unmanaged && a.AttemptState == state.AttemptActive:
		return "LAUNCHED"
	case a.MasterNumber != 0:
		return "ALLOCATED"
	}
	return "SCHEDULED"
}

// endedState is YARN's name for how an attempt ended.
func endedState(a *state.App, h *state.Attempt) string {
	switch {
	case h.Unregistered:
		return "FINISHED"
	case a.State == yarn.AppKilled && h.Number == a.Attempt:
		return "KILLED"
	}
	return "FAILED"
}

// masterOf names an attempt's AM container and its node; empty when it has none.
func (v *view) masterOf(app yarn.ApplicationID, attempt uint32, number uint64, node uint32) (container, address, id string) {
	if number == 0 {
		return "", "", ""
	}
	container = yarn.ContainerID{App: app, Attempt: attempt, Number: number}.String()
	if v.st.Nodes.Has(node) {
		n := v.st.Nodes.Get(node)
		address, id = httpAddress(n), n.ID.String()
	}
	return container, address, id
}

func logsLink(address, container, user string) string {
	return "http://" + address + "/node/containerlogs/" + container + "/" + user
}

func wsAttempts(c *call) error {
	v, a, err := c.wsFind()
	if err != nil {
		return err
	}
	list := []obj{}
	for _, t := range v.attemptViews(a) {
		container, address, node := v.masterOf(a.ID, t.id.Attempt, t.master, t.node)
		d := obj{{"id", t.id.Attempt}, {"startTime", t.started}, {"finishedTime", t.ended}, {"containerId", container}, {"nodeHttpAddress", address}, {"nodeId", node}}
		blacklisted, ports := "", ""
		if t.current {
			blacklisted = v.blacklist(a)
		}
		if container == "" {
			d = append(d, obj{{"logsLink", ""}, {"blacklistedNodes", blacklisted}}...)
		} else {
			ports = "null" // what Java writes of a map that is not there
			d = append(d, obj{{"logsLink", logsLink(address, container, v.st.NameOf(a.User))}, {"blacklistedNodes", blacklisted}, {"nodesBlacklistedBySystem", ""}}...)
		}
		list = append(list, append(d, obj{{"appAttemptId", t.id.String()}, {"exportPorts", ports}, {"appAttemptState", t.state}}...))
	}
	return c.writeWS("appAttempts", filled("appAttempt", list))
}

func (v *view) blacklist(a *state.App) string {
	names := make([]string, 0, len(a.Blacklist))
	for _, id := range a.Blacklist {
		names = append(names, v.st.NameOf(id))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// wsFindAttempt finds the attempt of a path, with Hadoop's messages: those of
// the client protocol, which these newer documents come from.
func (c *call) wsFindAttempt() (*view, *state.App, attemptView, error) {
	var none attemptView
	v, err := c.view()
	if err != nil {
		return nil, nil, none, err
	}
	text := c.args["attempt"]
	id, err := yarn.ParseAttemptID(text)
	if err != nil {
		return nil, nil, none, wsBadCause(illegalArgument + ": " + javaID("AppAttemptId", "appattempt_", text))
	}
	app, err := yarn.ParseApplicationID(c.args["id"])
	if err != nil {
		return nil, nil, none, wsBadCause(illegalArgument + ": " + javaAppID(c.args["id"]))
	}
	slot := v.st.AppByID(app)
	if slot == 0 {
		return nil, nil, none, wsNotFoundCause(yarnExceptions + "ApplicationNotFoundException: Application with id '" + app.String() +
			"' doesn't exist in RM. Please check that the job submission was successful.")
	}
	a := v.st.Apps.Get(slot)
	for _, t := range v.attemptViews(a) {
		if t.id == id {
			return v, a, t, nil
		}
	}
	return nil, nil, none, wsNotFoundCause(yarnExceptions + "ApplicationAttemptNotFoundException: ApplicationAttempt with id '" + text + "' doesn't exist in RM.")
}

// javaID is what Java says of a malformed identifier.
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

// wsAttempt shows one attempt: all its values are texts.
func wsAttempt(c *call) error {
	v, a, t, err := c.wsFindAttempt()
	if err != nil {
		return err
	}
	container, _, _ := v.masterOf(a.ID, t.id.Attempt, t.master, t.node)
	host, port, original := t.host, t.port, t.tracking
	if host == "" {
		host, port = "N/A", -1
	}
	if original == "" {
		original = "N/A"
	}
	d := obj{{"appAttemptId", t.id.String()}, {"host", host}, {"rpcPort", strconv.Itoa(int(port))}, {"trackingUrl", c.proxied(a, original)}, {"originalTrackingUrl", original},
		{"diagnosticsInfo", t.diagnostics}, {"appAttemptState", t.state}}
	if container != "" {
		d = append(d, field{"amContainerId", container})
	}
	return c.writeBare("appAttempt", append(d, obj{{"startedTime", text(t.started)}, {"finishedTime", text(t.ended)}}...))
}

func text(n int64) string { return strconv.FormatInt(n, 10) }

// wsContainers lists the containers of an attempt that the state still has.
func wsContainers(c *call) error {
	v, a, t, err := c.wsFindAttempt()
	if err != nil {
		return err
	}
	var list []obj
	for _, slot := range v.containersOf(a, 0, 0) {
		if k := v.st.Containers.Get(slot); k.Attempt == t.id.Attempt && !a.State.Ended() {
			list = append(list, v.wsContainer(k))
		}
	}
	slices.Reverse(list) // the newest first, as there
	return c.writeBare("containers", filled("container", list))
}

func wsContainer(c *call) error {
	v, a, t, err := c.wsFindAttempt()
	if err != nil {
		return err
	}
	name := c.args["container"]
	id, err := yarn.ParseContainerID(name)
	if err != nil {
		return wsBadCause(illegalArgument + ": " + javaID("ContainerId", "container_", name))
	}
	slot := v.st.Container(event.ContainerRef{App: a.ID.Seq, Attempt: t.id.Attempt, Number: id.Number})
	if slot == 0 || id.App != a.ID || id.Attempt != t.id.Attempt {
		return wsNotFoundCause(yarnExceptions + "ContainerNotFoundException: Container with id '" + name + "' doesn't exist in RM.")
	}
	return c.writeBare("container", v.wsContainer(v.st.Containers.Get(slot)))
}

// wsContainer shows one container: all its values are texts.
func (v *view) wsContainer(k *state.Container) obj {
	id, node := v.st.ContainerID(k).String(), v.nodeID(k.Node)
	address := ""
	if v.st.Nodes.Has(k.Node) {
		address = httpAddress(v.st.Nodes.Get(k.Node))
	}
	entries := make([]obj, 0, len(v.kinds))
	for i, name := range v.kinds {
		entries = append(entries, obj{{"key", name}, {"value", text(k.Size[i])}})
	}
	shown, elapsed := k.State.String(), text(max(v.st.Meta.NowMillis-k.AllocatedMillis, 0))
	switch {
	case k.State == yarn.ContainerCompleted:
		shown, elapsed = "COMPLETE", "0"
	case k.Launched:
		shown = "RUNNING"
	}
	d := obj{{"containerId", id}, {"allocatedMB", text(k.Size[yarn.Memory])}, {"allocatedVCores", text(k.Size[yarn.VCores])}, {"assignedNodeId", node},
		{"priority", strconv.Itoa(int(k.Key.Priority))}, {"startedTime", text(k.AllocatedMillis)}, {"finishedTime", "0"}, {"elapsedTime", elapsed}}
	if k.Note != 0 && v.st.Notes.Has(k.Note) {
		d = append(d, field{"diagnosticsInfo", v.st.Notes.Get(k.Note).Text})
	}
	return append(d, obj{{"logUrl", logsLink(address, id, v.st.NameOf(v.st.Apps.Get(k.App).User))}, {"containerExitStatus", strconv.Itoa(int(k.ExitStatus))}, {"containerState", shown},
		{"nodeHttpAddress", "http://" + address}, {"nodeId", node}, {"allocatedResources", obj{{"entry", entries}}}, {"exposedPorts", ""}}...)
}
