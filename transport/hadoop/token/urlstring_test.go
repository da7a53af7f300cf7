package token

import (
	"bytes"
	"encoding/base64"
	"errors"
	"reflect"
	"testing"
)

func TestURLStrings(t *testing.T) {
	var data []byte
	for _, s := range []string{"identifier", "password", KindDelegation, "10.0.0.1:8032"} {
		data = appendChunk(data, s)
	}
	for _, text := range []string{base64.RawURLEncoding.EncodeToString(data),
		" " + base64.URLEncoding.EncodeToString(data) + "\n"} {
		p, err := FromURLString(text)
		if err != nil || string(p.GetIdentifier()) != "identifier" || string(p.GetPassword()) != "password" ||
			p.GetKind() != KindDelegation || p.GetService() != "10.0.0.1:8032" {
			t.Errorf("%q reads as %v, %v", text, p, err)
		}
	}
	for _, bad := range []string{"", "%", base64.RawURLEncoding.EncodeToString(data[:len(data)-1])} {
		if p, err := FromURLString(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q reads as %v, %v", bad, p, err)
		}
	}
}

// TestWrittenURLString reads what URLString writes.
func TestWrittenURLString(t *testing.T) {
	want := Token{Kind: "kms-dt", Service: "kms://https@host:9600/kms", Identifier: []byte{0, 1},
		Password: bytes.Repeat([]byte{255}, 200)}
	p, err := FromURLString(want.URLString())
	got := Token{Kind: p.GetKind(), Service: p.GetService(), Identifier: p.GetIdentifier(), Password: p.GetPassword()}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it reads as %+v, %v", got, err)
	}
}

// TestTokensConf reads properties with and without their sources, and refuses what ends too early.
func TestTokensConf(t *testing.T) {
	data := []byte("\x02\x01a\x02bc\xff\xff\xff\xff\x01d\x00\x00\x00\x00\x02\x00\x00\x00\x01x\xff\xff\xff\xff")
	got, err := ReadTokensConf(data)
	if err != nil || !reflect.DeepEqual(got, map[string]string{"a": "bc", "d": ""}) {
		t.Errorf("it reads as %v, %v", got, err)
	}
	for i := range data {
		if _, err := ReadTokensConf(data[:i]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes of it: %v", i, err)
		}
	}
	if _, err := ReadTokensConf([]byte{0x8d, 0x7f, 0xff, 0xff}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a count without properties: %v", err)
	}
}
