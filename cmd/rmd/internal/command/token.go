package command

import (
	"bytes"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/internal/filemode"
)

// tokenMax is the maximum size of a token file in bytes.
const tokenMax = 4096

// tokenFileFlag names a file with an access token. "cluster join" has a flag of the same name for
// its join token. With that command, this flag must be before the word "cluster".
func (p *program) tokenFileFlag() cli.Flag {
	return fill(files, &cli.StringFlag{Name: "token-file", Usage: "file with an access token; $RMD_TOKEN can contain the token itself [$RMD_TOKEN_FILE]", Destination: &p.tokenFile, Value: p.env("RMD_TOKEN_FILE")})
}

func (p *program) env(name string) string {
	if p.Env == nil {
		return ""
	}
	v, _ := p.Env(name)
	return v
}

// accessToken returns the access token for requests, or "" if there is none.
func (p *program) accessToken() (string, error) {
	file := p.tokenFile
	if file == "" {
		return checkToken("RMD_TOKEN", p.env("RMD_TOKEN"))
	}
	b, err := readFile(file, tokenMax)
	if err != nil {
		return "", clierr.New(clierr.CodeFile, "name a file that contains an access token", "cannot read the access token: %v", err)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return "", clierr.New(clierr.CodeFile, "name a file that contains only an access token", "%s contains no access token", file)
	}
	return checkToken(file, string(b))
}

// accessToken returns the program's access token. It warns if other users can read its file.
func (c *call) accessToken() (string, error) {
	c.warnReadable(c.p.tokenFile)
	return c.p.accessToken()
}

// warnReadable warns once if other users can read a file with a token. It does not refuse the file,
// because a shell creates such a file in "rmd cluster token create > token", and containers mount
// secrets with this mode.
func (c *call) warnReadable(file string) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || filemode.Secret(info) || c.p.warned[file] {
		return
	}
	if c.p.warned == nil {
		c.p.warned = map[string]bool{}
	}
	c.p.warned[file] = true
	c.printMessage("warning: %s has mode %#o, so others can read the token; chmod 600 it", file, info.Mode().Perm())
}

// checkToken refuses a token that cannot be in an HTTP header. The error does not contain the
// token.
func checkToken(from, text string) (string, error) {
	token := strings.TrimSpace(text)
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return "", clierr.Usagef("use the token alone, as \"rmd access token create -q\" prints it", "the content of %s is not an access token", from)
		}
	}
	return token, nil
}
