//as: cluster/open.go

package cluster

import (
	"os"

	_ "github.com/hashicorp/raft"
	_ "go.etcd.io/bbolt"
	_ "rmd/yarn" // want knows nothing of YARN
)

var _ = os.Open
