package token

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// The kinds of tokens, with YARN's names.
const (
	KindAMRM       = "YARN_AM_RM_TOKEN"
	KindNM         = "NMToken"
	KindContainer  = "ContainerToken"
	KindDelegation = "RM_DELEGATION_TOKEN"
	KindClientToAM = "YARN_CLIENT_TOKEN"
	KindTimeline   = "TIMELINE_DELEGATION_TOKEN" // of the timeline service
)

var hashes = [yarn.HMACs]func() hash.Hash{yarn.HMACSHA1: sha1.New, yarn.HMACSHA224: sha256.New224,
	yarn.HMACSHA256: sha256.New, yarn.HMACSHA384: sha512.New384, yarn.HMACSHA512: sha512.New}

// HMAC returns the HMAC of a master key, with the algorithm that the key had when it was made.
func HMAC(key state.MasterKey) hash.Hash { return hmac.New(hashes[key.Algorithm], key.Bytes) }

// Password returns the password of an identifier with a master key.
func Password(key state.MasterKey, identifier []byte) []byte {
	m := HMAC(key)
	m.Write(identifier)
	return m.Sum(nil)
}

// Proto returns the token of an identifier, signed with a key.
func Proto(kind, service string, identifier []byte, key state.MasterKey) *proto.TokenProto {
	return &proto.TokenProto{Identifier: identifier, Password: Password(key, identifier), Kind: new(kind),
		Service: new(service)}
}

func same(want, got []byte) error {
	if !hmac.Equal(want, got) {
		return fmt.Errorf("%w: wrong password", ErrBad)
	}
	return nil
}
