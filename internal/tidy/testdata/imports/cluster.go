//as: cluster/raftstore/open.go

package raftstore

import (
	"os"

	_ "github.com/hashicorp/raft"
	_ "go.etcd.io/bbolt"
	_ "rmd/yarn" // want knows no other replica
)

var _ = os.Open
