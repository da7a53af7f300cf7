package gss

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/jcmturner/gokrb5/v8/types"
)

const (
	// keytabMax limits the size of a keytab, in bytes.
	keytabMax = 8 << 20
	// retired is how long the keys of an earlier file are kept, because clients have tickets for
	// them. It is twice the usual life of a ticket.
	retired = 48 * time.Hour
	// lookEvery is the least time between two looks at the file.
	lookEvery = time.Second
)

// entry is a key of a keytab.
type entry struct {
	principal Principal
	version   uint32
	key       types.EncryptionKey
}

func (e *entry) same(o entry) bool {
	return e.principal.String() == o.principal.String() && e.version == o.version &&
		e.key.KeyType == o.key.KeyType && string(e.key.KeyValue) == string(o.key.KeyValue)
}

// Principal is the name of a user or of a service.
type Principal struct {
	Components []string
	Realm      string
}

// ParsePrincipal splits name/instance@REALM. The realm may be missing. Escaped characters are
// refused.
func ParsePrincipal(s string) (Principal, error) {
	name, realm, found := strings.Cut(s, "@")
	p := Principal{Components: strings.Split(name, "/"), Realm: realm}
	if !found {
		return p, plain(p.Components...)
	}
	return p, p.check()
}

// String returns name/instance@REALM.
func (p Principal) String() string {
	name := strings.Join(p.Components, "/")
	if p.Realm == "" {
		return name
	}
	return name + "@" + p.Realm
}

// check returns an error if the text of a principal could also be that of another one, or look like
// it where it is shown.
func (p Principal) check() error {
	if len(p.Components) == 0 {
		return errors.New("the principal has no name")
	}
	return plain(append([]string{p.Realm}, p.Components...)...)
}

func plain(parts ...string) error {
	for _, s := range parts {
		odd := strings.IndexFunc(s, func(r rune) bool {
			return r == ' ' || !unicode.IsPrint(r) || r == '\ufffd' || strings.ContainsRune(`/@\`, r)
		})
		if s == "" || odd >= 0 {
			return fmt.Errorf("%q cannot be a part of a principal", s)
		}
	}
	return nil
}

// matches reports whether a principal is the one that is wanted. The wanted one may have no realm,
// and "*" as its second component.
func (p Principal) matches(want Principal) bool {
	if want.Realm != "" && want.Realm != p.Realm || len(p.Components) != len(want.Components) {
		return false
	}
	for i, c := range want.Components {
		if c != p.Components[i] && (i == 0 || c != "*") {
			return false
		}
	}
	return true
}

// keytab has the keys of a file, and reads it again when it changes.
type keytab struct {
	path string
	want Principal
	warn func(error) // called once for each file that cannot be read

	mu     sync.Mutex
	looked time.Time
	info   os.FileInfo // of the file that was last read, well or not
	broken error
	keys   []entry
	past   []past
}

// past is a key that the file no longer has.
type past struct {
	entry
	until time.Time
}

// openKeytab reads a keytab. It must have a key of the wanted principal.
func openKeytab(path string, want Principal, now time.Time, warn func(error)) (*keytab, error) {
	k := &keytab{path: path, want: want, warn: warn, looked: now}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	k.info = info
	k.keys, err = readKeytab(path, want)
	return k, err
}

// find returns the keys with which a ticket may be encrypted: those of its version, or, if the
// ticket has none, all of its type.
func (k *keytab) find(etype int32, version uint32, now time.Time) []entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look(now)
	var out []entry
	add := func(e entry) {
		if e.key.KeyType == etype && (e.version == version || version == 0 || e.version == 0) {
			out = append(out, e)
		}
	}
	for _, e := range k.keys {
		add(e)
	}
	for _, p := range k.past {
		add(p.entry)
	}
	return out
}

// look reads the file again if it has changed. If it cannot be read, the keys stay.
func (k *keytab) look(now time.Time) {
	if since := now.Sub(k.looked); since >= 0 && since < lookEvery {
		return
	}
	k.looked = now
	k.past = slices.DeleteFunc(k.past, func(p past) bool { return now.After(p.until) })
	info, err := os.Stat(k.path)
	if err == nil && k.info != nil && os.SameFile(info, k.info) && info.ModTime().Equal(k.info.ModTime()) &&
		info.Size() == k.info.Size() {
		return
	}
	var keys []entry
	if err == nil {
		keys, err = readKeytab(k.path, k.want)
	}
	if err != nil {
		if k.broken == nil || k.broken.Error() != err.Error() {
			k.warn(err)
		}
		k.broken = err // and look again, because it may have been read while it was written
		return
	}
	for _, e := range k.keys {
		if !slices.ContainsFunc(keys, e.same) {
			k.past = append(k.past, past{e, now.Add(retired)})
		}
	}
	k.info, k.keys, k.broken = info, keys, nil
}

// err returns why the present file cannot be read, or nil.
func (k *keytab) err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broken
}

// readKeytab returns the keys of a principal that can be used. Its errors do not contain keys.
func readKeytab(path string, want Principal) ([]entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > keytabMax {
		return nil, fmt.Errorf("keytab %s has %d bytes, at most %d are read", path, info.Size(), keytabMax)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := parseKeytab(b)
	if err != nil {
		return nil, fmt.Errorf("keytab %s: %w", path, err)
	}
	var keys []entry
	var others []string
	for _, e := range all {
		_, unusable := profileOf(e.key)
		switch {
		case !e.principal.matches(want):
			others = append(others, e.principal.String())
		case unusable != nil:
			others = append(others, fmt.Sprintf("%s of encryption type %d", e.principal, e.key.KeyType))
		default:
			keys = append(keys, e)
		}
	}
	if len(keys) == 0 {
		if len(others) == 0 {
			return nil, fmt.Errorf("keytab %s is empty", path)
		}
		slices.Sort(others)
		others = slices.Compact(others)
		more := ""
		if len(others) > 10 {
			others, more = others[:10], ", ..."
		}
		return nil, fmt.Errorf("keytab %s has no AES key of %s, only of: %s%s", path, want, strings.Join(others, ", "), more)
	}
	return keys, nil
}

var errKeytab = errors.New("it is damaged")

// parseKeytab decodes a keytab, version 2 of MIT's format.
func parseKeytab(b []byte) ([]entry, error) {
	if len(b) < 2 || b[0] != 5 {
		return nil, errors.New("it is not a keytab")
	}
	if b[1] != 2 {
		return nil, fmt.Errorf("it has version %d of the format, only 2 is read", b[1])
	}
	r := reader{b: b[2:]}
	var out []entry
	for len(r.b) >= 4 {
		size := int32(r.number(4))
		switch {
		case size == 0:
			return out, nil
		case size < 0: // a deleted entry
			r.bytes(-int64(size))
		default:
			e, ok := parseEntry(r.bytes(int64(size)))
			if !ok {
				return nil, errKeytab
			}
			out = append(out, e)
		}
		if r.bad {
			return nil, errKeytab
		}
	}
	return out, nil
}

func parseEntry(b []byte) (entry, bool) {
	r := reader{b: b}
	n := r.number(2)
	e := entry{principal: Principal{Realm: r.text()}}
	for range n {
		e.principal.Components = append(e.principal.Components, r.text())
		if r.bad {
			return entry{}, false
		}
	}
	r.bytes(4 + 4) // type of the name, and time
	e.version = r.number(1)
	e.key.KeyType = int32(r.number(2))
	e.key.KeyValue = slices.Clone(r.bytes(int64(r.number(2))))
	if !r.bad && len(r.b) >= 4 {
		if v := r.number(4); v != 0 {
			e.version = v
		}
	}
	return e, !r.bad
}

// reader reads numbers and texts. It sets bad if there are too few bytes.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n int64) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) number(size int64) uint32 {
	var n uint32
	for _, c := range r.bytes(size) {
		n = n<<8 | uint32(c)
	}
	return n
}

func (r *reader) text() string { return string(r.bytes(int64(r.number(2)))) }
