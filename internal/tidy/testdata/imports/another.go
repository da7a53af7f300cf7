//as: scheduler/another/tree.go

package another

import (
	_ "rmd/fsm/state"
	_ "rmd/scheduler" // want belongs to its root
)
