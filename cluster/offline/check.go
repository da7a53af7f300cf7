package offline

import (
	"errors"
	"io"

	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
)

// Report is what Check found in a data directory.
type Report = raftstore.Report

// Check reads a data directory that no process uses, and changes nothing. With verify it also reads
// the content of the snapshots. If it returns an error, the report covers what was read before.
func Check(dataDir string, verify func(io.Reader) error) (Report, error) {
	rep, err := raftstore.Check(dataDir, verify)
	return rep, offlineRefusal(dataDir, err)
}

// offlineRefusal tells an operator what to do when a data directory cannot be opened offline.
func offlineRefusal(dataDir string, err error) error {
	switch {
	case errors.Is(err, raftstore.ErrInUse):
		return refusal.New(refusal.InUse, "stop rmd first", "%s is in use by another process", dataDir)
	case errors.Is(err, raftstore.ErrNoData):
		return refusal.New(refusal.NoSuchData, "use the value of data in rmd.yaml", "%v", err)
	}
	return err
}
