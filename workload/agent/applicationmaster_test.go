package agent

import (
	"reflect"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

var small = yarn.NewResource(1024, 1)

func granted(i int, priority int32) input.Granted {
	return input.Granted{Container: container(i), Key: yarn.SchedulerKey{Priority: priority}}
}

// counts returns the total count of the asks by resource name.
func counts(in *input.Allocate) map[string]int64 {
	out := map[string]int64{}
	for _, a := range in.Asks {
		out[a.Name] += a.Count
	}
	return out
}

// TestApplicationMaster checks that an ApplicationMaster asks once, takes the wanted number of
// containers, releases surplus ones, asks again for failed ones, and is done when all have
// succeeded.
func TestApplicationMaster(t *testing.T) {
	m := NewApplicationMaster(yarn.AttemptID{Attempt: 1},
		[]Group{{Priority: 1, Count: 2, Size: small}, {Priority: 2, Count: 1, Size: small, Host: "h", Rack: "/r"}})
	m.Registered()
	in := m.Allocate()
	if got := counts(in); !reflect.DeepEqual(got, map[string]int64{yarn.Any: 3, "h": 1, "/r": 1}) {
		t.Errorf("asks %v", got)
	}
	if !m.Answered(in, &input.AllocateReply{Response: 1}) || len(m.Allocate().Asks) != 0 || m.Allocate().Response != 1 {
		t.Errorf("after the answer: %+v", m.Allocate())
	}
	for _, c := range []struct {
		g    input.Granted
		want Grant
	}{{granted(1, 1), Taken}, {granted(1, 1), Again}, {granted(2, 1), Taken}, {granted(3, 1), Surplus},
		{granted(3, 1), Again}, {granted(4, 2), Taken}, {granted(5, 9), Unasked}} {
		if got := m.Granted(c.g); got != c.want {
			t.Errorf("%+v: %d, want %d", c.g, got, c.want)
		}
	}
	if in = m.Allocate(); !reflect.DeepEqual(in.Releases, []yarn.ContainerID{container(3)}) {
		t.Errorf("gives back %v", in.Releases)
	}
	if !m.Completed(completed(1, 0)) || !m.Completed(completed(2, 1)) || !m.Completed(completed(3, 1)) ||
		m.Completed(completed(6, 1)) || m.Completed(completed(2, 1)) {
		t.Error("an end of what it knows, or of what it does not")
	}
	if got := counts(m.Allocate()); m.Done() || got[yarn.Any] != 1 || m.Left() != 2 {
		t.Errorf("asks again for %v, %d left", got, m.Left())
	}
	m.Granted(granted(7, 1))
	m.Completed(completed(7, 0))
	m.Completed(completed(4, 0))
	if !m.Done() || len(m.Held()) != 0 {
		t.Errorf("%d left, holds %v", m.Left(), m.Held())
	}
}

// TestApplicationMasterCalls checks that an answer to an old call counts only if its response id is
// the expected one, and that the next call then repeats the asks. It also checks that all asks are
// sent after a registration, and that Forget asks again for the held containers.
func TestApplicationMasterCalls(t *testing.T) {
	m := NewApplicationMaster(yarn.AttemptID{Attempt: 1}, []Group{{Priority: 1, Count: 2, Size: small}})
	m.Registered()
	first := m.Allocate()
	m.Answered(first, &input.AllocateReply{Response: 1})
	second := m.Allocate()
	m.Answered(second, &input.AllocateReply{Response: 2})
	if m.Answered(first, &input.AllocateReply{Response: 1}) || m.Response() != 2 {
		t.Error("an old answer counts")
	}
	if !m.Answered(second, &input.AllocateReply{Response: 2}) || len(m.Allocate().Asks) == 0 {
		t.Error("an old call that is answered as the newest does not lead to all asks")
	}
	m.Granted(granted(1, 1))
	m.Forget()
	m.Registered()
	if in := m.Allocate(); in.Response != 0 || counts(in)[yarn.Any] != 2 || len(m.Held()) != 0 {
		t.Errorf("start over with %+v", in)
	}
}
