package verb

import (
	"bytes"
	"net/url"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/config"
	"rmd/internal/filemode"
)

// TokenMax is the maximum size of a token file in bytes.
const TokenMax = 4096

// TokenFileFlag names a file with an access token. "cluster join" has a flag of the same name for
// its join token. With that command, this flag must be before the word "cluster".
func (p *Program) TokenFileFlag() cli.Flag {
	return Fill(Files, &cli.StringFlag{Name: "token-file",
		Usage:       "file with an access token; $RMD_TOKEN can contain the token itself [$RMD_TOKEN_FILE]",
		Destination: &p.tokenFile, Value: p.env("RMD_TOKEN_FILE")})
}

func (p *Program) env(name string) string {
	if p.Env == nil {
		return ""
	}
	v, _ := p.Env(name)
	return v
}

// accessToken returns the access token for requests, or "" if there is none.
func (p *Program) accessToken() (string, error) {
	file := p.tokenFile
	if file == "" {
		return checkToken("RMD_TOKEN", p.env("RMD_TOKEN"))
	}
	b, err := ReadFile(file, TokenMax)
	if err != nil {
		return "", clierr.New(clierr.CodeFile, "name a file that contains an access token",
			"cannot read the access token: %v", err)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return "", clierr.New(clierr.CodeFile, "name a file that contains only an access token",
			"%s contains no access token", file)
	}
	return checkToken(file, string(b))
}

// AccessToken returns the program's access token. It warns if other users can read its file.
func (c *Call) AccessToken() (string, error) {
	c.WarnReadable(c.Program.tokenFile)
	return c.Program.accessToken()
}

// warnPlain warns once if an access token goes to another machine over plain HTTP.
func (c *Call) warnPlain(addrs []string) {
	for _, a := range addrs {
		if u, err := url.Parse(a); err == nil && u.Scheme == "http" && !config.Loopback(u.Hostname()) {
			c.warnOnce(a, "warning: the access token goes to %s unencrypted, and others on the way can read it; "+
				"name an https:// address, with --cacert", a)
			return
		}
	}
}

// warnOnce prints a warning about a subject, unless the program has already done so.
func (c *Call) warnOnce(subject, format string, args ...any) {
	if c.Program.warned[subject] {
		return
	}
	if c.Program.warned == nil {
		c.Program.warned = map[string]bool{}
	}
	c.Program.warned[subject] = true
	c.PrintMessage(format, args...)
}

// WarnReadable warns once if other users can read a file with a token. It does not refuse the file,
// because a shell creates such a file in "rmd cluster token create > token", and containers mount
// secrets with this mode.
func (c *Call) WarnReadable(file string) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || filemode.Secret(info) {
		return
	}
	c.warnOnce(file, "warning: %s has mode %#o, so others can read the token; chmod 600 it", file, info.Mode().Perm())
}

// checkToken refuses a token that cannot be in an HTTP header. The error does not contain the
// token.
func checkToken(from, text string) (string, error) {
	token := strings.TrimSpace(text)
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return "", clierr.Usagef("use the token alone, as \"rmd access token create -q\" prints it",
				"the content of %s is not an access token", from)
		}
	}
	return token, nil
}
