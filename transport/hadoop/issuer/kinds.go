package issuer

import (
	"rmd/transport/hadoop/token"
)

// The kinds of tokens that a ResourceManager renews, with token.KindTimeline. That of the
// ResourceManager's own is token.KindDelegation.
const (
	kindHDFS     = "HDFS_DELEGATION_TOKEN"
	kindWebHDFS  = "WEBHDFS delegation"
	kindSWebHDFS = "SWEBHDFS delegation"
	kindKMS      = "kms-dt"
	kindHistory  = "MR_DELEGATION_TOKEN"
)

// Managed reports whether a ResourceManager renews tokens of a kind. It includes the
// ResourceManager's own, token.KindDelegation, which Services does not know.
func Managed(kind string) bool {
	switch kind {
	case kindHDFS, kindWebHDFS, kindSWebHDFS, kindKMS, token.KindTimeline, kindHistory, token.KindDelegation:
		return true
	}
	return false
}
