package mixed

import (
	"fmt"
	"math"
)

// Config configures the generator.
type Config struct {
	Seed      int64
	Nodes     int     // number of nodes with NodeMemoryMB, NodeVCores and NodeGPUs
	Load      float64 // requested share of the cluster's GPU time
	TimeScale float64 // factor for run times and for gaps between arrivals, so Load does not change
}

// DefaultConfig returns the configuration for four nodes.
func DefaultConfig() Config { return Config{Seed: 1, Nodes: 4, Load: 0.6, TimeScale: 1} }

// Validate returns an error if a field is out of bounds.
func (c Config) Validate() error {
	switch {
	case c.Nodes < 1 || c.Nodes > 1_000_000:
		return fmt.Errorf("mixed workload: %d nodes; expected 1 to 1000000", c.Nodes)
	case math.IsNaN(c.Load) || c.Load < 0.01 || c.Load > 10:
		return fmt.Errorf("mixed workload: load %v; expected 0.01 to 10", c.Load)
	case math.IsNaN(c.TimeScale) || c.TimeScale < 0.001 || c.TimeScale > 100_000:
		return fmt.Errorf("mixed workload: time scale %v; expected 0.001 to 100000", c.TimeScale)
	}
	return nil
}
