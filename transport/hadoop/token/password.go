package token

import (
	"crypto/hmac"
	"crypto/sha1"
	"fmt"

	"rmd/transport/hadoop/proto"
)

// The kinds of tokens, with YARN's names.
const (
	KindAMRM       = "YARN_AM_RM_TOKEN"
	KindNM         = "NMToken"
	KindContainer  = "ContainerToken"
	KindDelegation = "RM_DELEGATION_TOKEN"
)

// Password returns the password of an identifier with a master key: HMAC-SHA1.
func Password(key, identifier []byte) []byte {
	m := hmac.New(sha1.New, key)
	m.Write(identifier)
	return m.Sum(nil)
}

// Proto returns the token of an identifier, signed with a key.
func Proto(kind, service string, identifier, key []byte) *proto.TokenProto {
	return &proto.TokenProto{Identifier: identifier, Password: Password(key, identifier), Kind: new(kind), Service: new(service)}
}

func same(want, got []byte) error {
	if !hmac.Equal(want, got) {
		return fmt.Errorf("%w: wrong password", ErrBad)
	}
	return nil
}
