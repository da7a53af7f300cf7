package leader

import "sync/atomic"

// The stages of a leadership.
const (
	stageNone uint32 = iota
	stageBegins
	stagePlans
	stageWaits
	stageEnds
)

// stageTexts says what hangs if a stage does not end.
var stageTexts = [...]string{
	stageBegins: "the sequencer cannot begin the leadership",
	stagePlans:  "the sequencer hangs while it plans",
	stageWaits:  "a batch of the sequencer is not applied",
	stageEnds:   "the sequencer cannot end an earlier leadership",
}

// progress shows other goroutines whether a leadership gets on.
type progress struct {
	done  atomic.Uint64
	stage atomic.Uint32
}

// turned records that the loop of a leadership has turned. While a batch is in flight, only its end
// is progress, since the loop turns with each tick.
func (p *progress) turned(inflight int) {
	if inflight > 0 {
		p.stage.Store(stageWaits)
		return
	}
	p.stage.Store(stagePlans)
	p.done.Add(1)
}

// Progress returns a number that changes while a leadership gets on, and what hangs if the number
// does not change. hangs is empty while there is no leadership. Progress never blocks.
func (s *Sequencer) Progress() (done uint64, hangs string) {
	return s.progress.done.Load(), stageTexts[s.progress.stage.Load()]
}

// Begins reports whether a leadership is about to begin. It waits until everything in the log is
// applied.
func (s *Sequencer) Begins() bool { return s.progress.stage.Load() == stageBegins }
