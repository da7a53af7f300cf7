package main

import (
	"flag"
	"time"
)

// costs has CPU times on one core, and other parameters of rmd. flags names the benchmark behind
// each.
type costs struct {
	decision, launch, tell, input, heard, noted time.Duration // of the planner
	apply, copyEvent, copyTouched, view         time.Duration
	entry, store, send, hop                     time.Duration
	beat, forward                               time.Duration
	messages, forwarded                         time.Duration

	batchEvents, maxInFlight int
	eventBytes, messageBytes int
}

// flags declares a flag for each cost, with its default and the source of the default.
func (c *costs) flags(f *flag.FlagSet) {
	us := func(n float64) time.Duration { return time.Duration(n * float64(time.Microsecond)) }
	f.DurationVar(&c.decision, "decision", us(2.3),
		"`cost` to plan that a container is allocated or completed: BenchmarkPlanGrowth with 50,000 nodes")
	f.DurationVar(&c.launch, "launch", us(0.55),
		"`cost` to plan that a container has started: a profile of the leader in BenchmarkHadoopContainers, less what is above and below")
	f.DurationVar(&c.tell, "tell", us(0.4),
		"`cost` to plan, and again to apply, that an ApplicationMaster is told of an end: the same profile (responseRecorded)")
	f.DurationVar(&c.input, "input", us(1),
		"`cost` to plan a call that decides nothing: BenchmarkPlanGrowth with 100,000 applications")
	f.DurationVar(&c.heard, "heard", us(0.15), "`cost` to plan an idle heartbeat: BenchmarkHeartbeat")
	f.DurationVar(&c.noted, "noted", us(1),
		"`cost` to the leader, on any core, of an idle heartbeat that a follower answers: BenchmarkHadoopHeartbeats, what it uses more than a follower")
	f.DurationVar(&c.apply, "apply", us(0.74), "`cost` to apply an event: BenchmarkGrowth with 1,000,000 containers")
	f.DurationVar(&c.copyEvent, "copy", us(2.5),
		"`cost` to copy pages for one event after a fork; for n events n to the 2/3 times as much: a profile of BenchmarkHadoopReports")
	f.DurationVar(&c.copyTouched, "copy-touched", us(10),
		"the same for each node or application that an entry changes: BenchmarkForkedApply, less BenchmarkApply")
	f.DurationVar(&c.view, "view", us(300),
		"`cost` of a new entry of 300 events or more to all who read the state of a replica: BenchmarkHadoopContainers with entries of 1,000 events beside 4,000")
	f.DurationVar(&c.entry, "entry", us(50),
		"`cost` to store an entry, without its syncs: BenchmarkBolt with one event, less BenchmarkSyncs")
	f.DurationVar(&c.store, "store", us(0.1),
		"`cost` to store an event: BenchmarkBolt with 4,000 events, less one with one")
	f.DurationVar(&c.send, "send", us(30), "`cost` to send an entry to one follower: a profile of BenchmarkHadoopReports")
	f.DurationVar(&c.hop, "hop", us(20), "`cost` of one goroutine that wakes another: BenchmarkAsk, less the parts above")
	f.DurationVar(&c.beat, "heartbeat", us(10.4),
		"`cost` of an idle heartbeat, or of another call's frames: BenchmarkHadoopHeartbeats, less what the leader needs")
	f.DurationVar(&c.forward, "forward", us(6), "`cost` to forward a call, on both sides: BenchmarkForward")
	f.DurationVar(&c.messages, "messages", us(6),
		"`cost` of the messages of a container's life: BenchmarkHadoopContainers, less the parts above")
	f.DurationVar(&c.forwarded, "forwarded", us(1.1),
		"`cost` to the leader of a container's life whose messages a follower forwards: the same profile")
	f.IntVar(&c.batchEvents, "batch", 4000, "`events` of an entry at most: leader/config.go")
	f.IntVar(&c.maxInFlight, "in-flight", 1, "`entries` in flight at most: leader/config.go")
	f.IntVar(&c.eventBytes, "event-bytes", 9, "`bytes` of an event in the log: BenchmarkBolt")
	f.IntVar(&c.messageBytes, "message-bytes", 800,
		"`bytes` of the messages of a container's life on all links: process_network_transmit_bytes_total of the same run")
}
