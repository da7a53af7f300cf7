package digest

import (
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash"
	"slices"
	"strings"
)

// Protection is a set of qualities of protection. The bits are those of SASL's GSSAPI (RFC 4752).
type Protection uint8

// The qualities. Hadoop's hadoop.rpc.protection calls them by these names.
const (
	Authentication Protection = 1 << iota // of the connection's begin only
	Integrity                             // each message is signed
	Privacy                               // each message is encrypted and signed
)

// names has the qualities from the strongest to the weakest, with the names of RFC 2831.
var names = []struct {
	one  Protection
	name string
}{{Privacy, "auth-conf"}, {Integrity, "auth-int"}, {Authentication, "auth"}}

// String returns the list as RFC 2831 writes it.
func (p Protection) String() string {
	var out []string
	for _, n := range names {
		if p&n.one != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ",")
}

// parseProtection returns the quality with a name. A name that is not known is 0.
func parseProtection(name string) Protection {
	for _, n := range names {
		if n.name == name {
			return n.one
		}
	}
	return 0
}

// cipherName is the only cipher that is offered and taken. RFC 2831 also has RC4 and DES. They are
// weaker, and a client's choice is not signed, so a port that offers them can be made to use them.
const cipherName = "3des"

const (
	codeSize    = 10
	trailerSize = codeSize + 2 + 4 // the code, the version and the number
)

// ErrLayer means that a message was changed, or is not the next one.
var ErrLayer = errors.New("wrapped message was changed, or is out of order")

// Layer protects the messages of a connection. One goroutine may wrap while another unwraps.
type Layer struct{ send, recv direction }

// direction protects the messages in one direction.
type direction struct {
	mac   hash.Hash
	block cipher.BlockMode // nil: messages are only signed
	seq   uint32
}

// layer returns the layer of an exchange, or nil if only its begin is authenticated.
func (e *exchange) layer(server bool) *Layer {
	if e.protection == Authentication {
		return nil
	}
	toServer, toClient := e.direction("client-to-server", !server), e.direction("server-to-client", server)
	if server {
		return &Layer{send: toClient, recv: toServer}
	}
	return &Layer{send: toServer, recv: toClient}
}

func (e *exchange) direction(name string, sends bool) direction {
	secret := e.secret()
	key := func(text string) []byte {
		k := md5.Sum(append(slices.Clone(secret), text...))
		return k[:]
	}
	d := direction{mac: hmac.New(md5.New, key("Digest session key to "+name+" signing key magic constant"))}
	if e.protection != Privacy {
		return d
	}
	k := key("Digest H(A1) to " + name + " sealing key magic constant")
	first, second := spread(k[:7]), spread(k[7:14])
	block, err := des.NewTripleDESCipher(slices.Concat(first, second, first))
	if err != nil {
		panic(err) // the key has 24 bytes
	}
	if sends {
		d.block = cipher.NewCBCEncrypter(block, k[8:])
	} else {
		d.block = cipher.NewCBCDecrypter(block, k[8:])
	}
	return d
}

// spread returns a key of DES: seven bits in each byte, before one of parity, which nobody checks.
func spread(b []byte) []byte {
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	out := make([]byte, 8)
	for i := range out {
		out[i] = byte(n>>(7*(7-i))) << 1
	}
	return out
}

// code returns the authentication code of the next message.
func (d *direction) code(message []byte) []byte {
	d.mac.Reset()
	d.mac.Write(binary.BigEndian.AppendUint32(nil, d.seq))
	d.mac.Write(message)
	return d.mac.Sum(nil)[:codeSize]
}

// Wrap appends the protected message to dst.
func (l *Layer) Wrap(dst, message []byte) []byte {
	d := &l.send
	from := len(dst)
	dst = append(dst, message...)
	code := d.code(message)
	if d.block != nil {
		for n, i := des.BlockSize-(len(message)+codeSize)%des.BlockSize, 0; i < n; i++ {
			dst = append(dst, byte(n))
		}
	}
	dst = append(dst, code...)
	if d.block != nil {
		d.block.CryptBlocks(dst[from:], dst[from:])
	}
	dst = append(dst, 0, 1)
	dst = binary.BigEndian.AppendUint32(dst, d.seq)
	d.seq++
	return dst
}

// Unwrap checks a message from the other side, and decrypts it in place. After an error the layer
// must not be used.
func (l *Layer) Unwrap(token []byte) ([]byte, error) {
	d := &l.recv
	n := len(token) - 6
	if n < codeSize || token[n] != 0 || token[n+1] != 1 || binary.BigEndian.Uint32(token[n+2:]) != d.seq {
		return nil, ErrLayer
	}
	body := token[:n]
	pad := 0
	if d.block != nil {
		if n%des.BlockSize != 0 {
			return nil, ErrLayer
		}
		d.block.CryptBlocks(body, body)
		pad = int(body[n-codeSize-1])
		if pad < 1 || pad > des.BlockSize || pad > n-codeSize {
			return nil, ErrLayer
		}
	}
	message, padding, code := body[:n-codeSize-pad], body[n-codeSize-pad:n-codeSize], body[n-codeSize:]
	for _, c := range padding {
		if int(c) != pad {
			return nil, ErrLayer
		}
	}
	if !hmac.Equal(d.code(message), code) {
		return nil, ErrLayer
	}
	d.seq++
	return message, nil
}
