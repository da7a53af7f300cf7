package server

import (
	"time"

	"rmd/cluster"
)

// measure passes measurements of the cluster package to the metrics.
func (r *Replica) measure(what cluster.Measure, d time.Duration) {
	switch what {
	case cluster.MeasureSync:
		r.metrics.ObserveSync(d)
	case cluster.MeasureElection:
		r.metrics.CountElection()
	case cluster.MeasureSnapshot:
		r.metrics.CountSnapshot("write", "ok")
	case cluster.MeasureNoShot:
		r.metrics.CountSnapshot("write", "error")
	case cluster.MeasureInstall:
		r.metrics.CountSnapshot("install", "ok")
	}
}
