package state

import (
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Queue returns the slot of a queue by full path; 0 when there is none.
func (s *State) Queue(path string) uint32 {
	return s.byPath.find(hashString(path), func(slot uint32) bool { return s.Queues.Get(slot).Path == path })
}

// Root is the slot of the root queue; 0 before the first configuration.
func (s *State) Root() uint32 { return s.Queue("root") }

// Version is the queue configuration in force; nil before the first.
func (s *State) Version() *QueueVersion {
	if len(s.Versions) == 0 {
		return nil
	}
	return &s.Versions[len(s.Versions)-1]
}

// Kinds are the resource kinds of the configuration in force.
func (s *State) Kinds() yarn.Kinds {
	if v := s.Version(); v != nil {
		return v.Kinds
	}
	return yarn.DefaultKinds()
}

func (s *State) queuesConfigured(e *event.QueuesConfigured) error {
	if err := s.checkQueues(e); err != nil {
		return err
	}
	keep := make([]bool, s.Queues.Cap())
	children := make([][]uint32, 0, len(e.Queues))
	slots := make([]uint32, 0, len(e.Queues))
	parents := map[uint32]int{} // looked up by key only
	for _, d := range e.Queues {
		slot := s.placeQueue(d)
		if int(slot) < len(keep) {
			keep[slot] = true
		}
		parents[slot] = len(slots)
		slots, children = append(slots, slot), append(children, nil)
		if p := s.Queues.Get(slot).Parent; p != 0 {
			i := parents[p]
			children[i] = append(children[i], slot)
		}
	}
	for i, slot := range slots {
		s.Queues.mut(slot).Children = children[i]
	}
	s.dropQueues(keep)
	s.addVersion(e)
	return nil
}

// checkQueues refuses a tree that is not one, or that drops a queue in use.
func (s *State) checkQueues(e *event.QueuesConfigured) error {
	if v := s.Version(); v != nil && e.Version <= v.Version {
		return broken(e, "version %d is in force", v.Version)
	}
	if len(e.Queues) == 0 || e.Queues[0].Path != "root" {
		return broken(e, "the first queue is not root")
	}
	named := make(map[string]bool, len(e.Queues)) // looked up by key only
	for _, d := range e.Queues {
		if parent := parentPath(d.Path); parent != "" && !named[parent] {
			return broken(e, "queue %s stands before its parent", d.Path)
		}
		if slot := s.Queue(d.Path); slot != 0 && !d.Leaf && s.Queues.Get(slot).Apps() > 0 {
			return broken(e, "leaf %s with applications becomes a parent", d.Path)
		}
		named[d.Path] = true
	}
	var err error
	s.Queues.Each(func(_ uint32, q *Queue) bool {
		if !named[q.Path] && (q.Apps() > 0 || q.Containers > 0) {
			err = broken(e, "queue %s is in use", q.Path)
		}
		return err == nil
	})
	return err
}

func (s *State) placeQueue(d event.QueueDefinition) uint32 {
	slot := s.Queue(d.Path)
	if slot == 0 {
		var q *Queue
		slot, q = s.Queues.alloc()
		q.Path = d.Path
		q.Name = d.Path[strings.LastIndexByte(d.Path, '.')+1:]
		s.byPath.insert(hashString(d.Path), slot, s.hashOfQueue)
	}
	q := s.Queues.mut(slot)
	q.Parent = s.Queue(parentPath(d.Path))
	q.Leaf = d.Leaf
	q.State = d.State
	return slot
}

func (s *State) dropQueues(keep []bool) {
	for slot := range keep {
		if keep[slot] || !s.Queues.Has(uint32(slot)) {
			continue
		}
		s.byPath.remove(hashString(s.Queues.Get(uint32(slot)).Path), uint32(slot), s.hashOfQueue)
		s.Queues.release(uint32(slot))
	}
}

func (s *State) addVersion(e *event.QueuesConfigured) {
	v := QueueVersion{Version: e.Version, Kinds: e.Kinds, Dominant: e.Dominant, AtMillis: s.Meta.NowMillis, Author: e.Author, Comment: e.Comment}
	for _, p := range e.Properties {
		v.Properties = append(v.Properties, Property(p))
	}
	from := max(0, len(s.Versions)+1-maxQueueVersions)
	s.Versions = append(append([]QueueVersion(nil), s.Versions[from:]...), v)
}

func (s *State) queueStateChanged(e *event.QueueStateChanged) error {
	slot := s.Queue(e.Path)
	if slot == 0 {
		return broken(e, "no such queue")
	}
	q := s.Queues.mut(slot)
	if e.State == yarn.QueueStopped && q.Leaf && q.Apps() > 0 {
		return broken(e, "%d applications are in it", q.Apps())
	}
	q.State = e.State
	s.fold(uint64(slot))
	return nil
}

func (s *State) hashOfQueue(slot uint32) uint64 { return hashString(s.Queues.Get(slot).Path) }

func parentPath(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return path[:i]
}

// chain calls f on a queue and all its ancestors, for writing.
func (s *State) chain(queue uint32, f func(q *Queue)) {
	for slot := queue; slot != 0; {
		q := s.Queues.mut(slot)
		f(q)
		slot = q.Parent
	}
}
