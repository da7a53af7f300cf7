package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// targets says what operations change. It reads the state before them.
type targets struct{ st *state.State }

// Target describes what an operation changes, with the old value. The operation must not have been
// planned on the state yet.
func Target(st *state.State, in input.Input) string { return targets{st}.of(in) }

// of describes what an operation changes, with the old value.
func (t targets) of(in input.Input) string {
	switch in := in.(type) {
	case *input.KillApplication:
		return in.ID.String()
	case *input.MoveApplication:
		return t.appTarget(in.ID, "queue", func(a *state.App) string { return t.st.Queues.Get(a.Queue).Path }, in.Queue)
	case *input.SetPriority:
		return t.appTarget(in.ID, "priority", func(a *state.App) string { return strconv.Itoa(int(a.Priority)) },
			strconv.Itoa(int(in.Priority)))
	case *input.SetLifetime:
		return t.appTarget(in.ID, "lifetime", func(a *state.App) string { return lifetimeText(a.LifetimeMillis) },
			lifetimeText(in.LifetimeMillis))
	case *input.SetGang:
		return t.gangTarget(in)
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
		return t.nodeTarget(in)
	case *input.SetLabels, *input.RemoveLabels, *input.LabelNodes:
		return labelTarget(in)
	}
	return t.clusterTarget(in)
}

// labelTarget is Target for operations on labels.
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

// drainTarget is Target for DrainNodes.
func drainTarget(ids []yarn.NodeID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	return fmt.Sprintf("%d nodes: %s", len(ids), strings.Join(names, " "))
}

// clusterTarget is Target for operations on the cluster and its queues.
func (t targets) clusterTarget(in input.Input) string {
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
		return fmt.Sprintf("include %d → %d, exclude %d → %d hosts", len(t.st.Hosts.Include), len(in.Include),
			len(t.st.Hosts.Exclude), len(in.Exclude))
	case *input.CreateJoinToken:
		if in.Voter {
			return "voter"
		}
		return "nonvoter"
	case *input.SetAccessToken:
		return in.Name + " " + in.Role.String()
	case *input.RevokeAccessToken:
		if len(t.st.Access) == 1 {
			return in.Name + ", the last one"
		}
		return in.Name
	case *input.SetAutopilot:
		return autopilotText(t.st.Autopilot) + " → " +
			autopilotText(state.Autopilot{Set: true, CleanupDeadServers: in.CleanupDeadServers,
				DeadServerMillis: in.DeadServerMillis,
				MinQuorum:        in.MinQuorum, LastContactMillis: in.LastContactMillis, MaxTrailingLogs: in.MaxTrailingLogs,
				StabilizationMillis: in.StabilizationMillis})
	case *input.RaiseLevel:
		return fmt.Sprintf("level %d → %d", t.st.Meta.Level, in.Level)
	}
	return ""
}

func autopilotText(a state.Autopilot) string {
	if !a.Set {
		return "unset"
	}
	return fmt.Sprintf("cleanup_dead_servers %v, dead_server %ds, min_quorum %d, last_contact %dms, max_trailing_logs %d, stabilization %dms",
		a.CleanupDeadServers, a.DeadServerMillis/1000, a.MinQuorum, a.LastContactMillis, a.MaxTrailingLogs,
		a.StabilizationMillis)
}

// appTarget returns an application with the old and the new value of what changes.
func (t targets) appTarget(id yarn.ApplicationID, what string, old func(*state.App) string, now string) string {
	slot := t.st.Apps.ByID(id)
	if slot == 0 || t.st.Apps.Get(slot).Queue == 0 {
		return id.String()
	}
	return fmt.Sprintf("%s %s %s → %s", id, what, old(t.st.Apps.Get(slot)), now)
}

func lifetimeText(ms int64) string {
	if ms <= 0 {
		return "unlimited"
	}
	return strconv.FormatInt(ms/1000, 10) + "s"
}

func (t targets) nodeTarget(in *input.SetNodeResource) string {
	slot := t.st.Nodes.Find(in.ID)
	if slot == 0 {
		return in.ID.String()
	}
	return fmt.Sprintf("%s %s → %s", in.ID, t.st.Nodes.Get(slot).Total, in.Total)
}

// gangTarget is Target for SetGang.
func (t targets) gangTarget(in *input.SetGang) string {
	before, after := "none", in.Gang
	if slot := t.st.Apps.ByID(in.ID); slot != 0 && t.st.Gangs.Has(slot) {
		before = t.st.Gangs.Get(slot).Spec.String()
	}
	if after == "" {
		after = "none"
	}
	return t.appTarget(in.ID, "gang", func(*state.App) string { return before }, after)
}
