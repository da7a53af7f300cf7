package wire

import (
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Label reads a node label expression. One that is there and blank asks for nodes without a label,
// which is what one that is missing means in a cluster that has no labels.
func Label(expression *string, st *state.State) string {
	switch {
	case expression == nil:
		return ""
	case strings.TrimSpace(*expression) != "":
		return *expression
	case st.Labels.Len() == 0:
		return ""
	}
	return yarn.NoLabel
}

// LabelProtos writes the labels of a cluster's collection, by number.
func LabelProtos(st *state.State) (out []*proto.NodeLabelProto) {
	st.Labels.Each(func(_ uint32, l *state.Label) bool {
		if l.Listed {
			out = append(out, &proto.NodeLabelProto{Name: new(l.Name), IsExclusive: new(l.Exclusive)})
		}
		return true
	})
	return out
}

// NodeLabels are the labels of a node: one, or none.
func NodeLabels(st *state.State, label state.LabelID) []string {
	if label == 0 {
		return nil
	}
	return []string{st.LabelName(label)}
}
