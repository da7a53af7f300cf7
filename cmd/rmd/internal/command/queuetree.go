package command

import (
	"encoding/json"

	"rmd/api"
)

// flatQueue is a queue in a list, with its depth in the tree.
type flatQueue struct {
	api.Queue
	depth int
}

// MarshalJSON omits the children, because each queue has its own line.
func (q flatQueue) MarshalJSON() ([]byte, error) {
	one := q.Queue
	one.Children = nil
	return json.Marshal(one)
}

func flatten(q *api.Queue, depth int) []flatQueue {
	if q == nil {
		return nil
	}
	out := []flatQueue{{*q, depth}}
	for i := range q.Children {
		out = append(out, flatten(&q.Children[i], depth+1)...)
	}
	return out
}
