//as: transport/peer/mesh.go

package peer

import (
	_ "crypto/tls"

	_ "github.com/hashicorp/raft"
	_ "github.com/hashicorp/raft-boltdb/v2" // want not among the modules
	_ "rmd/leader"                          // want carries bytes
)
