package renewal

import (
	"rmd/transport/hadoop/token"
)

// The kinds of tokens that a ResourceManager renews. That of the ResourceManager's own is
// token.KindDelegation.
const (
	kindHDFS     = "HDFS_DELEGATION_TOKEN"
	kindWebHDFS  = "WEBHDFS delegation"
	kindSWebHDFS = "SWEBHDFS delegation"
	kindKMS      = "kms-dt"
	kindTimeline = "TIMELINE_DELEGATION_TOKEN"
	kindHistory  = "MR_DELEGATION_TOKEN"
)

// IsHDFS reports whether a kind is that of HDFS's tokens, which Fetch replaces.
func IsHDFS(kind string) bool { return kind == kindHDFS }

// Managed reports whether a ResourceManager renews tokens of a kind. It includes the
// ResourceManager's own, token.KindDelegation, which Services does not know.
func Managed(kind string) bool {
	switch kind {
	case kindHDFS, kindWebHDFS, kindSWebHDFS, kindKMS, kindTimeline, kindHistory, token.KindDelegation:
		return true
	}
	return false
}

// Identify decodes the identifier of a token of a managed kind.
func Identify(t token.Token) (token.Delegation, error) {
	if t.Kind == kindTimeline || t.Kind == token.KindDelegation {
		return token.ParseDelegation(t.Identifier)
	}
	return token.ParseWritable(t.Identifier)
}
