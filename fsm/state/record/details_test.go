package record

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

// TestDetails checks that unpack reverses pack, and that empty details need no memory.
func TestDetails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.String().Draw(t, "text"), rapid.SampledFrom([]int{1, 1, 1, 40, 3000}).Draw(t, "times"))
		})
		d := AppDetails{Name: text.Draw(t, "name"), Type: text.Draw(t, "type"), Context: text.Draw(t, "context"),
			Host: text.Draw(t, "host"), TrackingURL: text.Draw(t, "url"), Diagnostics: text.Draw(t, "diagnostics")}
		d.ClientKey = MasterKey{Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "key"),
			Algorithm: rapid.SampledFrom([]yarn.HMAC{0, yarn.HMACs - 1}).Draw(t, "algorithm")}
		for range rapid.IntRange(0, 3).Draw(t, "tags") {
			d.Tags = append(d.Tags, text.Draw(t, "tag"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "places") {
			d.AMPlaces = append(d.AMPlaces, yarn.Place{Name: text.Draw(t, "place"), Relax: rapid.Bool().Draw(t, "relax")})
		}
		a := App{details: pack(d)}
		if got := a.Details(); !reflect.DeepEqual(got, d) {
			t.Fatalf("%+v, not %+v", got, d)
		}
		a.ChangeDetails(func(d *AppDetails) { d.Host = "another" })
		if d.Host = "another"; !reflect.DeepEqual(a.Details(), d) {
			t.Fatalf("changed: %+v, not %+v", a.Details(), d)
		}
		bare, apart := a.Apart()
		if bare.details != "" || !reflect.DeepEqual(apart, d) {
			t.Fatalf("apart: %+v %+v", bare, apart)
		}
	})
	if a := (App{}); !reflect.DeepEqual(a.Details(), AppDetails{}) {
		t.Errorf("of nothing: %+v", a.Details())
	}
}

// TestDetailsHideKey checks that details that are printed do not show the key of the AM's clients.
func TestDetailsHideKey(t *testing.T) {
	a := App{details: pack(AppDetails{Name: "word count", ClientKey: MasterKey{Bytes: []byte("secret")}})}
	bare, details := a.Apart()
	if text := fmt.Sprintf("%+v %v %+v", bare, details, details); strings.Contains(text, "secret") ||
		strings.Contains(text, "115 101 99") || !strings.Contains(text, "ClientKey:key 0 (#") {
		t.Error(text)
	}
}

func BenchmarkDetails(b *testing.B) {
	a := App{details: pack(AppDetails{Name: "word count", Type: "MAPREDUCE", Host: "node00017",
		TrackingURL: "http://node00017:40123"})}
	for b.Loop() {
		if a.Details().Name == "" {
			b.Fatal("it has a name")
		}
	}
}
