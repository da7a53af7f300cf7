package wire

import (
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Label decodes a node label expression. A blank expression means nodes without a label. A missing
// one means that too in a cluster that has no labels.
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

// LabelProtos encodes the labels of a cluster, by number.
func LabelProtos(st *state.State) (out []*proto.NodeLabelProto) {
	st.Labels.Each(func(_ state.LabelSlot, l *state.Label) bool {
		if l.Listed {
			out = append(out, &proto.NodeLabelProto{Name: new(l.Name), IsExclusive: new(l.Exclusive)})
		}
		return true
	})
	return out
}

// NodeLabels returns the labels of a node: one or none.
func NodeLabels(st *state.State, label state.LabelSlot) []string {
	if label == 0 {
		return nil
	}
	return []string{st.Labels.Name(label)}
}
