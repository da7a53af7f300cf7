//as: transport/http/v1/node.go

package v1

import (
	_ "rmd/cluster" // want declare the small interface
	_ "rmd/fsm/state"
	_ "rmd/leader"    // want declare the small interface
	_ "rmd/scheduler" // want must not import
	_ "rmd/scheduler/capacity"
)
