package tracker

import (
	"time"

	"rmd/transport/hadoop/proto"
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
	return u, ss.beaten
}

// LogReport is a node's progress in the aggregation of an application's logs.
type LogReport struct {
	App         yarn.ApplicationID
	Status      proto.LogAggregationStatusProto
	Diagnostics string
}

// logReportsMax limits the stored reports of one node.
const logReportsMax = 200

// LogReports returns the log aggregation reports of a node connected to this replica, the newest
// last.
func (s *Service) LogReports(id yarn.NodeID) []LogReport {
	ss := s.session(id)
	if ss == nil {
		return nil
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return append([]LogReport(nil), ss.logs...)
}

// LogStatus returns the reports of all connected nodes about one application's logs.
func (s *Service) LogStatus(app yarn.ApplicationID) map[yarn.NodeID]LogReport {
	out := map[yarn.NodeID]LogReport{}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, ss := range s.sessions { // the order does not matter
		ss.mu.Lock()
		for i := range ss.logs {
			if ss.logs[i].App == app {
				out[id] = ss.logs[i]
			}
		}
		ss.mu.Unlock()
	}
	return out
}

// note adds reports. A new report replaces the one of the same application. If there are too many,
// the oldest are dropped.
func note(have, said []LogReport) []LogReport {
	for _, r := range said {
		for i := range have {
			if have[i].App == r.App {
				have = append(have[:i], have[i+1:]...)
				break
			}
		}
		have = append(have, r)
	}
	if over := len(have) - logReportsMax; over > 0 {
		have = append([]LogReport(nil), have[over:]...)
	}
	return have
}
