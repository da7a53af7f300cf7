// Package gsstest makes keytabs and tickets for tests, in place of a KDC. It encrypts with gokrb5
// and not with package gss, so that each tests the other.
package gsstest

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"rmd/internal/gss"
)

// Key is a key of a service.
type Key struct {
	Service gss.Principal
	Version uint32
	Key     types.EncryptionKey
}

// NewKey returns a random key of an encryption type for a service, name/host@REALM.
func NewKey(t testing.TB, service string, etype int32, version uint32) Key {
	t.Helper()
	return Key{Service: principal(t, service), Version: version, Key: random(etype)}
}

func random(etype int32) types.EncryptionKey {
	b := make([]byte, map[int32]int{17: 16, 18: 32, 19: 16, 20: 32, 23: 16}[etype])
	_, _ = rand.Read(b) // crypto/rand never fails
	return types.EncryptionKey{KeyType: etype, KeyValue: b}
}

func principal(t testing.TB, s string) gss.Principal {
	t.Helper()
	p, err := gss.ParsePrincipal(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// WriteKeytab writes a keytab to a path.
func WriteKeytab(t testing.TB, path string, keys ...Key) {
	t.Helper()
	b := []byte{5, 2}
	for _, k := range keys {
		b = k.append(b)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Keytab returns the path of a new keytab.
func Keytab(t testing.TB, keys ...Key) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	WriteKeytab(t, path, keys...)
	return path
}

// append appends an entry in the format of a keytab.
func (k *Key) append(b []byte) []byte {
	var body []byte
	text := func(s string) {
		body = binary.BigEndian.AppendUint16(body, uint16(len(s)))
		body = append(body, s...)
	}
	body = binary.BigEndian.AppendUint16(body, uint16(len(k.Service.Components)))
	text(k.Service.Realm)
	for _, c := range k.Service.Components {
		text(c)
	}
	body = append(body, 0, 0, 0, 1, 0, 0, 0, 0, byte(k.Version))
	body = binary.BigEndian.AppendUint16(body, uint16(k.Key.KeyType))
	text(string(k.Key.KeyValue))
	body = binary.BigEndian.AppendUint32(body, k.Version)
	return append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
}

// Ticket returns a ticket of a client, name@REALM, for the service of a key. It is valid from an
// hour ago to the next hour. change may change it before it is encrypted; it may be nil.
func (k *Key) Ticket(t testing.TB, client string, change func(*messages.EncTicketPart)) gss.Ticket {
	t.Helper()
	who := principal(t, client)
	session := random(k.Key.KeyType)
	now := time.Now().UTC().Truncate(time.Second)
	part := messages.EncTicketPart{
		Flags:     types.NewKrbFlags(),
		Key:       session,
		CRealm:    who.Realm,
		CName:     types.PrincipalName{NameType: 1, NameString: who.Components},
		AuthTime:  now.Add(-time.Hour),
		StartTime: now.Add(-time.Hour),
		EndTime:   now.Add(time.Hour),
		RenewTill: now.Add(time.Hour),
	}
	if change != nil {
		change(&part)
	}
	b, err := asn1.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(b, 3), k.Key, 2, int(k.Version))
	if err != nil {
		t.Fatal(err)
	}
	return gss.Ticket{Client: who, Key: session, Ticket: messages.Ticket{
		TktVNO:  5,
		Realm:   k.Service.Realm,
		SName:   types.PrincipalName{NameType: 2, NameString: k.Service.Components},
		EncPart: sealed,
	}}
}
