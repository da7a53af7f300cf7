package twin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Flags are the settings of Run.
type Flags struct {
	Cache        string // folder of interop/fetch
	First, Seeds uint64
	Families     []string // nil means all
	Labels       bool     // the histories have node labels
	Preemption   bool     // the histories have rounds of preemption
	Eager        bool     // the histories compare the amounts of rmd's eager mode
	History      *History // play only this one, if not nil
	Out          string   // folder for histories that differ
	Show         int      // how many of those are shrunk
	For          time.Duration
	Parallel     int
}

// Run plays histories on both schedulers. It returns how many of them have an unintended
// difference.
func Run(f Flags, out io.Writer) (int, error) {
	if f.History != nil {
		f.Parallel = 1
	}
	r := &runner{Flags: f, out: out, next: f.First, began: time.Now(), intended: tally{}}
	if f.For > 0 && f.Seeds == 0 {
		r.Seeds = 1 << 40
	}
	var wait sync.WaitGroup
	errs := make(chan error, f.Parallel)
	for range f.Parallel {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs <- r.work()
		}()
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return 0, err
		}
	}
	r.summary()
	return r.differing, nil
}

// scheduler plays histories: Hadoop, except in tests.
type scheduler interface {
	Play(*History) ([]Observation, error)
}

type runner struct {
	Flags
	out   io.Writer
	began time.Time

	sync.Mutex
	next                       uint64
	histories, steps, compared int
	differing                  int
	shown                      int
	intended                   tally
}

// work plays histories with one JVM.
func (r *runner) work() error {
	hadoop, err := StartHadoop(r.Cache)
	if err != nil {
		return err
	}
	defer hadoop.Close()
	if r.History != nil {
		rmd, err := Play(r.History)
		return r.judge(hadoop, r.History, rmd, err)
	}
	for {
		r.Lock()
		seed := r.next
		r.next++
		r.Unlock()
		if seed >= r.First+r.Seeds || (r.For > 0 && time.Since(r.began) > r.For) {
			return nil
		}
		h, rmd, err := r.generate(seed)
		if err := r.judge(hadoop, h, rmd, err); err != nil {
			return err
		}
	}
}

func (r *runner) generate(seed uint64) (*History, []Observation, error) {
	if r.Eager {
		return GenerateQuiet(seed)
	}
	return Generate(seed, r.Families, r.Labels, r.Preemption)
}

// judge plays a history on Hadoop's scheduler and compares the result with that of rmd's planner.
func (r *runner) judge(hadoop scheduler, h *History, rmd []Observation, broken error) error {
	theirs, err := hadoop.Play(h)
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	r.Lock()
	r.histories++
	r.steps += len(h.Steps)
	for _, o := range rmd {
		r.compared += len(o)
	}
	r.intended.add(theirs)
	r.Unlock()
	d := Compare(h, rmd, theirs)
	if d == nil && broken == nil {
		return nil
	}
	r.Lock()
	r.differing++
	show := r.shown < r.Show
	if show {
		r.shown++
	}
	r.Unlock()
	if broken != nil {
		fmt.Fprintf(r.out, "== %s: %v\n%s", h.Name, broken, h)
		return nil
	}
	if !show {
		fmt.Fprintf(r.out, "== %s differs: %s\n", h.Name, first(d))
		return nil
	}
	rmdAgain, err := Play(h)
	if err != nil {
		return fmt.Errorf("%s, played again: %w", h.Name, err)
	}
	theirsAgain, err := hadoop.Play(h)
	if err != nil {
		return fmt.Errorf("%s, played again: %w", h.Name, err)
	}
	again := Compare(h, rmdAgain, theirsAgain)
	switch {
	case again != nil:
		return r.minimize(hadoop, h, again)
	case Compare(h, rmd, rmdAgain) != nil:
		return r.differedOnce(h, d, "rmd's planner")
	default:
		return r.differedOnce(h, d, "Hadoop's scheduler")
	}
}

// minimize prints and keeps the smallest history that differs in the same way.
func (r *runner) minimize(hadoop scheduler, h *History, found *Difference) error {
	var failed error
	small, d := Shrink(h, found, func(h *History) *Difference {
		if failed != nil {
			return nil
		}
		rmd, err := Play(h)
		if err != nil {
			return nil
		}
		theirs, err := hadoop.Play(h)
		if err != nil {
			failed = err
			return nil
		}
		return Compare(h, rmd, theirs)
	})
	report := d.Report(small)
	fmt.Fprintf(r.out, "== %s differs\n%s", h.Name, report)
	return errors.Join(failed, r.keep(h.Name, report))
}

// differedOnce prints and keeps a history that did not differ when it was played again. The
// scheduler whose observations changed does not decide by the history alone.
func (r *runner) differedOnce(h *History, d *Difference, whose string) error {
	report := fmt.Sprintf("%s# It did not differ when it was played again: %s held something else then.\n",
		d.Report(h), whose)
	fmt.Fprintf(r.out, "== %s differs once\n%s", h.Name, report)
	return r.keep(h.Name, report)
}

func first(d *Difference) string {
	for _, l := range [][]string{d.Rmd, d.Hadoop} {
		if len(l) > 0 {
			return l[0]
		}
	}
	return ""
}

// keep writes a history that differs to a file that -file can play.
func (r *runner) keep(name, report string) error {
	if r.History != nil {
		return nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, filepath.Base(name)+".txt"), []byte(report), 0o644)
}

func (r *runner) summary() {
	seconds := time.Since(r.began).Seconds()
	fmt.Fprintf(r.out, "twin: %d histories, %d steps, %d lines compared, %d differ; %.0f s, %.0f histories/s\n",
		r.histories, r.steps, r.compared, r.differing, seconds, float64(r.histories)/seconds)
	r.intended.write(r.out)
}
