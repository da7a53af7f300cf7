package tracker

import (
	"time"

	"rmd/yarn"
)

// Usage is the usage of a node as the node measures it.
type Usage struct {
	MemoryMB, VirtualMB int32
	CPU                 float32 // in cores
}

// Opportunistic has a node's numbers of opportunistic containers. rmd grants none.
type Opportunistic struct {
	Running             int32
	MemoryMB            int64
	VCores              int32
	Queued, WaitQueue   int32
	EstimatedWaitMillis int32
	QueueCapacity       int32
}

// Utilization is the usage in a node's last heartbeat.
type Utilization struct {
	// Containers is the usage of the node's containers, and Node that of the whole machine.
	Containers, Node Usage
	Opportunistic    Opportunistic
	// Age is the time since that heartbeat.
	Age time.Duration
}

// Utilization returns the usage in the last heartbeat of a node connected to this replica. It
// returns false if there is none.
func (s *Service) Utilization(id yarn.NodeID) (Utilization, bool) {
	ss := s.session(id)
	if ss == nil {
		return Utilization{}, false
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	u := ss.use
	u.Age = s.now() - ss.lastHeartbeat
	return u, ss.hasHeartbeat
}
