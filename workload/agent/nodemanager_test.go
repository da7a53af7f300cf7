package agent

import (
	"reflect"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

func container(i int) yarn.ContainerID { return yarn.ContainerID{Attempt: 1, Number: uint64(i)} }

func running(i int) input.ContainerStatus {
	return input.ContainerStatus{Container: container(i), State: yarn.ContainerRunning}
}

func completed(i int, status int32) input.ContainerStatus {
	return input.ContainerStatus{Container: container(i), State: yarn.ContainerCompleted, ExitStatus: status}
}

func reports(t *testing.T, got []input.ContainerStatus, want ...input.ContainerStatus) {
	t.Helper()
	for i := range got {
		got[i].Diagnostics = ""
	}
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("reports %+v, want %+v", got, want)
	}
}

// TestNodeManagerReports checks that starts and ends are reported once, and again after a failed
// call, and that a registration contains the ended and all running containers.
func TestNodeManagerReports(t *testing.T) {
	var n NodeManager[string]
	if !n.Start(container(2), "two") || !n.Start(container(1), "one") || n.Start(container(1), "again") {
		t.Error("a container is not started once")
	}
	said := n.Report()
	reports(t, said, running(2), running(1))
	if p, ok := n.Exit(container(2), 0, ""); !ok || p != "two" {
		t.Errorf("Exit of the running container 2 = %q, %v; want \"two\", true", p, ok)
	}
	n.Unreported(said)
	reports(t, n.Pending(), running(2), running(1), completed(2, 0))
	reports(t, n.Registration(n.Report()), completed(2, 0), running(1))
	reports(t, n.Pending())
	if n.Start(container(2), "again") {
		t.Error("a container that ended is started")
	}
	reports(t, n.All(), running(1))
	if lost := n.Restart(); len(lost) != 1 || lost[container(1)] != "one" || len(n.Running()) != 0 ||
		!n.Ended(container(1)) {
		t.Errorf("lost %v, %v run", lost, n.Running())
	}
}

// TestNodeManagerObeys checks that Kill ends a container, and that Kill of an unknown container
// reports its end, but not twice before the next heartbeat.
func TestNodeManagerObeys(t *testing.T) {
	var n NodeManager[int]
	n.Start(container(1), 7)
	if p, ran := n.Kill(container(1)); p != 7 || !ran {
		t.Errorf("Kill of the running container 1 = %d, %v; want 7, true", p, ran)
	}
	n.Kill(container(1)) // its end is already pending
	reports(t, n.Report(), running(1), completed(1, yarn.ExitKilledByRM))
	n.Kill(container(1)) // its end was reported, and the order comes again
	n.Kill(container(2)) // the node never had it
	n.Kill(container(2))
	reports(t, n.Report(), completed(1, yarn.ExitAborted), completed(2, yarn.ExitAborted))
	if n.Start(container(2), 0) {
		t.Error("a container that was killed first is started")
	}
}

// TestNodeManagerForgets checks that the newest ended container replaces the oldest.
func TestNodeManagerForgets(t *testing.T) {
	var n NodeManager[int]
	for i := range endedMax + 10 {
		n.Start(container(i), i)
		n.Exit(container(i), 0, "")
	}
	if len(n.ended) != endedMax || n.Ended(container(9)) || !n.Ended(container(10)) {
		t.Errorf("%d are remembered", len(n.ended))
	}
}
