package twin

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Flags say what Run plays.
type Flags struct {
	Cache        string // of interop/fetch
	First, Seeds uint64
	Families     []string // nil: all
	Labels       bool     // the histories have node labels
	History      *History // this alone, when there is one
	Out          string   // folder for histories that differ
	Show         int      // how many of those are made smaller
	For          time.Duration
	Parallel     int
}

// Run plays histories into both schedulers, and says how many differ though they should not.
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

// work is one JVM's share of the histories.
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
		h, rmd, err := Generate(seed, r.Families, r.Labels)
		if err := r.judge(hadoop, h, rmd, err); err != nil {
			return err
		}
	}
}

// judge plays a history that rmd has played already into Hadoop's scheduler.
func (r *runner) judge(hadoop *Hadoop, h *History, rmd []Observation, broken error) error {
	theirs, err := hadoop.Play(h)
	if err != nil {
		return err
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
	var failed error
	small, d := Shrink(h, func(h *History) *Difference {
		rmd, err := Play(h)
		if err != nil || failed != nil {
			return nil
		}
		theirs, err := hadoop.Play(h)
		if err != nil {
			failed = err
			return nil
		}
		return Compare(h, rmd, theirs)
	})
	if failed != nil {
		return failed
	}
	fmt.Fprintf(r.out, "== %s differs\n%s", h.Name, d.Report(small))
	return r.keep(small, d)
}

func first(d *Difference) string {
	for _, l := range [][]string{d.Rmd, d.Hadoop} {
		if len(l) > 0 {
			return l[0]
		}
	}
	return ""
}

// keep writes a history that differs to a file, from where -file plays it again.
func (r *runner) keep(h *History, d *Difference) error {
	if r.History != nil {
		return nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	name := filepath.Join(r.Out, filepath.Base(h.Name)+".txt")
	return os.WriteFile(name, []byte(d.Report(h)), 0o644)
}

func (r *runner) summary() {
	seconds := time.Since(r.began).Seconds()
	fmt.Fprintf(r.out, "twin: %d histories, %d steps, %d lines compared, %d differ; %.0f s, %.0f histories/s\n",
		r.histories, r.steps, r.compared, r.differing, seconds, float64(r.histories)/seconds)
	r.intended.write(r.out)
}
