package command

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/yarn"
)

// Default lifetimes of access tokens and client certificates.
const (
	accessTTL         = 720 * time.Hour
	certificateTTL    = 365 * 24 * time.Hour
	certificateTTLMax = 10 * certificateTTL
)

func accessVerbs() verb {
	return noun("access", "access control: tokens and certificates with roles",
		noun("token", "access tokens", accessCreate(), accessList(), accessRevoke()),
		noun("certificate", "client certificates with a role", accessCertificate(), revokeCertificate(), listRevoked()),
		accessWho())
}

func roleFlag() cli.Flag {
	return oneOf(&cli.StringFlag{Name: "role"}, named(yarn.Roles())...)
}

// role reads --role. The flag has no default, so nobody gets a role by mistake.
func (c *call) role() (string, error) {
	if c.String("role") == "" {
		return "", clierr.Usagef("write --role "+alternatives(wordsOf(named(yarn.Roles()))), "--role is missing")
	}
	return c.String("role"), nil
}

func accessCreate() verb {
	return verb{
		name: "create", usage: "create an access token and print it once",
		long: "After the first token, every change requires a role, on the replicas' own machines too.\nThe first token must have the role admin. -q prints only the token, for a file.",
		flags: []cli.Flag{
			roleFlag(),
			&cli.StringFlag{Name: "name", Usage: "name of the owner"},
			spanFlag("ttl", "validity", accessTTL),
			&cli.BoolFlag{Name: "replace", Usage: "give an existing token a new secret, role and expiry"},
			&cli.BoolFlag{Name: "force", Usage: "even if no remaining token can change access"},
		},
		examples: []string{"(umask 077; rmd access token create --name ci --role submit --ttl 24h > token)"},
		run: func(c *call) error {
			role, err := c.role()
			if err != nil {
				return err
			}
			if c.String("name") == "" {
				return clierr.Usagef("write --name ci", "--name is missing")
			}
			cl, err := c.client()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.ctx(), "/v1/access/tokens", api.AccessTokenRequest{Name: c.String("name"), Role: role,
				TTL: api.Duration(c.span("ttl").Duration), Replace: c.Bool("replace"), Force: c.Bool("force")})
			if err != nil {
				return err
			}
			var d api.AccessTokenMade
			if err := a.Decode(&d); err != nil {
				return err
			}
			switch f := c.format(); f {
			case output.JSON, output.YAML:
				return output.WriteDocument(c.p.Out, f, a.Body)
			case output.JSONL:
				return writeCompact(c.p.Out, a.Body)
			}
			if _, err := fmt.Fprintln(c.p.Out, d.Token); err != nil {
				return err
			}
			c.printMessage("token %s has the role %s until %s; save it in a file for --token-file: it is not shown again", d.Name, d.Role, output.Time(d.ExpiresMillis))
			return nil
		},
	}
}

func accessList() verb {
	list := output.List[api.AccessToken]{
		Name: func(t api.AccessToken) string { return t.Name }, Empty: "no access tokens: any program on a replica's own machine may do everything",
		Columns: []output.Column[api.AccessToken]{
			{Head: "NAME", Text: func(t api.AccessToken) string { return t.Name }},
			{Head: "ROLE", Text: func(t api.AccessToken) string { return t.Role }},
			{Head: "EXPIRES", Text: func(t api.AccessToken) string { return output.Time(t.ExpiresMillis) }, Key: func(t api.AccessToken) float64 { return float64(t.ExpiresMillis) }},
			{Head: "EXPIRED", Text: func(t api.AccessToken) string { return output.YesNo(t.Expired) }},
			{Head: "CHANGED", Text: func(t api.AccessToken) string { return output.Time(t.ChangedMillis) }, Key: func(t api.AccessToken) float64 { return float64(t.ChangedMillis) }},
			{Head: "BY", Text: func(t api.AccessToken) string { return t.By }, Shrink: true},
		},
	}
	return verb{name: "list", usage: "list access tokens, without their secrets", flags: listFlags(list),
		examples: []string{"rmd access token list"},
		run: func(c *call) error {
			return showList(c, list, func(ctx context.Context) (f fetched[api.AccessToken], err error) {
				var d api.AccessTokens
				f.doc, err = c.get(ctx, "/v1/access/tokens", nil, &d)
				f.things = d.Tokens
				return f, err
			})
		}}
}

func accessRevoke() verb {
	return verb{
		name: "revoke", usage: "revoke an access token; it becomes invalid at once", args: "NAME", min: 1, max: 1,
		long:     "After you revoke the last token, any program on the replicas' own machines may change everything again.",
		flags:    []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "even if no remaining token can change access"}},
		examples: []string{"rmd access token revoke ci"},
		complete: []source{accessTokens},
		run: func(c *call) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var q url.Values
			if c.Bool("force") {
				q = url.Values{"force": {""}}
			}
			a, err := cl.Delete(c.ctx(), "/v1/access/tokens/"+url.PathEscape(c.arg(0)), q)
			if err != nil {
				return err
			}
			return showDone(c, a, c.arg(0), "revoked %s", c.arg(0))
		},
	}
}

func accessWho() verb {
	return verb{name: "whoami", usage: "show the name and role that the replica assigns to the caller, or the short name of a Kerberos principal",
		flags:    []cli.Flag{&cli.StringFlag{Name: "principal", Usage: "show what hadoop.security.auth_to_local of the replica makes of a Kerberos principal, and which rule decides"}},
		examples: []string{"rmd access whoami -o json", "rmd access whoami --principal nm/n1.example.com@EXAMPLE.COM"},
		run: func(c *call) error {
			return showFacts(c, func() string { return "access" }, func(ctx context.Context) ([]byte, []output.Fact, error) {
				var d api.Access
				var q url.Values
				if p := c.String("principal"); p != "" {
					q = url.Values{"principal": {p}}
				}
				doc, err := c.get(ctx, "/v1/access", q, &d)
				if p := d.Principal; err == nil && p != nil {
					return doc, principalFacts(p), nil
				}
				return doc, []output.Fact{{Name: "name", Value: fmt.Sprint(orDash(d.Name))}, {Name: "role", Value: d.Role}, {Name: "by", Value: d.By},
					{Name: "http.auth", Value: d.Auth}, {Name: "changes need a role", Value: output.YesNo(d.Guarded)}}, err
			})
		}}
}

func principalFacts(p *api.PrincipalName) []output.Fact {
	rule := "none"
	if p.Rule > 0 {
		rule = fmt.Sprintf("%d: %s", p.Rule, p.Text)
	}
	facts := []output.Fact{{Name: "principal", Value: p.Principal}, {Name: "short name", Value: fmt.Sprint(orDash(p.Short))}, {Name: "rule", Value: rule}}
	if p.Refused != "" {
		facts = append(facts, output.Fact{Name: "refused", Value: p.Refused})
	}
	return facts
}

var certificateName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func accessCertificate() verb {
	return verb{
		name: "create", usage: "create a client certificate with a role; needs the CA's key and contacts no replica",
		long: "Run it where \"rmd init --tls\" created the CA. Give NAME.pem, NAME-key.pem and ca.pem to the owner, for --cert, --key and --cacert. \"rmd access certificate revoke\" revokes it.",
		flags: []cli.Flag{
			roleFlag(),
			&cli.StringFlag{Name: "name", Usage: "name of the owner"},
			authorityFlag(),
			&cli.StringFlag{Name: "cluster", Usage: "name of the cluster", Value: "rmd"},
			spanFlag("ttl", "validity; at most ten years", certificateTTL),
		},
		examples: []string{"rmd access certificate create --name ann --role operator --dir /etc/rmd"},
		run: func(c *call) error {
			role, err := c.role()
			if err != nil {
				return err
			}
			name, life := c.String("name"), c.span("ttl").Duration
			switch {
			case !certificateName.MatchString(name):
				return clierr.Usagef("write --name alice", "--name: %q is not 1 to 64 letters, digits, '.', '_', '@', '-'", name)
			case life < time.Minute || life > certificateTTLMax:
				return clierr.Usagef("write --ttl 720h", "--ttl %s is not a minute to ten years", life)
			}
			return c.issueClient(role, name, life)
		},
	}
}

func (c *call) issueClient(role, name string, life time.Duration) error {
	ca, dir, err := c.authority(c.String("cluster"))
	if err != nil {
		return err
	}
	files, err := ca.IssueClient(dir, c.String("cluster"), role, name, life, time.Now())
	if os.IsExist(err) {
		return clierr.New(clierr.CodeExists, "choose another --name, or remove the file", "a certificate of %s already exists", name)
	}
	if err != nil {
		return err
	}
	c.printMessage("%s has the role %s until %s", name, role, time.Now().Add(life).Format(time.DateOnly))
	_, err = fmt.Fprintln(c.p.Out, files.Cert)
	return err
}
