//as: scheduler/capacity/tree.go

package capacity

import (
	_ "rmd/fsm/state"
	_ "rmd/scheduler/placement" // want belongs to its root
)
