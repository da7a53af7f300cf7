package sim

import "time"

// usage returns zeros: an exact run has only virtual time.
func usage() (cpu time.Duration, memory int64) { return 0, 0 }
