package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/yarn"
)

var _ = applies((*State).attemptRecovered)

func (s *Demand) attemptRecovered(e *event.AttemptRecovered) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if !a.Open() || a.MasterNumber != 0 || a.NextNumber != 0 || !s.Meta.ForeignContainer(e.Master) ||
		e.ResourceSeconds.Negative() {
		return broken(e, "attempt is in state %d, its AM container is %d", a.AttemptState, a.MasterNumber)
	}
	s.changes.App(change.AppChanged, slot, a)
	s.setMaster(a, e.Master, 0)
	a.NextNumber, a.LaunchedMillis = e.Master, s.Meta.NowMillis
	a.ResourceSeconds = a.ResourceSeconds.Add(e.ResourceSeconds)
	s.foldResource(a.ResourceSeconds)
	return nil
}

// Recoverable reports whether a container that a node reports may have been allocated by the
// ResourceManager from which this cluster took over the application.
func (s *Demand) Recoverable(r event.ContainerRef) bool {
	app := s.Apps.Find(r.App)
	if app == 0 || !s.Meta.ForeignContainer(r.Number) || s.Container(r) != 0 {
		return false
	}
	a := s.Apps.Get(app)
	switch {
	case a.State.Ended() || r.Attempt == 0:
		return false
	case r.Attempt == a.Attempt:
		return a.Charged()
	}
	return r.Attempt < a.Attempt && a.KeepContainers
}

var _ = applies((*State).containerRecovered)

func (s *Running) containerRecovered(e *event.ContainerRecovered) error {
	if !s.Recoverable(e.Container) || !s.Nodes.Has(e.Node) || !s.Nodes.Get(e.Node).State.Usable() || e.Size.Negative() ||
		e.StartedMillis < 0 || e.StartedMillis > s.Meta.NowMillis {
		return broken(e, "no such application or node, no container of another ResourceManager, or started in the future")
	}
	app, a, err := s.Apps.Named(e, e.Container.App)
	if err != nil {
		return err
	}
	label := s.Nodes.Get(e.Node).Label
	current := e.Container.Attempt == a.Attempt
	slot := s.addContainer(app, a, Container{Attempt: e.Container.Attempt, Number: e.Container.Number, Node: e.Node,
		Key: e.Key, Size: e.Size,
		Locality: yarn.NodeLocal, AM: current && e.Container.Number == a.MasterNumber, GrantedIn: DeliveredEarlier}, label)
	c := s.Containers.Mut(slot)
	s.changeContainer(change.ContainerRecovered, slot, c)
	c.State, c.Launched, c.AllocatedMillis = yarn.ContainerRunning, true, e.StartedMillis
	if current {
		a.NextNumber = max(a.NextNumber, e.Container.Number)
	}
	if c.AM {
		s.setMaster(a, e.Container.Number, e.Node)
	}
	a.Used = a.Used.Add(e.Size)
	a.Live++
	s.charge(a, label, e.Size, yarn.Resource{}, 1)
	s.occupy(e.Node, slot)
	s.Queues.TallyAllocated(&s.Meta, a, 0)
	s.foldResource(e.Size)
	s.fold(uint64(e.StartedMillis))
	return nil
}

var _ = applies((*State).nodeApplicationRecovered)

func (s *Cluster) nodeApplicationRecovered(e *event.NodeApplicationRecovered) error {
	app, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.State.Ended() || !s.Nodes.Has(e.Node) || !s.Nodes.Get(e.Node).NodeManager ||
		s.NodeApplications.Find(a.ID, e.Node) != 0 {
		return broken(e, "it is %s, or the node keeps nothing", a.State)
	}
	s.NodeApplications.Track(&s.Meta, app, a, e.Node, s.Nodes.Mut(e.Node))
	return nil
}
