package exact

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/script"
)

// loadGuest builds and loads the small guest of testdata.
func loadGuest(t *testing.T) *Program {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return load(t, out)
}

func load(t *testing.T, path string) *Program {
	t.Helper()
	p, err := Load(t.Context(), path, filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestHost checks that all randomness of a guest comes from the schedule: the same schedule gives
// the same output and the same number of clock readings, another schedule gives others. It also
// checks that a guest that does not end is stopped.
func TestHost(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a guest")
	}
	p := loadGuest(t)
	call := Call{Env: [][2]string{{"WORD", "good"}}, Schedule: 1, Within: time.Minute}
	first, err := p.Run(t.Context(), call)
	if err != nil || first.Exit != 0 || !bytes.Contains(first.Output, []byte("good")) {
		t.Fatalf("%v, exit %d: %s", err, first.Exit, first.Output)
	}
	again, err := p.Run(t.Context(), call)
	if err != nil || again.Hash != first.Hash || again.Looks != first.Looks || !bytes.Equal(again.Output, first.Output) {
		t.Errorf("the same schedule gives other runs: %v\n%s%s", err, first.Output, again.Output)
	}
	call.Schedule = 2
	other, err := p.Run(t.Context(), call)
	if err != nil || other.Hash == first.Hash || bytes.Equal(other.Output, first.Output) {
		t.Errorf("another schedule gives the same run: %v\n%s%s", err, first.Output, other.Output)
	}
	call.Env[0][1] = "bad"
	if bad, err := p.Run(t.Context(), call); err != nil || bad.Exit != 3 {
		t.Errorf("a guest that exits with 3: %d, %v", bad.Exit, err)
	}
	call.Args, call.Within = []string{"forever"}, 50*time.Millisecond
	if _, err := p.Run(t.Context(), call); !errors.Is(err, ErrTooLong) {
		t.Errorf("a guest that stays: %v", err)
	}
	if _, err := (&Lab{Program: p}).Play(t.Context(), script.Script{}); !errors.Is(err, errNoOutcome) {
		t.Errorf("a guest that tells no outcome: %v", err)
	}
}

// TestSimulation checks that a seed of the whole simulation gives the same run twice, and another
// run with another schedule.
func TestSimulation(t *testing.T) {
	if os.Getenv("RMD_SIM_EXACT") == "" {
		t.Skip("it compiles the whole program for wasm: run make sim-exact-check, as CI does")
	}
	guest := filepath.Join(t.TempDir(), "sim.wasm")
	if err := Build(t.Context(), "../..", Package, guest); err != nil {
		t.Fatal(err)
	}
	lab := &Lab{Program: load(t, guest), Options: DefaultOptions()}
	lab.Options.Minutes = 1
	s, err := lab.Draw(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	s.Length = script.Duration(8 * time.Second) // an election may take some of it, and all faults must be played
	s.Faults = []script.Fault{{After: script.Duration(time.Second), Kind: "kill-leader"}, {After: script.Duration(time.Second), Kind: script.Heal},
		{After: script.Duration(time.Second), Kind: "loss", Draw: 5}}
	play := func(s script.Script) Finding {
		f, err := lab.Play(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if f.Failed() || f.Acked == 0 || len(f.Played) != len(s.Faults) {
			t.Fatalf("%s\n%s", f.Line(), f.History)
		}
		return f
	}
	first := play(s)
	s.Name, s.Story = "again", "a name changes nothing"
	if again := play(s); again.Hash != first.Hash || again.Trace != first.Trace || again.Virtual != first.Virtual {
		t.Errorf("the same script gives two runs:\n%s\n%s", first.Line(), again.Line())
	}
	s.Schedule++
	if other := play(s); other.Hash == first.Hash || other.Trace == first.Trace {
		t.Errorf("two schedules give the same run:\n%s", other.Line())
	}
}
