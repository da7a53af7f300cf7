//as: scheduler/capacity/tree.go

package capacity

import (
	_ "rmd/fsm/state"
	_ "rmd/scheduler" // want belongs to its root
)
