package event

import (
	"fmt"
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
		{&AttemptRegistered{Host: "h", ClientKey: []byte("secret")}, ", ClientKey of 6 bytes"},
		{&ApplicationSubmitted{Name: "a\x1b[2J\nb", Context: []byte("secret")}, "Name:a [2J b "},
		{&ApplicationSubmitted{Name: strings.Repeat("é", 1000), Context: []byte("secret")}, "é…, Context of 6 bytes"},
	} {
		got := Describe(c.event)
		if !strings.Contains(got, c.want) || strings.Contains(got, "115 101 99") || len(got) > mostDescribed+50 {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestStringHidesKeys checks the events with keys when they are printed by themselves.
func TestStringHidesKeys(t *testing.T) {
	for _, e := range []Event{&MasterKeyCreated{ID: 7, Bytes: []byte("secret")}, &AttemptRegistered{App: 7, ClientKey: []byte("secret")}} {
		if got := fmt.Sprintf("%v %+v", e, e); strings.Contains(got, "115 101 99") || !strings.Contains(got, ":7 ") {
			t.Errorf("%T: %s", e, got)
		}
	}
}
