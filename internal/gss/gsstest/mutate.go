package gsstest

import (
	"bytes"
	"math/rand/v2"
)

// Mutate returns a copy of a message of which one or two bytes are changed, inserted, or removed with
// up to three after them. Every second change is among the first 120 bytes, which have the message's
// structure.
func Mutate(rng *rand.Rand, message []byte) []byte {
	b := bytes.Clone(message)
	for range 1 + rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		i := rng.IntN(len(b))
		if rng.IntN(2) == 0 {
			i = rng.IntN(min(len(b), 120))
		}
		switch rng.IntN(6) {
		case 0:
			b[i] ^= 1 << rng.IntN(8)
		case 1:
			b[i] = byte(rng.Uint32())
		case 2:
			b[i]++
		case 3:
			b = append(b[:i], b[min(i+1+rng.IntN(4), len(b)):]...)
		case 4:
			b = append(b[:i:i], append([]byte{byte(rng.Uint32())}, b[i:]...)...)
		default:
			b[i] = []byte{0, 1, 0x7f, 0x80, 0x81, 0xff}[rng.IntN(6)]
		}
	}
	return b
}
