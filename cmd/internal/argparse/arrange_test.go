package argparse

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/internal/exitcode"
)

func testApp() *cli.App {
	return &cli.App{
		Name: "rmd",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}}, &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
		},
		Commands: []*cli.Command{
			{Name: "app", Subcommands: []*cli.Command{
				{Name: "list", Aliases: []string{"ls"}, Flags: []cli.Flag{&cli.StringSliceFlag{Name: "state"},
					&cli.BoolFlag{Name: "all"}, &cli.StringFlag{Name: "user"}}},
				{Name: "status"}, {Name: "explain"},
				{Name: "kill", Flags: []cli.Flag{&cli.StringFlag{Name: "reason"}, &cli.IntFlag{Name: "count"}}},
			}},
			{Name: "version"},
		},
	}
}

func TestArrange(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"rmd", "rmd"},
		{"rmd app list", "rmd app list"},
		{"rmd app list x -o json", "rmd --o=json|-o=json app list -- x"},
		{"rmd -o json app list", "rmd -o=json app list"},
		{"rmd app -o json list --all", "rmd -o=json app list --all"},
		{"rmd app ls --state A --state B x --quiet y", "rmd --quiet app list --state=A --state=B -- x y"},
		{"rmd app kill id -5 --reason why", "rmd app kill --reason=why -- id -5"},
		{"rmd app kill --reason=a=b id", "rmd app kill --reason=a=b -- id"},
		{"rmd app kill -- --reason x", "rmd app kill -- --reason x"},
		{"rmd app kill id -", "rmd app kill -- id -"},
		{"rmd help app list", "rmd app list --help"},
		{"rmd app list -h", "rmd app list -h"},
		{"rmd app kill id --help --reason why", "rmd app kill --help --reason=why"},
		{"rmd app kill -h id -- other", "rmd app kill -h"},
		{"rmd app kill -- --help", "rmd app kill -- --help"},
		{"rmd app list --reason=x", "UNKNOWN_FLAG"},
		{"rmd app list --outputt json", "UNKNOWN_FLAG did you mean --output?"},
		{"rmd --version", "rmd version"},
		{"rmd -v -o json", "rmd -o=json version"},
		{"rmd --versio", "UNKNOWN_FLAG"},
		{"rmd app --ls", "UNKNOWN_FLAG did you mean rmd app list?"},
		{"rmd app list --version", "UNKNOWN_FLAG see rmd app list --help"},
		{"rmd ap list", "UNKNOWN_COMMAND did you mean app?"},
		{"rmd app lis", "UNKNOWN_COMMAND did you mean list?"},
		{"rmd app show x", "UNKNOWN_COMMAND did you mean status or explain?"},
		{"rmd app describe x", "UNKNOWN_COMMAND did you mean status or explain?"},
		{"rmd explain x", "UNKNOWN_COMMAND did you mean rmd app explain?"},
		{"rmd app rm x", "UNKNOWN_COMMAND did you mean kill?"},
		{"rmd app kill --limit 3", "UNKNOWN_FLAG did you mean --count?"},
		{"rmd app kill --message x", "UNKNOWN_FLAG did you mean --reason?"},
		{"rmd app list --format json", "UNKNOWN_FLAG did you mean --output?"},
		{"rmd app list -o", "USAGE -o needs a value"},
		{"rmd app list --user --all", "USAGE --user needs a value"},
		{"rmd app list -o json -o yaml", "USAGE is given twice"},
		{"rmd app list -o json -o json", "rmd -o=json -o=json app list"},
	} {
		t.Run(c.in, func(t *testing.T) {
			got, err := Arrange(testApp(), strings.Fields(c.in))
			if err != nil {
				code, text, _ := strings.Cut(c.want, " ")
				if e := clierr.From(err); e.Code != code || !strings.Contains(e.Error(), text) {
					t.Fatalf("error %q, want %q", err, c.want)
				}
				if clierr.Code(err) != exitcode.Usage {
					t.Fatalf("exit %d", clierr.Code(err))
				}
				return
			}
			if want := strings.Replace(c.want, "--o=json|", "", 1); strings.Join(got, " ") != want {
				t.Fatalf("got  %q\nwant %q", strings.Join(got, " "), want)
			}
		})
	}
}

// FuzzArrange checks that no argument is lost or changed.
func FuzzArrange(f *testing.F) {
	f.Add("app kill a b --reason x -5 -- c")
	f.Add("-o json app list --state= --all")
	f.Fuzz(func(t *testing.T, line string) {
		args := append([]string{"rmd"}, strings.Fields(line)...)
		got, err := Arrange(testApp(), args)
		if err != nil {
			return
		}
		i := slices.Index(got, "--")
		if i < 0 {
			return
		}
		for _, a := range got[i+1:] {
			if !slices.Contains(args, a) {
				t.Fatalf("%q made %q of %q", a, got, args)
			}
		}
	})
}
