package token

import (
	"encoding/base64"
	"errors"
	"testing"
)

func TestURLStrings(t *testing.T) {
	var data []byte
	for _, s := range []string{"identifier", "password", KindDelegation, "10.0.0.1:8032"} {
		data = appendChunk(data, s)
	}
	for _, text := range []string{base64.RawURLEncoding.EncodeToString(data), " " + base64.URLEncoding.EncodeToString(data) + "\n"} {
		p, err := FromURLString(text)
		if err != nil || string(p.GetIdentifier()) != "identifier" || string(p.GetPassword()) != "password" || p.GetKind() != KindDelegation || p.GetService() != "10.0.0.1:8032" {
			t.Errorf("%q reads as %v, %v", text, p, err)
		}
	}
	for _, bad := range []string{"", "%", base64.RawURLEncoding.EncodeToString(data[:len(data)-1])} {
		if p, err := FromURLString(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q reads as %v, %v", bad, p, err)
		}
	}
}
