package server

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/config"
	"rmd/internal/job"
	"rmd/internal/portblock"
	"rmd/scheduler/capacity/preset"
	"rmd/transport/http/sampler"
)

// taken returns the times of a replica's samples of the cluster.
func (r *Replica) taken() (all []int64) {
	for _, s := range r.samples.Cluster(time.Now(), api.HistoryHour).Samples {
		all = append(all, s.AtMillis)
	}
	return all
}

// TestSamplesSurviveARestart checks that a replica that starts again has its samples, and that only its
// owner can read them.
func TestSamplesSurviveARestart(t *testing.T) {
	free := portblock.Open(t)
	k := config.Default()
	k.ID, k.Cluster, k.Data = "rm1", "prod", filepath.Join(t.TempDir(), "data")
	k.Raft.Listen, k.HTTP.Listen = portblock.Loopback(free.Take()), portblock.Loopback(free.Take())
	r := openAlone(t, Options{Config: k, Queues: preset.Demo()})
	soon(t, "a sample is taken", func() bool { return len(r.taken()) > 0 })
	first := r.taken()[0]
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(k.Data, samplesFile)); err != nil || st.Mode() != 0o600 {
		t.Fatalf("the file of the samples: %v, %v", st, err)
	}
	next, err := Open(Options{Config: k, Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Close() })
	soon(t, "the samples are back", func() bool { all := next.taken(); return len(all) > 0 && all[0] == first })
}

// savedSamples returns samples with a file in a new directory, and the log that they write.
func savedSamples(t *testing.T) (*samples, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return &samples{Sampler: sampler.New(time.Second), job: job.New(time.Now).Job(job.Samples),
		log:  hclog.New(&hclog.LoggerOptions{Output: log}),
		path: filepath.Join(t.TempDir(), samplesFile), cluster: func() string { return "c" }}, log
}

// TestUnusableSamples checks that a file which a replica cannot use is reported once and replaced.
func TestUnusableSamples(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(s *samples, good []byte) []byte
		reports string
	}{
		"none":  {func(*samples, []byte) []byte { return nil }, ""},
		"good":  {func(_ *samples, good []byte) []byte { return good }, ""},
		"empty": {func(*samples, []byte) []byte { return []byte{} }, sampler.ErrDamaged.Error()},
		"short": {func(_ *samples, good []byte) []byte { return good[:len(good)-1] }, sampler.ErrDamaged.Error()},
		"large": {func(_ *samples, good []byte) []byte {
			return append(good, make([]byte, sampler.SavedMost)...)
		}, sampler.ErrDamaged.Error()},
		"foreign": {func(s *samples, _ []byte) []byte { return s.Save("other") }, sampler.ErrForeign.Error()},
	} {
		s, log := savedSamples(t)
		if data := c.change(s, s.Save("c")); data != nil {
			if err := os.WriteFile(s.path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.run(ctx)
		if got := log.String(); strings.Count(got, "[WARN]") != min(len(c.reports), 1) || !strings.Contains(got, c.reports) {
			t.Errorf("%s: the log is %q", name, got)
		}
		log.Reset()
		if s.restore("c"); log.Len() > 0 {
			t.Errorf("%s: after the next save: %s", name, log)
		}
	}
}

// TestSamplesOfNoCluster checks that a replica that is in no cluster yet leaves the file alone.
func TestSamplesOfNoCluster(t *testing.T) {
	s, _ := savedSamples(t)
	s.cluster = func() string { return "" }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.run(ctx)
	if _, err := os.Stat(s.path); err == nil {
		t.Error("there is a file")
	}
}

// TestSamplesOnAFullDisk checks that a full disk keeps the old file, that the job tells it, and that the
// next save with room is enough.
func TestSamplesOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no device that is always full")
	}
	s, log := savedSamples(t)
	reg := job.New(time.Now)
	s.job = reg.Job(job.Samples)
	s.save("c")
	if err := os.Symlink("/dev/full", s.path+".tmp"); err != nil {
		t.Fatal(err)
	}
	s.save("c")
	if p := reg.Problem(); !strings.Contains(p, "samples: cannot save the samples for the plots") ||
		!strings.Contains(p, "no space left") {
		t.Errorf("the problem is %q", p)
	}
	log.Reset()
	if s.restore("c"); log.Len() > 0 {
		t.Errorf("the old file: %s", log)
	}
	if s.save("c"); reg.Problem() != "" {
		t.Errorf("with room again: %s", reg.Problem())
	}
}
