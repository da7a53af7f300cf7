package gss

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/jcmturner/gokrb5/v8/types"
)

// profile is an encryption type.
type profile struct {
	name     string
	keyBytes int
	macBytes int
	hash     func() hash.Hash
	sha2     bool // the code covers the ciphertext (RFC 8009), and not the plaintext (RFC 3962)
}

var profiles = map[int32]*profile{
	17: {"aes128-cts-hmac-sha1-96", 16, 12, sha1.New, false},
	18: {"aes256-cts-hmac-sha1-96", 32, 12, sha1.New, false},
	19: {"aes128-cts-hmac-sha256-128", 16, 16, sha256.New, true},
	20: {"aes256-cts-hmac-sha384-192", 32, 24, sha512.New384, true},
}

// errIntegrity means that a message was not made with this key, or was changed.
var errIntegrity = errors.New("the integrity check failed")

// profileOf returns the encryption type of a key, and an error if the key cannot be used.
func profileOf(key types.EncryptionKey) (*profile, error) {
	p := profiles[key.KeyType]
	switch {
	case p == nil:
		return nil, fmt.Errorf("encryption type %d is not supported, only 17 to 20", key.KeyType)
	case len(key.KeyValue) != p.keyBytes:
		return nil, fmt.Errorf("a key of %s has %d bytes, not %d", p.name, p.keyBytes, len(key.KeyValue))
	}
	return p, nil
}

// newKey returns a random key.
func newKey(etype int32) types.EncryptionKey {
	b := make([]byte, profiles[etype].keyBytes)
	_, _ = rand.Read(b) // crypto/rand never fails
	return types.EncryptionKey{KeyType: etype, KeyValue: b}
}

// The last byte of the constant from which a key is derived (RFC 3961, section 5.3).
const (
	forChecksum   = 0x99
	forEncryption = 0xaa
	forIntegrity  = 0x55
)

// crypt has the keys that are derived from one key for one usage. It must not be used by two
// goroutines at the same time.
type crypt struct {
	*profile
	block    cipher.Block
	mac, sum hash.Hash // of sealed messages, and of clear ones
}

func newCrypt(key types.EncryptionKey, usage uint32) (*crypt, error) {
	p, err := profileOf(key)
	if err != nil {
		return nil, err
	}
	derive := func(purpose byte, size int) []byte {
		constant := append(binary.BigEndian.AppendUint32(nil, usage), purpose)
		if p.sha2 {
			return deriveSHA2(p.hash, key.KeyValue, constant, size)
		}
		return deriveSHA1(key.KeyValue, constant)
	}
	block, err := aes.NewCipher(derive(forEncryption, p.keyBytes))
	if err != nil {
		return nil, err
	}
	return &crypt{profile: p, block: block,
		mac: hmac.New(p.hash, derive(forIntegrity, p.macBytes)), sum: hmac.New(p.hash, derive(forChecksum, p.macBytes))}, nil
}

// deriveSHA2 is KDF-HMAC-SHA2 (RFC 8009, section 3).
func deriveSHA2(sum func() hash.Hash, key, label []byte, size int) []byte {
	h := hmac.New(sum, key)
	h.Write([]byte{0, 0, 0, 1})
	h.Write(label)
	h.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(size*8)))
	return h.Sum(nil)[:size]
}

// deriveSHA1 is DK (RFC 3961, section 5.1): the key encrypts the folded constant again and again.
// The derived key is as long as the key.
func deriveSHA1(key, constant []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // profileOf has checked the length
	}
	out := make([]byte, len(key))
	last := fold(constant)
	for i := 0; i < len(out); i += aes.BlockSize {
		block.Encrypt(last[:], last[:])
		copy(out[i:], last[:])
	}
	return out
}

// fold is n-fold to one block (RFC 3961, section 5.1): the sum, in ones' complement, of the blocks
// of a string that repeats the input, each time rotated 13 bits more to the right. The number of
// bytes must be odd, as it is here: 5.
func fold(in []byte) [aes.BlockSize]byte {
	var sum [aes.BlockSize]uint
	bits := len(in) * 8
	total := len(in) * aes.BlockSize // the least common multiple, since the length is odd
	for i := range total {
		at := ((i%len(in))*8 - 13*(i/len(in))) % bits
		if at < 0 {
			at += bits
		}
		two := uint(in[at/8])<<8 | uint(in[(at/8+1)%len(in)])
		sum[i%aes.BlockSize] += two >> (8 - at%8) & 0xff
	}
	for carry := uint(0); ; {
		for i := len(sum) - 1; i >= 0; i-- {
			carry += sum[i]
			sum[i], carry = carry&0xff, carry>>8
		}
		if carry == 0 {
			break
		}
	}
	var out [aes.BlockSize]byte
	for i, s := range sum {
		out[i] = byte(s)
	}
	return out
}

// overhead is the number of bytes that encryption adds.
func (c *crypt) overhead() int { return aes.BlockSize + c.macBytes }

// zero is the initial vector of all messages: each begins with a random block.
var zero [aes.BlockSize]byte

// encrypt appends the ciphertext of the concatenated parts to dst.
func (c *crypt) encrypt(dst []byte, parts ...[]byte) []byte {
	var confounder [aes.BlockSize]byte
	_, _ = rand.Read(confounder[:]) // crypto/rand never fails
	return c.encryptWith(dst, confounder[:], parts...)
}

func (c *crypt) encryptWith(dst, confounder []byte, parts ...[]byte) []byte {
	from := len(dst)
	dst = append(dst, confounder...)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	body := dst[from:]
	if c.sha2 {
		encryptCTS(c.block, body)
		return append(dst, c.code(body)...)
	}
	code := c.code(body)
	encryptCTS(c.block, body)
	return append(dst, code...)
}

// decrypt decrypts b in place and returns the plaintext, which shares its memory.
func (c *crypt) decrypt(b []byte) ([]byte, error) {
	if len(b) < c.overhead() {
		return nil, errIntegrity
	}
	body, code := b[:len(b)-c.macBytes], b[len(b)-c.macBytes:]
	if c.sha2 && !hmac.Equal(c.code(body), code) {
		return nil, errIntegrity
	}
	decryptCTS(c.block, body)
	if !c.sha2 && !hmac.Equal(c.code(body), code) {
		return nil, errIntegrity
	}
	return body[aes.BlockSize:], nil
}

// code returns the authentication code of a sealed message.
func (c *crypt) code(body []byte) []byte {
	c.mac.Reset()
	if c.sha2 {
		c.mac.Write(zero[:])
	}
	c.mac.Write(body)
	return c.mac.Sum(nil)[:c.macBytes]
}

// checksum returns the checksum of the concatenated parts.
func (c *crypt) checksum(parts ...[]byte) []byte {
	c.sum.Reset()
	for _, p := range parts {
		c.sum.Write(p)
	}
	return c.sum.Sum(nil)[:c.macBytes]
}

// encryptCTS encrypts b in place with CBC and ciphertext stealing (CS3). b has at least a block.
func encryptCTS(block cipher.Block, b []byte) {
	if len(b) == aes.BlockSize {
		block.Encrypt(b, b)
		return
	}
	head := tail(len(b))
	cipher.NewCBCEncrypter(block, zero[:]).CryptBlocks(b[:head], b[:head])
	var last [aes.BlockSize]byte
	copy(last[:], b[head:])
	before := b[head-aes.BlockSize : head]
	subtle.XORBytes(last[:], last[:], before)
	block.Encrypt(last[:], last[:])
	copy(b[head:], before)
	copy(before, last[:])
}

// decryptCTS reverses encryptCTS.
func decryptCTS(block cipher.Block, b []byte) {
	if len(b) == aes.BlockSize {
		block.Decrypt(b, b)
		return
	}
	head := tail(len(b))
	var last [aes.BlockSize]byte
	before := b[head-aes.BlockSize : head]
	block.Decrypt(last[:], before)
	copy(before, last[:])
	copy(before, b[head:])
	subtle.XORBytes(b[head:], b[head:], last[:])
	cipher.NewCBCDecrypter(block, zero[:]).CryptBlocks(b[:head], b[:head])
}

// tail returns where the last block of n bytes begins, which may be short.
func tail(n int) int { return (n - 1) / aes.BlockSize * aes.BlockSize }

// open decrypts one message with one key.
func open(key types.EncryptionKey, usage uint32, b []byte) ([]byte, error) {
	c, err := newCrypt(key, usage)
	if err != nil {
		return nil, err
	}
	return c.decrypt(append([]byte(nil), b...))
}

// seal encrypts one message with one key.
func seal(key types.EncryptionKey, usage uint32, b []byte) ([]byte, error) {
	c, err := newCrypt(key, usage)
	if err != nil {
		return nil, err
	}
	return c.encrypt(nil, b), nil
}
