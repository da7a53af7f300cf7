package twin

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestHistoriesShareNoVariables checks that the Java side has no static variables except constants.
// For Hadoop, attempts of two histories with the same id are equal, and the time of garbage
// collection would matter.
func TestHistoriesShareNoVariables(t *testing.T) {
	variable := regexp.MustCompile(`^\s+(?:(?:public|private|protected) )?static [^(]*[=;]`)
	constant := regexp.MustCompile(`static final (?:Field|Method|Logger|String|long|Comparator<\w+>) [A-Za-z_]+( =|;)`)
	constants := 0
	err := filepath.WalkDir("../interop/java", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(filepath.Base(path), "Twin") {
			return err
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case !variable.MatchString(line):
			case constant.MatchString(line):
				constants++
			default:
				t.Errorf(
					"%s:%d: a static variable outlives its history; put it into an object that Twin makes for each history: %s", path,
					i+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil || constants == 0 {
		t.Fatalf("%d constants, %v", constants, err)
	}
}

// TestJVMMessagesNotObservations checks that messages of the JVM are not taken for observations.
func TestJVMMessagesNotObservations(t *testing.T) {
	if *record == "" {
		t.Skip("needs Java: give -record, the folder of interop/fetch")
	}
	t.Setenv("JAVA_TOOL_OPTIONS", "-Xlog:gc")
	hadoop, err := StartHadoop(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer hadoop.Close()
	if o, err := hadoop.Play(Parse("set", "set a b\n")); err != nil || len(o[0]) > 0 {
		t.Errorf("a step that sets a property is observed as %q, %v", o, err)
	}
}

// TestHistoriesAreIndependent checks that earlier histories of a JVM do not affect later ones.
// Hadoop keeps the metrics of queues after a scheduler has ended, and a pass reads from them what a
// parent has reserved.
func TestHistoriesAreIndependent(t *testing.T) {
	if *record == "" {
		t.Skip("needs Java: give -record, the folder of interop/fetch")
	}
	hadoop, err := StartHadoop(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer hadoop.Close()
	reserves := Parse("reserves",
		"set yarn.scheduler.capacity.resource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator\n"+
			"set yarn.scheduler.capacity.root.queues b\nset yarn.scheduler.capacity.root.b.capacity 100\n"+
			"set yarn.scheduler.capacity.root.b.queues b\nset yarn.scheduler.capacity.root.b.b.capacity 100\n"+
			"set yarn.scheduler.capacity.root.b.b.queues a\nset yarn.scheduler.capacity.root.b.b.a.capacity 100\n"+
			"set yarn.scheduler.capacity.maximum-am-resource-percent 1\nstart\nnode h0 /r0 5120,8\nnode h1 /r0 2048,8\nsubmit 1 root.b.b.a u1 0 1024,1\nbeat h0\n"+
			"allocate 1 ask=1.0:*:2:3072,4\nbeat h0\nbeat h0\n")
	if o, err := hadoop.Play(reserves); err != nil ||
		!slices.Contains(o[len(o)-1], "ask 1 1.0 held=1 again=0 3072,4 *=1") {
		t.Fatalf("%v, no reservation at the end of %v", err, o)
	}
	text, err := os.ReadFile("testdata/reservation-above-the-limit.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := ParseRecording("reservation-above-the-limit", string(text))
	after, err := hadoop.Play(r.History)
	if err != nil {
		t.Fatal(err)
	}
	if d := Compare(r.History, after, r.Hadoop); d != nil {
		t.Errorf("another history was played before, and Hadoop's scheduler holds something else:\n%s", d.Report(r.History))
	}
}
