package verb

import (
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/output"
	"rmd/config"
)

// span is the duration of a flag. A number without a unit is in seconds.
type span struct{ time.Duration }

// Set implements cli.Generic.
func (s *span) Set(text string) error {
	d, err := config.ParseDuration(text)
	if err == nil {
		s.Duration = d
	}
	return err
}

func (s *span) String() string {
	if s == nil || s.Duration == 0 {
		return ""
	}
	text := s.Duration.String()
	for _, whole := range []string{"m0s", "h0m"} { // 1h instead of 1h0m0s
		if strings.HasSuffix(text, whole) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// SpanFlag returns a flag with a duration.
func SpanFlag(name, usage string, def time.Duration, env ...string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, Usage: usage, Value: &span{def}, EnvVars: env}
}

// GlobalFlags returns the flags of every command. Tests use env for the environment, because the
// library itself reads only the real one.
func GlobalFlags(env func(string) (string, bool)) []cli.Flag {
	def := client.DefaultConfig()
	from := func(name, or string) string {
		if env != nil {
			if v, ok := env(name); ok && v != "" {
				return v
			}
		}
		return or
	}
	timeout := &span{def.Timeout}
	badTimeout := from("RMD_TIMEOUT", "")
	if badTimeout != "" && timeout.Set(badTimeout) == nil {
		badTimeout = ""
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "addr",
			Usage: "REST addresses of replicas, comma list; of several the leader is preferred [$RMD_ADDR]",
			Value: from("RMD_ADDR", strings.Join(def.Addrs, ","))},
		OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: " [$RMD_OUTPUT]",
			Value: from("RMD_OUTPUT", "table")}, PlainWords(output.Formats()...)...),
		&cli.GenericFlag{Name: "timeout", Usage: "time limit; a bare number is seconds [$RMD_TIMEOUT]", Value: timeout},
		Fill(Files, &cli.StringFlag{Name: "cacert", Usage: "CA of the replicas' certificates, PEM [$RMD_CACERT]",
			Value: from("RMD_CACERT", "")}),
		Fill(Files, &cli.StringFlag{Name: "cert", Usage: "client certificate, PEM [$RMD_CERT]", Value: from("RMD_CERT", "")}),
		Fill(Files, &cli.StringFlag{Name: "key", Usage: "key of the client certificate, PEM [$RMD_KEY]",
			Value: from("RMD_KEY", "")}),
		&cli.StringFlag{Name: "as", Usage: "the user to act as [$RMD_USER]", Value: from("RMD_USER", ""),
			DefaultText: "the login name"},
		&cli.BoolFlag{Name: "stale", Usage: "read the called replica's own state, which may be outdated, without the leader",
			Value: from("RMD_STALE", "") == "true"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no headers and no messages"},
		&cli.BoolFlag{Name: "no-color", Usage: "print without colors [$NO_COLOR]", Value: from("NO_COLOR", "") != ""},
		OneOf(&cli.StringFlag{Name: "log-level", Usage: " [$RMD_LOG_LEVEL]", Value: from("RMD_LOG_LEVEL", ""),
			DefaultText: "depends on the command"},
			PlainWords("trace", "debug", "info", "warn", "error", "off")...),
		&cli.StringFlag{Name: badTimeoutFlag, Hidden: true, Value: badTimeout},
	}
}

// badTimeoutFlag contains an invalid RMD_TIMEOUT until the command checks the flags and refuses the
// value.
const badTimeoutFlag = "bad-timeout-in-environment"

// WatchFlags returns the flags of every command with --watch.
func WatchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "repeat until Ctrl-C"},
		SpanFlag("every", "interval of --watch", 2*time.Second),
	}
}

// LoginName returns the name of the user who runs this process.
func LoginName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// DryRunFlag returns the flag of commands that can say what they would do.
func DryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "change nothing; only check"}
}

// Number is the flag for the number of things that a command shows or takes. Some commands call it
// --count and others --limit, so each takes both names. The help shows only the command's own.
type Number struct{ *cli.IntFlag }

// Synonyms implements argparse.Synonymous.
func (n Number) Synonyms() []string {
	return slices.DeleteFunc([]string{"count", "limit"}, func(name string) bool { return name == n.Name })
}
