package replica

import (
	"context"
	"strings"
	"time"

	"rmd/api"
)

// key does what a key of the screen asks for. It returns true if the command must end.
func (s *summary) key(ctx context.Context, k byte) (end bool) {
	switch k {
	case 'q', 'Q', 3, 4: // in raw mode, Ctrl-C and Ctrl-D arrive as characters
		return true
	case 'k':
		s.killLeader(ctx)
	case 'b':
		s.bringBack()
	case 'n':
		s.switchNode()
	case 'j':
		s.submitLarge(1)
	case 'w':
		s.pages = !s.pages
	case 27: // Esc
		s.pages = false
	}
	return false
}

// killLeader starts a kill, unless one is being measured.
func (s *summary) killLeader(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return
	}
	s.busy, s.note = true, "" // the last kill stays until the next one happens: this one may be refused
	reserve := s.reserve
	if s.job != nil && !s.job.began && !s.job.ended { // it may reserve a node yet: another one would wait behind it
		reserve = func() { s.say("nothing is reserved yet: before the kill, job %s may reserve a node", largeJobName) }
	}
	go func() {
		err := s.d.killLeader(ctx, reserve, s.told)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
		if err != nil {
			s.note = "not killed: " + err.Error()
			return
		}
		s.due = time.Now().Add(lostWithin)
	}()
}

// submitLarge submits a job whose containers need a whole node each.
func (s *summary) submitLarge(containers int) {
	s.d.work.Control.Submit(s.d.largeJob(containers))
	j := &devJob{queue: s.d.largeQueue, since: s.began.UnixMilli()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job = j
}

// reserve submits such a job before a kill, so that the leader has a promise that its death could break.
// Not all nodes are free for as many containers.
func (s *summary) reserve() {
	s.submitLarge(len(s.d.work.Nodes))
	s.say("nothing was reserved: k has submitted job %s first, as j does", largeJobName)
}

// told records what is known about a kill.
func (s *summary) told(k devKill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.led == 0 && k.gap == 0 && k.err == nil { // the kill itself
		s.killed, s.lost, s.due = time.Now(), s.work.Lost, time.Now().Add(killPatience)
	}
	k.lost = s.work.Lost - s.lost
	s.kill = &k
}

// bringBack starts the replicas that do not run.
func (s *summary) bringBack() {
	var ids []string
	for _, r := range s.d.replicas.down() {
		if err := r.start(); err != nil {
			s.say("replica %s does not start: %v", r.id, err)
			return
		}
		ids = append(ids, r.id)
	}
	if len(ids) == 0 {
		s.say("all replicas run")
		return
	}
	s.say("%s starts again with its disk", strings.Join(ids, " and "))
}

// switchNode takes the power from the last node, or gives it back.
func (s *summary) switchNode() {
	nodes := s.d.work.Nodes
	if s.down != "" {
		s.d.work.Control.StartNode(s.down)
		s.say("%s starts again, without containers", s.down)
		s.down = ""
		return
	}
	s.down = nodes[len(nodes)-1].Name
	s.d.work.Control.StopNode(s.down)
	s.say("%s has no power: lost after %s without a heartbeat; n: power on", s.down, devNodeExpiry)
}

// stillAlive says that the figures count the node without power: the cluster does not know of it yet.
func stillAlive(t api.Totals) string {
	if t.UsableNodes < t.Nodes {
		return ""
	}
	return ", counted as alive until it is lost"
}
