package nemesis

import (
	"context"
	"fmt"
	"time"

	"rmd/jepsen-lite/harness"
)

// Clocks returns the faults of wall clocks. Each changes the wall clock of one process; the
// process's timers continue.
func Clocks() []Fault {
	return []Fault{
		{Name: "clock-step", Kind: harness.Clock, Text: "one replica's clock jumps by 1 s to 1 h, forward or back",
			Hold: seconds(1, 8), Inject: clockStep},
		{Name: "clock-drift", Kind: harness.Clock, Text: "one replica's clock is up to a tenth too fast or too slow",
			Hold: seconds(3, 10), Inject: clockDrift},
		{Name: "clock-flicker", Kind: harness.Clock, Text: "one replica's clock jumps to and fro, several times a second",
			Inject: clockFlicker},
	}
}

// clockSteps are shorter than a day, because the idempotency table keeps calls for a day.
var clockSteps = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// drawStep draws a step of the clock, forward or back.
func (e *Env) drawStep() time.Duration {
	d := clockSteps[e.Rand.IntN(len(clockSteps))]
	if e.Rand.IntN(2) == 0 {
		d = -d
	}
	return d
}

// rightClock sets a replica's clock right again. It reports a violation if the replica has ended.
func (e *Env) rightClock(r *harness.Replica) Heal {
	return func(ctx context.Context) error {
		if !r.Running() {
			e.violated("clock", "%s ended when its clock was moved: %s", r.ID, lastLines(r.Said(4000), 5))
			return e.restart(ctx, r)
		}
		if err := r.RightClock(); err != nil {
			return err
		}
		return e.awaitBack(ctx, r)
	}
}

func clockStep(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	step := e.drawStep()
	e.recordVictims("%s by %s", []*harness.Replica{r}, r.ID, step)
	return e.rightClock(r), r.MoveClock(step, 0)
}

func clockDrift(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	drift := int64(e.Rand.IntN(201) - 100)
	e.recordVictims("%s by %d thousandths", []*harness.Replica{r}, r.ID, drift)
	return e.rightClock(r), r.MoveClock(0, drift)
}

func clockFlicker(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	rounds := 5 + e.Rand.IntN(16)
	e.recordVictims("%s, %d times", []*harness.Replica{r}, r.ID, rounds)
	for range rounds {
		if err := r.MoveClock(e.drawStep(), 0); err != nil {
			return e.rightClock(r), fmt.Errorf("after a step: %w", err)
		}
		sleep(ctx, seconds(0.02, 0.3)(e.Rand))
	}
	return e.rightClock(r), nil
}
