// Package nodelabel has the labels of nodes: which there are, which nodes have one, and which asks they
// serve.
package nodelabel

import "rmd/yarn"

// Labels are the labels of the cluster and of its nodes.
type Labels struct {
	Exclusive map[string]bool        // of the current labels
	Known     map[string]bool        // current and removed labels
	Hosts     map[yarn.NodeID]string // labels of nodes (host and port) and of hosts (port 0)
}

// New returns no labels.
func New() Labels {
	return Labels{Exclusive: map[string]bool{}, Known: map[string]bool{}, Hosts: map[yarn.NodeID]string{}}
}

// Of returns the label of a node: its own, otherwise that of its host.
func (l *Labels) Of(id yarn.NodeID) string {
	if label, ok := l.Hosts[id]; ok {
		return label
	}
	return l.Hosts[yarn.NodeID{Host: id.Host}]
}

// Lends reports whether nodes of a label also serve asks without one.
func (l *Labels) Lends(label string) bool {
	exclusive, listed := l.Exclusive[label]
	return listed && !exclusive
}

// Serves reports whether nodes with the label node serve asks with the label asked.
func (l *Labels) Serves(node, asked string) bool {
	return asked == node || asked == "" && l.Lends(node)
}

// Remove removes a label. Its nodes have none then.
func (l *Labels) Remove(name string) {
	delete(l.Exclusive, name)
	for id, label := range l.Hosts {
		if label == name {
			l.Hosts[id] = ""
		}
	}
}

// Give gives a node a label, or, with the port 0, all nodes of a host.
func (l *Labels) Give(id yarn.NodeID, label string) {
	if id.Port == 0 {
		for other := range l.Hosts {
			if other.Host == id.Host {
				delete(l.Hosts, other)
			}
		}
	}
	l.Hosts[id] = label
}
