//as: cluster/join.go

package cluster
