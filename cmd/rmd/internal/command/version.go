package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/release"
)

// The linker sets version and commit for packages and archives.
var version, commit string

// Version returns the version of this program. A program that is not from a package or an archive is
// a development version, whatever its commit.
func Version() string { return cmp.Or(version, release.Current()+"-dev") }

// Commit returns the commit of this program, or "" if the build did not record it.
func Commit() string {
	if commit != "" {
		return commit
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

func versionVerb() verb.Verb {
	return verb.Verb{Name: "version", Usage: "show the version of this program and the commit that it was built from",
		Examples: []string{"rmd version -o json"},
		Run: func(c *verb.Call) error {
			if f := c.Format(); f != output.Table && f != output.Wide && f != output.Name {
				doc, err := json.Marshal(map[string]string{"version": Version(), "commit": Commit(), "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH})
				if err != nil {
					return err
				}
				if f == output.JSONL {
					return verb.WriteCompact(c.Program.Out, doc)
				}
				return output.WriteDocument(c.Program.Out, f, doc)
			}
			if c.Format() == output.Name || c.Quiet() {
				_, err := fmt.Fprintln(c.Program.Out, Version())
				return err
			}
			return output.WriteFacts(c.Program.Out, []output.Fact{
				{Name: "rmd", Value: Version()}, {Name: "commit", Value: cmp.Or(Commit(), "unknown")},
				{Name: "go", Value: runtime.Version()},
				{Name: "platform", Value: runtime.GOOS + "/" + runtime.GOARCH},
			}, c.Cut())
		}}
}
