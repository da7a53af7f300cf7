package verb

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
)

// TestConfirmIf checks that nobody is asked to confirm a change that will be refused.
func TestConfirmIf(t *testing.T) {
	refused := errors.New("NO_SUCH_REPLICA")
	for _, of := range []struct {
		check error
		typed string
		asks  bool
		want  string
	}{
		{refused, "", false, refused.Error()},
		{nil, "rm9", true, ""},
		{nil, "no", true, clierr.CodeStopped},
	} {
		var said bytes.Buffer
		p := &Program{Streams: Streams{In: strings.NewReader(of.typed + "\n"), Err: &said, InTerminal: true, ErrTerminal: true}}
		c := &Call{Context: cli.NewContext(cli.NewApp(), flag.NewFlagSet("", flag.ContinueOnError), nil), Program: p}
		err := c.ConfirmIf(func() error { return of.check }, "rm9", "remove replica %s", "rm9")
		if asked := strings.Contains(said.String(), `Type "rm9"`); asked != of.asks {
			t.Errorf("%+v: it says %q", of, said.String())
		}
		if (err == nil) != (of.want == "") || err != nil && !strings.Contains(err.Error(), of.want) {
			t.Errorf("%+v: %v", of, err)
		}
	}
}
