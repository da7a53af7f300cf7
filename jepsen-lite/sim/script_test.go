package sim

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/script"
)

// outcomeMark is the prefix of the line that the host looks for.
const outcomeMark = "outcome "

// TestScript plays the script that RMD_SIM_SCRIPT names or contains. With RMD_SIM_TELL=outcome it
// prints the outcome for the host of an exact run. With RMD_SIM_TELL=draw it only prints the script
// that the seed stands for.
func TestScript(t *testing.T) {
	tell := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s%s\n", outcomeMark, b)
	}
	if os.Getenv("RMD_SIM_TELL") == "draw" {
		list, opt := seeds(t)
		tell(Draw(list[0], opt))
		return
	}
	text := os.Getenv("RMD_SIM_SCRIPT")
	if text == "" {
		t.Skip("RMD_SIM_SCRIPT names no script")
	}
	s := scriptOf(t, text)
	res := Play(t, s)
	if os.Getenv("RMD_SIM_TELL") == "outcome" {
		o := res.Outcome()
		o.Script = script.Script{}
		tell(o)
		return
	}
	t.Logf("%s: trace %s of %d steps, %s of cluster time, %d acked", s.Name, res.trace, res.trace.steps, res.Virtual, res.counts.acked)
	if len(res.Violations) > 0 {
		t.Errorf("%s\n%s", res.Settings, tail(res.History, historyOut))
	}
}

func scriptOf(t *testing.T, text string) script.Script {
	t.Helper()
	s, err := script.Decode([]byte(text))
	if !strings.HasPrefix(text, "{") {
		s, err = script.Read(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plays is how often TestCorpus plays a script. In a native run, each play has another schedule.
const plays = 4

// TestCorpus plays every script that once found a bug. None of them may find a violation now.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../corpus/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in the corpus: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			s, err := script.Read(f)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name+".json" != filepath.Base(f) || s.Story == "" || s.Found == "" || s.Invariant == "" {
				t.Errorf("a script in the corpus has the name of its file, a story, where it was found and an invariant; this one: %q, %q, %q, %q",
					s.Name, s.Story, s.Found, s.Invariant)
			}
			for range plays {
				if res := Play(t, s); len(res.Violations) > 0 {
					t.Fatalf("%s\n%s", res.Settings, tail(res.History, historyOut))
				}
			}
		})
	}
}

// TestDraw checks that a seed always gives the same script, that a script survives encoding, and
// that a script has all settings of the cluster.
func TestDraw(t *testing.T) {
	kinds := map[string]int{}
	for seed := range int64(200) {
		s := Draw(seed, DefaultOptions())
		if err := Check(s); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := script.Decode(b)
		if err != nil || !reflect.DeepEqual(s, again) || !reflect.DeepEqual(s, Draw(seed, DefaultOptions())) {
			t.Fatalf("seed %d is read back as another script: %v\n%s", seed, err, b)
		}
		for _, f := range s.Faults {
			kinds[f.Kind]++
		}
		set := drawSettings(rand.New(rand.NewSource(seed)))
		if got := read(written(set)); !reflect.DeepEqual(got, set) {
			t.Errorf("settings %+v come back as %+v", set, got)
		}
	}
	if len(kinds) != len(allKinds()) {
		t.Errorf("%d kinds were drawn of %d", len(kinds), len(allKinds()))
	}
	var all settings
	v := reflect.ValueOf(&all).Elem()
	if c := reflect.TypeFor[script.Cluster](); c.NumField() != v.NumField() {
		t.Errorf("a script has %d settings of the cluster, package sim has %d", c.NumField(), v.NumField())
	}
}

// allKinds returns all kinds of steps.
func allKinds() []string {
	out := []string{script.Heal}
	for _, k := range kinds() {
		out = append(out, k.name)
	}
	return out
}

// TestPlayed checks that a script is played step by step, at its times.
func TestPlayed(t *testing.T) {
	s := Draw(1, Options{Profile: "calm"})
	second := script.Duration(time.Second)
	s.Length = 10 * second
	s.Faults = []script.Fault{{After: 2 * second, Kind: "kill"}, {After: second, Kind: script.Heal}, {After: 3 * second, Kind: "pause", Draw: 7},
		{After: 9 * second, Kind: "kill"}}
	res := Play(t, s)
	if len(res.Violations) > 0 {
		t.Fatalf("the script leads to violations %q: %s", res.Violations, res.History)
	}
	if len(res.played) != 3 || res.played[0].At != 2*second || res.played[1].At < 3*second || res.played[2].Kind != "pause" || res.played[2].Took < second/10 {
		t.Errorf("played: %+v", res.played)
	}
	if res.kinds["kill"] != 1 || res.trace.steps == 0 || res.brokeAt != 0 {
		t.Errorf("kinds %v, %d steps, broke at %s", res.kinds, res.trace.steps, res.brokeAt)
	}
	if err := Check(script.Script{}); err == nil {
		t.Error("an empty script is taken")
	}
	s.Faults[0].Kind = "flood"
	if err := Check(s); err == nil || !strings.Contains(err.Error(), "flood") {
		t.Errorf("an unknown kind: %v", err)
	}
}
