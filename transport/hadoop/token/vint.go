package token

// appendVInt appends a number in the encoding of Hadoop's Writables (WritableUtils.writeVLong): one
// byte for −112 to 127; otherwise a byte with the sign and the length, and then the magnitude with
// the highest byte first.
func appendVInt(b []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(b, byte(v))
	}
	first := -112
	if v < 0 {
		v, first = ^v, -120
	}
	n := 1
	for n < 8 && v>>(8*n) != 0 {
		n++
	}
	b = append(b, byte(first-n))
	for n--; n >= 0; n-- {
		b = append(b, byte(v>>(8*n)))
	}
	return b
}

// readVInt decodes a number and returns the bytes after it. ok is false if the bytes end too early
// or the number does not fit an int64.
func readVInt(b []byte) (v int64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	first := int(int8(b[0]))
	if first >= -112 {
		return int64(first), b[1:], true
	}
	n, negative := -112-first, false
	if first < -120 {
		n, negative = -120-first, true
	}
	if len(b) < 1+n {
		return 0, nil, false
	}
	for _, c := range b[1 : 1+n] {
		if v > 1<<55-1 {
			return 0, nil, false
		}
		v = v<<8 | int64(c)
	}
	if negative {
		v = ^v
	}
	return v, b[1+n:], true
}

// maxDelegationKey limits the secret of a DelegationKey, in bytes.
const maxDelegationKey = 1 << 10

// ParseDelegationKey decodes a DelegationKey in the encoding of Hadoop's Writables: id, expiry in
// Unix milliseconds, and secret. The secret is nil if it was not written.
func ParseDelegationKey(b []byte) (id int32, expiresMillis int64, secret []byte, err error) {
	var v [3]int64
	for i := range v {
		var ok bool
		if v[i], b, ok = readVInt(b); !ok {
			return 0, 0, nil, malformed("delegation key cut short")
		}
	}
	switch size := v[2]; {
	case v[0] != int64(int32(v[0])) || v[0] == 0:
		return 0, 0, nil, malformed("delegation key %d", v[0])
	case size <= 0:
		return int32(v[0]), v[1], nil, nil
	case size > maxDelegationKey || size > int64(len(b)):
		return 0, 0, nil, malformed("delegation key of %d bytes", size)
	default:
		return int32(v[0]), v[1], b[:size:size], nil
	}
}
