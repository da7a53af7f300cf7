package planner

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// labelRules says which labels applications and their asks get, and whether they may have them.
type labelRules struct{ views *views.Views }

// Refusals in this file have the messages of YARN's SchedulerUtils.

// ofApplication returns the event for an application's labels. If it has none, the event need
// not be written.
func (lr labelRules) ofApplication(in *input.SubmitApplication, leaf int, seq uint32) *event.ApplicationLabelled {
	e := &event.ApplicationLabelled{App: seq}
	e.Label, e.AMLabel = lr.views.Config.ApplicationLabels(&lr.views.Config.Queues[leaf], in.Label,
		in.AMLabel, in.Unmanaged)
	return e
}

func (lr labelRules) checkAM(in *input.SubmitApplication, q *capacity.Queue) *input.Refusal {
	if !lr.views.Config.LabelSettings.Enabled {
		return lr.check(q, strings.TrimSpace(in.Label+in.AMLabel))
	}
	_, am := lr.views.Config.ApplicationLabels(q, in.Label, in.AMLabel, false)
	return lr.check(q, am)
}

// checkAsk checks the label that an ask names, and the label that it gets.
func (lr labelRules) checkAsk(a *state.App, leaf int, k *input.Ask) *input.Refusal {
	q, asked := &lr.views.Config.Queues[leaf], strings.TrimSpace(k.Label)
	if !lr.views.Config.LabelSettings.Enabled {
		return lr.check(q, asked)
	}
	if k.Name != yarn.Any {
		if asked == "" {
			return nil
		}
		return input.Refusef(input.InvalidLabel, "name the label beside \"*\"",
			"Invalid resource request, queue=%s specified node label expression in a resource request has resource name = %s",
			q.Name, k.Name)
	}
	return lr.check(q, lr.views.Config.AskLabel(leaf, a.DefaultLabel(), k.Label))
}

// check returns a fault if asks in a queue may not have a label.
func (lr labelRules) check(q *capacity.Queue, label string) *input.Refusal {
	if label == "" {
		return nil
	}
	if !lr.views.Config.LabelSettings.Enabled {
		return input.Refusef(input.LabelsOff, "ask without a label, or set yarn.node-labels.enabled",
			"Invalid resource request, node label not enabled but request contains label expression")
	}
	if strings.Contains(label, "&&") {
		return input.Refusef(input.InvalidLabel, "name one label",
			"Invalid resource request, queue=%s specified more than one node label in a node label expression, node label expression = %s", q.Name, label)
	}
	if !q.MayUse(label) {
		return input.Refusef(input.InvalidLabel,
			"use another label or queue, or add the label to accessible-node-labels of the queue",
			"Invalid resource request, queue=%s doesn't have permission to access all labels in resource request. labelExpression of resource request=%s. Queue labels=%s",
			q.Name, label, q.AccessibleText())
	}
	if _, listed := lr.views.State.Labels.Listed(label); !listed {
		return input.Refusef(input.NoSuchLabel, "list them with \"rmd label list\"",
			"Invalid label resource request, cluster do not contain , label= %s", label)
	}
	return nil
}

// label stores the label of a key that is asked for, if it changes.
func (as *asks) label(slot state.AppSlot, leaf int, k *input.Ask) {
	if k.Name != yarn.Any || k.Count == 0 || !as.sched.Config.LabelSettings.Enabled {
		return
	}
	a := as.st.Apps.Get(slot)
	ask := as.st.Asks.Find(a, k.Key)
	label := as.sched.Config.AskLabel(leaf, a.DefaultLabel(), k.Label)
	if as.st.Labels.Name(as.st.Asks.Get(ask).Label) != label {
		as.sched.Emit(&event.AskLabelled{App: a.ID.Seq, Key: k.Key, Label: label})
	}
}

// checkMove refuses to move an application to a queue that may not use a label that its asks,
// its next AM or its future asks need.
//
// Source: Hadoop 3.4.2, CapacityScheduler.checkQueuePartition.
func (lr labelRules) checkMove(a *state.App, to int) *input.Refusal {
	if !lr.views.Config.LabelSettings.Enabled {
		return nil
	}
	q := &lr.views.Config.Queues[to]
	var not []string
	needs := func(label string) {
		if !q.MayUse(label) && !slices.Contains(not, label) {
			not = append(not, label)
		}
	}
	needs(a.Details().AMLabel)
	needs(strings.TrimSpace(a.DefaultLabel()))
	for _, k := range lr.views.State.Asks.Of(a) {
		if k.Count > 0 {
			needs(lr.views.State.Labels.Name(k.Label))
		}
	}
	if len(not) == 0 {
		return nil
	}
	slices.Sort(not)
	return input.Refusef(input.InvalidLabel, "add the labels to accessible-node-labels of the queue",
		"Specified queue=%s can't satisfy following apps label expressions =[%s] accessible node labels =[%s]", q.Path,
		strings.Join(not, ", "), strings.Join(q.Accessible, ", "))
}
