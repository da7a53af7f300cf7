package yarnweb

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// yarnStates lists all application states of YARN. Filters may name also the states that rmd does
// not have; no application passes them.
var yarnStates = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

// finalStates lists YARN's names of final statuses.
var finalStates = []string{"UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED"}

// deSelections lists the parts that a caller may leave out of a list of applications.
var deSelections = []string{"resourceRequests", "timeouts", "appNodeLabelExpression", "amNodeLabelExpression",
	"resourceInfo"}

// wsFilter is the filter of Hadoop's list of applications.
type wsFilter struct {
	app          view.AppFilter
	final        string
	types, tags  map[string]bool // in upper case
	startedFrom  int64
	startedTo    int64
	finishedFrom int64
	finishedTo   int64
	limit        int
	without      map[string]bool // parts to leave out, by the names in deSelections
}

func (s *API) wsAppFilter(c *route.Call, v *docs) (*wsFilter, error) {
	f := &wsFilter{final: c.Query.Get("finalStatus"), types: route.Words(c.Query["applicationTypes"]),
		tags: route.Words(c.Query["applicationTags"])}
	if f.final != "" && !slices.Contains(finalStates, f.final) {
		return nil, wsIllegal("No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus." + f.final)
	}
	var err error
	if f.app.States, err = wsAppStates(append(c.Query["states"], c.Query["state"]...)); err != nil {
		return nil, err
	}
	if f.without, err = wsDeSelects(c.Query["deSelects"]); err != nil {
		return nil, err
	}
	f.app.User, f.app.Name = c.Query.Get("user"), c.Query.Get("name")
	if q := c.Query.Get("queue"); q != "" {
		slot, err := v.FindQueue(q)
		if err != nil {
			return nil, wsBad("Unknown queue: " + q)
		}
		f.app.Queues = v.Subtree(slot)
	}
	if text := c.Query.Get("limit"); text != "" {
		if f.limit, err = strconv.Atoi(text); err != nil {
			return nil, wsBad("limit value must be a number!")
		}
		if f.limit <= 0 {
			return nil, wsBad("limit value must be greater then 0")
		}
	}
	return f, f.times(c)
}

// wsAppStates reads names of states in any case. It returns nil if there are none.
func wsAppStates(values []string) (map[string]bool, error) {
	states := route.Words(values)
	for w := range states { // the error may name any of several wrong words
		if !slices.Contains(yarnStates, w) {
			return nil, wsBad("Invalid application-state " + w + " specified. It should be one of [" +
				strings.Join(yarnStates, ", ") + "]")
		}
	}
	return states, nil
}

func wsDeSelects(values []string) (map[string]bool, error) {
	var out map[string]bool
	for _, v := range values {
		for _, w := range strings.Split(v, ",") {
			if w = strings.TrimSpace(w); w == "" {
				continue
			}
			i := slices.IndexFunc(deSelections, func(d string) bool { return strings.EqualFold(d, w) })
			if i < 0 {
				return nil, wsBad("Invalid deSelects string " + w + " specified. It should be one of [" +
					strings.Join(deSelections, ", ") + "]")
			}
			if out == nil {
				out = map[string]bool{}
			}
			out[deSelections[i]] = true
		}
	}
	return out, nil
}

// times reads the four limits of times. The messages are Hadoop's; some of them say finishTime
// instead of finishedTime.
func (f *wsFilter) times(c *route.Call) error {
	for _, b := range []struct {
		name, word string
		to         *int64
		def        int64
	}{{"startedTimeBegin", "startedTimeBegin", &f.startedFrom, 0},
		{"startedTimeEnd", "startedTimeEnd", &f.startedTo, 1<<63 - 1},
		{"finishedTimeBegin", "finishTimeBegin", &f.finishedFrom, 0},
		{"finishedTimeEnd", "finishTimeEnd", &f.finishedTo, 1<<63 - 1}} {
		*b.to = b.def
		text := c.Query.Get(b.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return wsBad(b.name + " value must be a number!")
		}
		if n < 0 {
			return wsBad(b.word + " must be greater than 0")
		}
		*b.to = n
	}
	switch {
	case f.startedFrom > f.startedTo:
		return wsBad("startedTimeEnd must be greater than startTimeBegin")
	case f.finishedFrom > f.finishedTo:
		return wsBad("finishTimeEnd must be greater than finishTimeBegin")
	}
	return nil
}

func (f *wsFilter) pass(a *state.App) bool {
	switch {
	case f.final != "" && finalStatus(a) != f.final,
		f.types != nil && !f.types[strings.ToUpper(a.Details().Type)],
		f.tags != nil && !slices.ContainsFunc(a.Details().Tags, func(t string) bool { return f.tags[strings.ToUpper(t)] }),
		a.SubmittedMillis < f.startedFrom || a.SubmittedMillis > f.startedTo,
		finishedMillis(a) < f.finishedFrom || finishedMillis(a) > f.finishedTo:
		return false
	}
	return true
}
