package record

import "rmd/yarn"

// Relabelling sums what each application uses and reserves on nodes that move from one partition to
// another. Each application is then charged once per pair of partitions, not once per node.
type Relabelling struct {
	sums []Relabelled
	at   map[relabelledKey]int // index in sums; looked up by key only
}

// Relabelled is what an application uses and reserves on the nodes that move between two partitions.
type Relabelled struct {
	relabelledKey
	Used, Reserved yarn.Resource
}

type relabelledKey struct {
	App      AppSlot
	From, To LabelSlot
}

// Add adds what an application uses and reserves on a node.
func (r *Relabelling) Add(app AppSlot, from, to LabelSlot, used, reserved yarn.Resource) {
	k := relabelledKey{app, from, to}
	i, ok := r.at[k]
	if !ok {
		if r.at == nil {
			r.at = map[relabelledKey]int{}
		}
		i = len(r.sums)
		r.at[k] = i
		r.sums = append(r.sums, Relabelled{relabelledKey: k})
	}
	m := &r.sums[i]
	m.Used, m.Reserved = m.Used.Add(used), m.Reserved.Add(reserved)
}

// Sums returns the sums in the order in which they were begun.
func (r *Relabelling) Sums() []Relabelled { return r.sums }
