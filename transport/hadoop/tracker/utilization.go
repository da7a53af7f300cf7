package tracker

import (
	"time"

	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Usage is what is in use of a node, by its own measure.
type Usage struct {
	MemoryMB, VirtualMB int32
	CPU                 float32 // in cores
}

// Opportunistic counts a node's opportunistic containers. This ResourceManager
// grants none.
type Opportunistic struct {
	Running             int32
	MemoryMB            int64
	VCores              int32
	Queued, WaitQueue   int32
	EstimatedWaitMillis int32
	QueueCapacity       int32
}

// Utilization is what a node last said of the use of its machine.
type Utilization struct {
	// Containers is what its containers use, Node what everything does.
	Containers, Node Usage
	Opportunistic    Opportunistic
	// Age is how long ago it said so.
	Age time.Duration
}

// Utilization returns what a node that is connected here last said; false when
// there is no such node.
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

// LogReport is how far a node is with the collection of an application's logs.
type LogReport struct {
	App         yarn.ApplicationID
	Status      proto.LogAggregationStatusProto
	Diagnostics string
}

// logReportsMax bounds the reports that are kept of one node.
const logReportsMax = 200

// LogReports returns the newest log aggregation reports of a node that is
// connected here, the latest last.
func (s *Service) LogReports(id yarn.NodeID) []LogReport {
	ss := s.session(id)
	if ss == nil {
		return nil
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return append([]LogReport(nil), ss.logs...)
}

// LogStatus returns what the nodes that are connected here last said of the
// collection of one application's logs.
func (s *Service) LogStatus(app yarn.ApplicationID) map[yarn.NodeID]LogReport {
	out := map[yarn.NodeID]LogReport{}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, ss := range s.sessions { // into a map
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

// note takes in log aggregation reports: a newer one of an application takes the
// place of the one before; the oldest go when there are too many.
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
