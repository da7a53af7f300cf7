// Package siblings has the form with the capacities of all children of a queue, and their sum.
package siblings

import (
	"math/big"
	"net/url"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/http/view"
)

// Row is a child queue in the form.
type Row struct{ Path, Name, Value, Now string }

// Form has the capacities of the children. The server computes the sum. With JavaScript, the page
// also updates it while the viewer types.
type Form struct {
	Parent string
	Base   uint64 // the version on which the form is based
	Rows   []Row
	Sum    Sum
}

// Of returns the form with the configured capacities, or nil if the queue has no children in the
// configuration.
func Of(v *view.View, k *api.Queue, version uint64) *Form {
	if len(k.Children) == 0 {
		return nil
	}
	written := map[string]string{}
	if ver := v.State.Versions.Current(); ver != nil {
		for _, p := range ver.Properties {
			written[p.Name] = p.Value
		}
	}
	s := &Form{Parent: k.Path, Base: version}
	for i := range k.Children {
		c := &k.Children[i]
		if c.Dynamic() {
			continue // its capacity comes from a template
		}
		s.Rows = append(s.Rows, Row{Path: c.Path, Name: c.Name, Value: written[capacityKey(c.Path)], Now: c.Configured})
	}
	if len(s.Rows) == 0 {
		return nil
	}
	s.sum()
	return s
}

func capacityKey(path string) string { return capacity.Prefix + path + ".capacity" }

// Properties returns the configuration in force, changed by the capacities in a form. It also returns
// the form as it was sent.
func Properties(v *view.View, sent url.Values, parent string) (map[string]string, *Form, error) {
	slot, err := v.FindQueue(parent)
	if err != nil {
		return nil, nil, err
	}
	ver, err := v.FindVersion("current")
	if err != nil {
		return nil, nil, err
	}
	now := view.ConfDoc(ver)
	s := &Form{Parent: v.QueuePath(slot), Base: now.Version}
	v.State.Queues.Each(func(own state.QueueSlot, k *state.Queue) bool {
		if k.Parent != slot || v.State.DynamicQueues.Has(own) {
			return true
		}
		key := capacityKey(k.Path)
		row := Row{Path: k.Path, Name: k.Name, Value: now.Properties[key]}
		if values, given := sent["capacity."+k.Path]; given {
			row.Value = strings.TrimSpace(values[0])
			if row.Value == "" {
				delete(now.Properties, key)
			} else {
				now.Properties[key] = row.Value
			}
		}
		s.Rows = append(s.Rows, row)
		return true
	})
	s.sum()
	return now.Properties, s, nil
}

// Sum is the sum of the capacities of siblings. Percentages must add up to 100. The sum of
// weights or absolute resources is free; the planner checks those.
type Sum struct {
	Text  string
	Wrong bool
}

func (s *Form) sum() {
	percents, weights := new(big.Rat), new(big.Rat)
	nPercents, nWeights, absolute := 0, 0, 0
	for _, r := range s.Rows {
		weight, isWeight := strings.CutSuffix(r.Value, "w")
		switch f, ok := decimal(strings.TrimSuffix(weight, "%")); {
		case r.Value == "":
		case !ok:
			absolute++
		case isWeight:
			weights.Add(weights, f)
			nWeights++
		default:
			percents.Add(percents, f)
			nPercents++
		}
	}
	switch {
	case absolute == 0 && nWeights == 0:
		s.Sum = Sum{Text: trimmed(percents) + "%", Wrong: nPercents > 0 && percents.Cmp(big.NewRat(100, 1)) != 0}
	case absolute == 0 && nPercents == 0:
		s.Sum = Sum{Text: trimmed(weights) + "w"}
	default:
		s.Sum = Sum{Text: "of different kinds"}
	}
}

// decimal parses a decimal number of moderate length without an exponent, which big.Rat would
// accept.
func decimal(text string) (*big.Rat, bool) {
	if text == "" || len(text) > 20 || strings.Trim(text, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// trimmed formats a sum with at most four decimals and without trailing zeros.
func trimmed(r *big.Rat) string {
	return strings.TrimRight(strings.TrimRight(r.FloatString(4), "0"), ".")
}
