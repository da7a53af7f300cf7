package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/atomicfile"
	"rmd/internal/job"
	"rmd/internal/sleep"
	"rmd/transport/http/sampler"
)

// samples keeps this replica's samples in a file of the data directory, so that its plots survive a
// restart. They are the replica's own observation: no other replica needs them, and a replica works as
// well without. So nothing waits for the file, and an unusable one is replaced.
type samples struct {
	*sampler.Sampler
	job  *job.Job
	log  hclog.Logger
	path string
	// cluster returns the id of the replica's cluster, or "" as long as it is not known.
	cluster func() string
}

const (
	samplesFile  = "samples.bin"
	samplesEvery = 5 * time.Minute
)

func (r *Replica) newSamples(of *sampler.Sampler) *samples {
	return &samples{Sampler: of, job: r.jobs.Job(job.Samples), log: r.log.Named("samples"),
		path:    filepath.Join(r.opt.Config.Data, samplesFile),
		cluster: func() string { st, _ := r.machine.Fork(); return st.Meta.ClusterID }}
}

// run restores the samples as soon as the cluster is known, then saves them again and again, and once
// more when the context ends.
func (s *samples) run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil { // plots must not stop the replica
			_ = s.job.Done(fmt.Errorf("a fault of the program, see the log: %v", p))
			s.log.Error("the samples are not saved any more", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	cluster := s.cluster()
	for ; cluster == ""; cluster = s.cluster() {
		if !sleep.For(ctx, time.Second) {
			return // the file may be of the cluster that this replica does not know yet
		}
	}
	s.restore(cluster)
	for sleep.For(ctx, samplesEvery) {
		s.save(cluster)
	}
	s.save(cluster)
}

// restore reads the file. A replica without a usable one begins with no samples.
func (s *samples) restore(cluster string) {
	data, err := s.read()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = s.Restore(data, cluster)
	}
	if err != nil {
		s.log.Warn("the saved samples are not used; new ones begin", "file", s.path, "error", err)
	}
}

// read reads the file, but no other file that is larger than samples can be.
func (s *samples) read() ([]byte, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, sampler.SavedMost))
}

// save replaces the file.
func (s *samples) save(cluster string) {
	if err := s.job.Done(atomicfile.Write(s.path, s.Save(cluster))); err != nil {
		s.log.Warn("the samples are not saved", "error", err)
	}
}
