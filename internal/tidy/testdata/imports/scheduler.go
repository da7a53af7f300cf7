//as: scheduler/plan.go

package scheduler

import (
	_ "rmd/leader" // want compute the same
	_ "rmd/scheduler/capacity"
)
