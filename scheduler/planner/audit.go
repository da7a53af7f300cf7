package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Limits of the texts of an audit entry, in bytes.
const (
	auditNameMax   = 128
	auditTargetMax = 1024
	auditValueMax  = 80 // of one configuration value
)

// audit records an operation in the log entry of the change itself, so either both are committed or
// neither is. Operations that changed nothing are not recorded.
func (p *Planner) audit(c input.Caller, action, target string) {
	p.sched.Emit(audited(&input.Audit{Who: c.Who, From: c.From, Action: action, Target: target, Result: event.AuditDone}))
}

// audited returns the event for an audit entry, with shortened texts.
func audited(in *input.Audit) *event.Audited {
	return &event.Audited{Who: cut(in.Who, auditNameMax), From: cut(in.From, auditNameMax), Action: cut(in.Action, auditNameMax),
		Target: cut(in.Target, auditTargetMax), Result: cut(in.Result, auditNameMax)}
}

// cut shortens a text to at most most bytes, between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	end := most - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// changed reports whether the events of the input change more than the clock.
func (p *Planner) changed() bool {
	for _, e := range p.sched.Events() {
		if e.Kind().Class() != event.Clock {
			return true
		}
	}
	return false
}

// targetOf describes what an operation changes, with the old value. It must be called before the
// operation.
func (p *Planner) targetOf(in input.Input) string {
	switch in := in.(type) {
	case *input.KillApplication:
		return in.ID.String()
	case *input.MoveApplication:
		return p.appTarget(in.ID, "queue", func(a *state.App) string { return p.st.Queues.Get(a.Queue).Path }, in.Queue)
	case *input.SetPriority:
		return p.appTarget(in.ID, "priority", func(a *state.App) string { return strconv.Itoa(int(a.Priority)) }, strconv.Itoa(int(in.Priority)))
	case *input.SetLifetime:
		return p.appTarget(in.ID, "lifetime", func(a *state.App) string { return lifetimeText(a.LifetimeMillis) }, lifetimeText(in.LifetimeMillis))
	case *input.SetGang:
		return p.gangTarget(in)
	case *input.FailAttempt:
		return in.Attempt.String()
	case *input.SignalContainer:
		return fmt.Sprintf("%s signal %d", in.Container, in.Command)
	case *input.CancelReservation:
		return strings.TrimSpace(fmt.Sprintf("r%d %s", in.Number, in.Reason))
	case *input.DrainNode:
		return in.ID.String()
	case *input.DrainNodes:
		return drainTarget(in.IDs)
	case *input.ForgetNode:
		return in.ID.String()
	case *input.SetNodeResource:
		return p.nodeTarget(in)
	case *input.SetLabels, *input.RemoveLabels, *input.LabelNodes:
		return labelTarget(in)
	}
	return p.clusterTarget(in)
}

// labelTarget is targetOf for operations on labels.
func labelTarget(in input.Input) string {
	var names []string
	switch in := in.(type) {
	case *input.SetLabels:
		for _, l := range in.Labels {
			names = append(names, fmt.Sprintf("%s (exclusive=%t)", l.Name, l.Exclusive))
		}
	case *input.RemoveLabels:
		names = in.Names
	case *input.LabelNodes:
		for _, n := range in.Nodes {
			if label := strings.Join(n.Labels, "+"); !slices.Contains(names, label) {
				names = append(names, label)
			}
		}
		return fmt.Sprintf("%d nodes: labels [%s]", len(in.Nodes), strings.Join(names, ", "))
	}
	return fmt.Sprintf("%d labels: %s", len(names), strings.Join(names, ", "))
}

// drainTarget is targetOf for DrainNodes.
func drainTarget(ids []yarn.NodeID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	return fmt.Sprintf("%d nodes: %s", len(ids), strings.Join(names, " "))
}

// clusterTarget is targetOf for operations on the cluster and its queues.
func (p *Planner) clusterTarget(in input.Input) string {
	switch in := in.(type) {
	case *input.SetQueues:
		return in.Comment
	case *input.RollbackQueues:
		return strings.TrimSpace(fmt.Sprintf("to version %d %s", in.To, in.Comment))
	case *input.SetQueueState:
		return in.Queue
	case *input.AdoptQueue:
		return in.Queue
	case *input.SetHosts:
		return fmt.Sprintf("include %d → %d, exclude %d → %d hosts", len(p.st.Hosts.Include), len(in.Include), len(p.st.Hosts.Exclude), len(in.Exclude))
	case *input.CreateJoinToken:
		if in.Voter {
			return "voter"
		}
		return "nonvoter"
	case *input.SetAccessToken:
		return in.Name + " " + in.Role.String()
	case *input.RevokeAccessToken:
		if len(p.st.Access) == 1 {
			return in.Name + ", the last one"
		}
		return in.Name
	case *input.SetAutopilot:
		return autopilotText(p.st.Autopilot) + " → " + autopilotText(state.Autopilot{Set: true, CleanupDeadServers: in.CleanupDeadServers, DeadServerMillis: in.DeadServerMillis,
			MinQuorum: in.MinQuorum, LastContactMillis: in.LastContactMillis, MaxTrailingLogs: in.MaxTrailingLogs, StabilizationMillis: in.StabilizationMillis})
	case *input.RaiseLevel:
		return fmt.Sprintf("level %d → %d", p.st.Meta.Level, in.Level)
	}
	return ""
}

func autopilotText(a state.Autopilot) string {
	if !a.Set {
		return "unset"
	}
	return fmt.Sprintf("cleanup_dead_servers %v, dead_server %ds, min_quorum %d, last_contact %dms, max_trailing_logs %d, stabilization %dms",
		a.CleanupDeadServers, a.DeadServerMillis/1000, a.MinQuorum, a.LastContactMillis, a.MaxTrailingLogs, a.StabilizationMillis)
}

// appTarget returns an application with the old and the new value of what changes.
func (p *Planner) appTarget(id yarn.ApplicationID, what string, old func(*state.App) string, now string) string {
	slot := p.st.Apps.ByID(id)
	if slot == 0 || p.st.Apps.Get(slot).Queue == 0 {
		return id.String()
	}
	return fmt.Sprintf("%s %s %s → %s", id, what, old(p.st.Apps.Get(slot)), now)
}

func lifetimeText(ms int64) string {
	if ms <= 0 {
		return "unlimited"
	}
	return strconv.FormatInt(ms/1000, 10) + "s"
}

func (p *Planner) nodeTarget(in *input.SetNodeResource) string {
	slot := p.st.Nodes.Find(in.ID)
	if slot == 0 {
		return in.ID.String()
	}
	return fmt.Sprintf("%s %s → %s", in.ID, p.st.Nodes.Get(slot).Total, in.Total)
}

// confChanges lists the keys that the newest version of the configuration changed, with their old
// and new values. It hides secrets.
func (p *Planner) confChanges() string {
	versions := p.st.Versions
	if len(versions) < 2 {
		return ""
	}
	old, now := &versions[len(versions)-2], &versions[len(versions)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "version %d", now.Version)
	left := 0
	add := func(name string, from, to *state.Property) {
		text := "; " + strings.TrimPrefix(name, capacity.Prefix) + ": " + confValue(from) + " → " + confValue(to)
		if left > 0 || b.Len()+len(text) > auditTargetMax-100 {
			left++
			return
		}
		b.WriteString(text)
	}
	a, z := old.Properties, now.Properties
	for len(a) > 0 || len(z) > 0 {
		switch {
		case len(z) == 0 || len(a) > 0 && a[0].Name < z[0].Name:
			add(a[0].Name, &a[0], nil)
			a = a[1:]
		case len(a) == 0 || z[0].Name < a[0].Name:
			add(z[0].Name, nil, &z[0])
			z = z[1:]
		default:
			if a[0].Value != z[0].Value {
				add(a[0].Name, &a[0], &z[0])
			}
			a, z = a[1:], z[1:]
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "; and %d more: \"rmd conf diff %d %d\"", left, old.Version, now.Version)
	}
	return b.String()
}

func confValue(v *state.Property) string {
	switch {
	case v == nil:
		return "unset"
	case capacity.Secret(v.Name):
		return "(hidden)"
	}
	return strconv.Quote(cut(v.Value, auditValueMax))
}
