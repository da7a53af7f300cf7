package token

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
)

// MaxCredentials is the largest size of credentials that are read, in bytes.
const MaxCredentials = 16 << 20

var magic = []byte("HDTS")

// Versions of the encoding of credentials.
const (
	formWritable = 0
	formProtobuf = 1
)

// Credentials are the tokens and secrets of a launch context, each with an alias.
type Credentials struct {
	Tokens  []Token
	Secrets []Secret
}

// Token is a token in Credentials.
type Token struct {
	Alias                string
	Identifier, Password []byte
	Kind, Service        string
}

// Secret is a secret in Credentials.
type Secret struct {
	Alias string
	Bytes []byte
}

// AddToken adds a token. It replaces a token with the same alias.
func (c *Credentials) AddToken(alias string, p *proto.TokenProto) {
	c.put(Token{Alias: alias, Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(),
		Service: p.GetService()})
}

func (c *Credentials) put(t Token) {
	for i := range c.Tokens {
		if c.Tokens[i].Alias == t.Alias {
			c.Tokens[i] = t
			return
		}
	}
	c.Tokens = append(c.Tokens, t)
}

// Bytes encodes the credentials in the version that every version of Hadoop reads.
func (c *Credentials) Bytes() []byte {
	b := append(bytes.Clone(magic), formWritable)
	b = appendVInt(b, int64(len(c.Tokens)))
	for _, t := range c.Tokens {
		b = appendChunk(b, t.Alias)
		b = appendChunk(b, t.Identifier)
		b = appendChunk(b, t.Password)
		b = appendChunk(b, t.Kind)
		b = appendChunk(b, t.Service)
	}
	b = appendVInt(b, int64(len(c.Secrets)))
	for _, s := range c.Secrets {
		b = appendChunk(b, s.Alias)
		b = appendChunk(b, s.Bytes)
	}
	return b
}

func appendChunk[T string | []byte](b []byte, v T) []byte {
	return append(appendVInt(b, int64(len(v))), v...)
}

// ReadCredentials decodes credentials of either version. As in Hadoop, it ignores bytes after them.
// The result does not share memory with data.
func ReadCredentials(data []byte) (*Credentials, error) {
	rest, ok := bytes.CutPrefix(data, magic)
	switch {
	case len(data) > MaxCredentials:
		return nil, malformed("credentials of %d bytes", len(data))
	case !ok || len(rest) == 0:
		return nil, malformed("credentials without their heading")
	}
	switch rest[0] {
	case formWritable:
		return readWritable(rest[1:])
	case formProtobuf:
		return readProtobuf(rest[1:])
	}
	return nil, malformed("credentials of unknown form %d", rest[0])
}

// chunks reads byte strings with a length before each. After an invalid length, ok is false and all
// further values are empty.
type chunks struct {
	rest []byte
	ok   bool
}

func (c *chunks) length() int {
	v, rest, ok := readVInt(c.rest)
	if !c.ok || !ok || v < 0 || v > int64(len(rest)) {
		c.ok = false
		return 0
	}
	c.rest = rest
	return int(v)
}

func (c *chunks) number() int64 {
	v, rest, ok := readVInt(c.rest)
	if !c.ok || !ok {
		c.ok = false
		return 0
	}
	c.rest = rest
	return v
}

func (c *chunks) bytes() []byte {
	n := c.length()
	if !c.ok {
		return nil
	}
	b := bytes.Clone(c.rest[:n])
	c.rest = c.rest[n:]
	return b
}

func (c *chunks) text() string { return string(c.bytes()) }

func readWritable(data []byte) (*Credentials, error) {
	c := &chunks{rest: data, ok: true}
	out := new(Credentials)
	seen := make(map[string]int)
	for n := c.length(); n > 0 && c.ok; n-- {
		t := Token{Alias: c.text(), Identifier: c.bytes(), Password: c.bytes(), Kind: c.text(), Service: c.text()}
		out.Tokens = putValue(out.Tokens, t, "t"+t.Alias, seen)
	}
	for n := c.length(); n > 0 && c.ok; n-- {
		s := Secret{Alias: c.text(), Bytes: c.bytes()}
		out.Secrets = putValue(out.Secrets, s, "s"+s.Alias, seen)
	}
	if !c.ok {
		return nil, malformed("credentials end inside a value")
	}
	return out, nil
}

func readProtobuf(data []byte) (*Credentials, error) {
	body, n := protowire.ConsumeBytes(data)
	if n < 0 {
		return nil, malformed("credentials end inside a value")
	}
	var p proto.CredentialsProto
	if err := bounded.Unmarshal(body, &p); err != nil {
		return nil, malformed("credentials: %v", err)
	}
	out := new(Credentials)
	seen := make(map[string]int)
	for _, e := range p.GetTokens() {
		k := e.GetToken()
		t := Token{Alias: e.GetAlias(), Identifier: k.GetIdentifier(), Password: k.GetPassword(), Kind: k.GetKind(),
			Service: k.GetService()}
		out.Tokens = putValue(out.Tokens, t, "t"+t.Alias, seen)
	}
	for _, e := range p.GetSecrets() {
		out.Secrets = putValue(out.Secrets, Secret{Alias: e.GetAlias(), Bytes: e.GetSecret()}, "s"+e.GetAlias(), seen)
	}
	return out, nil
}

// putValue appends a value, or replaces the one with the same name.
func putValue[T any](list []T, v T, name string, seen map[string]int) []T {
	if i, ok := seen[name]; ok {
		list[i] = v
		return list
	}
	seen[name] = len(list)
	return append(list, v)
}
