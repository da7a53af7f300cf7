package verb

import (
	"encoding/json"

	"rmd/api"
)

// FlatQueue is a queue in a list, with its depth in the tree.
type FlatQueue struct {
	api.Queue
	Depth int
}

// MarshalJSON omits the children, because each queue has its own line.
func (q FlatQueue) MarshalJSON() ([]byte, error) {
	one := q.Queue
	one.Children = nil
	return json.Marshal(one)
}

// Flatten returns a queue at a depth, followed by the queues below it.
func Flatten(q *api.Queue, depth int) []FlatQueue {
	if q == nil {
		return nil
	}
	out := []FlatQueue{{*q, depth}}
	for i := range q.Children {
		out = append(out, Flatten(&q.Children[i], depth+1)...)
	}
	return out
}
