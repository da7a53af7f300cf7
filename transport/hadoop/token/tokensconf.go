package token

import "encoding/binary"

// maxProperties limits the properties of a tokens_conf.
const maxProperties = 10_000

// ReadTokensConf decodes the field tokens_conf of a launch context: the properties that a client
// sends for the services of its tokens, as Hadoop's Configuration writes itself.
func ReadTokensConf(data []byte) (map[string]string, error) {
	c := &chunks{rest: data, ok: true}
	n := c.number()
	if len(data) > MaxCredentials || n < 0 || n > maxProperties {
		return nil, malformed("tokens_conf of %d bytes with %d properties", len(data), n)
	}
	out := make(map[string]string)
	for ; n > 0 && c.ok; n-- {
		key := c.text()
		out[key] = c.text()
		c.skipSources()
	}
	if !c.ok {
		return nil, malformed("tokens_conf ends inside a value")
	}
	return out, nil
}

// skipSources skips the compressed list of the files from which a property came.
func (c *chunks) skipSources() {
	for n := c.fixed(); n > 0 && c.ok; n-- {
		size := max(c.fixed(), 0) // −1: null
		if c.ok = c.ok && size <= len(c.rest); c.ok {
			c.rest = c.rest[size:]
		}
	}
}

// fixed reads a number of four bytes.
func (c *chunks) fixed() int {
	if !c.ok || len(c.rest) < 4 {
		c.ok = false
		return 0
	}
	v := int32(binary.BigEndian.Uint32(c.rest))
	c.rest = c.rest[4:]
	return int(v)
}
