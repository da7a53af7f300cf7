package token

import (
	"encoding/base64"
	"strings"

	"rmd/transport/hadoop/proto"
)

// FromURLString decodes a token in the form that Hadoop uses in URLs and REST documents: its
// Writable encoding in unpadded base64 for URLs.
func FromURLString(text string) (*proto.TokenProto, error) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
	if err != nil || len(data) > MaxCredentials {
		return nil, malformed("token is not base64 for URLs")
	}
	c := &chunks{rest: data, ok: true}
	p := &proto.TokenProto{Identifier: c.bytes(), Password: c.bytes(), Kind: new(c.text()), Service: new(c.text())}
	if !c.ok {
		return nil, malformed("token ends inside a value")
	}
	return p, nil
}

// URLString encodes a token in the form that FromURLString reads.
func (t Token) URLString() string {
	var b []byte
	b = appendChunk(b, t.Identifier)
	b = appendChunk(b, t.Password)
	b = appendChunk(b, t.Kind)
	return base64.RawURLEncoding.EncodeToString(appendChunk(b, t.Service))
}
