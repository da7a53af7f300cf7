package event

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{&ApplicationForgotten{App: 7}, "ApplicationForgotten {App:7}"},
		{&MasterKeyCreated{Bytes: []byte("secret")}, ", Bytes of 6 bytes"},
		{&ApplicationSubmitted{Name: "a\x1b[2J\nb", Context: []byte("secret")}, "Name:a [2J b "},
		{&ApplicationSubmitted{Name: strings.Repeat("é", 1000), Context: []byte("secret")}, "é…, Context of 6 bytes"},
	} {
		got := Describe(c.event)
		if !strings.Contains(got, c.want) || strings.Contains(got, "115 101 99") || len(got) > mostDescribed+50 {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
