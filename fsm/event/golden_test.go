package event

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rmd/internal/codec/codectest"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of the current format again")

// A golden file has a batch of one event: the event as JSON and the bytes in hex. There is a folder
// for each released batch format. Files of earlier formats are only read, never rewritten.
const (
	goldenLevel    = 1
	goldenSequence = 300
)

func goldenPath(format int, k Kind) string {
	return filepath.Join("testdata", fmt.Sprintf("v%d", format), k.String()+".golden")
}

// sample returns an event of a kind with a different value in every field.
func sample(k Kind) Event {
	e := New(k)
	codectest.Distinct(e)
	return e
}

func TestGoldenBytesOfTheCurrentFormat(t *testing.T) {
	for _, k := range Kinds() {
		t.Run(k.String(), func(t *testing.T) {
			e := sample(k)
			b := Batch{Level: goldenLevel, Sequence: goldenSequence, Events: []Event{e}}
			doc, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s\n%s\n", doc, hex.EncodeToString(b.Encode()))
			path := goldenPath(Format, k)
			if *rewrite {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: every event has a golden file; make it with go test ./fsm/event -rewrite", err)
			}
			if got != string(want) {
				t.Errorf("the bytes of a released event have changed: old logs would be misread. Add a new event number instead.\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

// TestGoldenFilesOfEveryFormatAreRead decodes what every released build has written.
func TestGoldenFilesOfEveryFormatAreRead(t *testing.T) {
	seen := map[string]bool{}
	for format := 1; format <= Format; format++ {
		files, err := filepath.Glob(filepath.Join("testdata", fmt.Sprintf("v%d", format), "*.golden"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no golden files of format %d: %v", format, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			doc, digits, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
			data, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatalf("%s has no valid hexadecimal digits after its first line: %v", path, err)
			}
			b, err := Decode(data)
			if err != nil || len(b.Events) != 1 || b.Level != goldenLevel || b.Sequence != goldenSequence {
				t.Fatalf("Decode of %s = %+v, %v, want one event, level %d and sequence %d",
					path, b, err, goldenLevel, goldenSequence)
			}
			again, _ := json.Marshal(b.Events[0])
			if string(again) != doc {
				t.Errorf("%s is read as %s", path, again)
			}
			name := strings.TrimSuffix(filepath.Base(path), ".golden")
			if b.Events[0].Kind().String() != name {
				t.Errorf("%s holds a %s", path, b.Events[0].Kind())
			}
			seen[name] = true
		}
	}
	for _, k := range Kinds() {
		if !seen[k.String()] {
			t.Errorf("no golden file for %s", k)
		}
	}
}

// TestKindRows compares the row of each kind with its type. The golden files pin the numbers: a
// number that another event had before fails TestGoldenFilesOfEveryFormatAreRead.
func TestKindRows(t *testing.T) {
	names := map[string]Kind{}
	for _, k := range Kinds() {
		e := New(k)
		if e.Kind() != k {
			t.Errorf("%s says it is %s", k, e.Kind())
		}
		if typ := reflect.TypeOf(e).Elem().Name(); typ != k.String() {
			t.Errorf("%s makes a %s", k, typ)
		}
		if other, ok := names[k.String()]; ok {
			t.Errorf("%d and %d are both %s", other, k, k)
		}
		names[k.String()] = k
		if KindNamed(k.String()) != k {
			t.Errorf("the kind named %s is %d", k, KindNamed(k.String()))
		}
		if told, ok := e.(Told); ok != k.Told() || ok && told.Text() == "" {
			t.Errorf("%s has no sentence, or its row does not say that it has one", k)
		}
	}
	if KindNamed("") != 0 || KindNamed("Nothing") != 0 || New(0) != nil || New(KindsEnd) != nil || New(999) != nil ||
		Kind(999).String() != "Event(999)" {
		t.Error("an unknown number makes something")
	}
}

// TestNumbersAreUnique checks that no event type can take the number of another.
func TestNumbersAreUnique(t *testing.T) {
	for _, k := range append(Kinds(), 0, KindsEnd) {
		before := k.String()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a second event may have number %d", k)
				}
			}()
			define[GangStarted](k)
		}()
		if k.String() != before {
			t.Errorf("number %d is %s now", k, k)
		}
	}
}

// TestEveryFieldIsInTheBytes checks that a change of any field changes the bytes.
func TestEveryFieldIsInTheBytes(t *testing.T) {
	for _, k := range Kinds() {
		whole := (&Batch{Events: []Event{sample(k)}}).Encode()
		for i := range reflect.TypeOf(sample(k)).Elem().NumField() {
			e := sample(k)
			f := reflect.ValueOf(e).Elem()
			f.Field(i).SetZero()
			if bytes.Equal(whole, (&Batch{Events: []Event{e}}).Encode()) {
				t.Errorf("%s.%s is not encoded", k, f.Type().Field(i).Name)
			}
		}
	}
}

// TestClasses names the events that are no facts. Callers do not wait for those that only count, and
// reports and the command line leave them out, so that none may get such a class by accident.
func TestClasses(t *testing.T) {
	got := map[Class][]Kind{}
	for _, k := range Kinds() {
		got[k.Class()] = append(got[k.Class()], k)
	}
	delete(got, Fact)
	want := map[Class][]Kind{Clock: {KindTimeAdvanced}, Counter: {KindAskCountersUpdated, KindAskMissesUpdated},
		Receipt: {KindRequestRecorded}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("events that are no facts: %v, want %v", got, want)
	}
}
