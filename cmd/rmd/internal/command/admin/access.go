package admin

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
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/yarn"
)

// Default lifetimes of access tokens and client certificates.
const (
	accessTTL         = 720 * time.Hour
	CertificateTTL    = 365 * 24 * time.Hour
	certificateTTLMax = 10 * CertificateTTL
)

// AccessVerbs returns the commands of access control.
func AccessVerbs() verb.Verb {
	return verb.Noun("access", "access control: tokens and certificates with roles",
		verb.Noun("token", "access tokens", accessCreate(), accessList(), accessRevoke()),
		verb.Noun("certificate", "client certificates with a role", accessCertificate(), revokeCertificate(), listRevoked()),
		accessWho())
}

func roleFlag() cli.Flag {
	return verb.OneOf(&cli.StringFlag{Name: "role"}, verb.Named(yarn.Roles())...)
}

// role reads --role. The flag has no default, so nobody gets a role by mistake.
func role(c *verb.Call) (string, error) {
	if c.String("role") == "" {
		return "", clierr.Usagef("write --role "+verb.Alternatives(verb.WordsOf(verb.Named(yarn.Roles()))),
			"--role is missing")
	}
	return c.String("role"), nil
}

func accessCreate() verb.Verb {
	return verb.Verb{
		Name: "create", Usage: "create an access token and print it once",
		Long: "After the first token, every change requires a role, on the replicas' own machines too.\nThe first token must have the role admin. -q prints only the token, for a file.",
		Flags: []cli.Flag{
			roleFlag(),
			&cli.StringFlag{Name: "name", Usage: "name of the owner"},
			verb.SpanFlag("ttl", "validity", accessTTL),
			&cli.BoolFlag{Name: "replace", Usage: "give an existing token a new secret, role and expiry"},
			&cli.BoolFlag{Name: "force", Usage: "even if no remaining token can change access"},
		},
		Changes:  true,
		Examples: []string{"(umask 077; rmd access token create --name ci --role submit --ttl 24h > token)"},
		Run: func(c *verb.Call) error {
			role, err := role(c)
			if err != nil {
				return err
			}
			if c.String("name") == "" {
				return clierr.Usagef("write --name ci", "--name is missing")
			}
			cl, err := c.Client()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.Ctx(), "/v1/access/tokens", api.AccessTokenRequest{Name: c.String("name"), Role: role,
				TTL: api.Duration(c.Span("ttl")), Replace: c.Bool("replace"), Force: c.Bool("force")})
			if err != nil {
				return err
			}
			var d api.AccessTokenMade
			if err := a.Decode(&d); err != nil {
				return err
			}
			switch f := c.Format(); f {
			case output.JSON, output.YAML:
				return output.WriteDocument(c.Program.Out, f, a.Body)
			case output.JSONL:
				return verb.WriteCompact(c.Program.Out, a.Body)
			}
			if _, err := fmt.Fprintln(c.Program.Out, d.Token); err != nil {
				return err
			}
			c.PrintMessage("token %s has the role %s until %s; save it in a file for --token-file: it is not shown again",
				d.Name, d.Role, output.Time(d.ExpiresMillis))
			return nil
		},
	}
}

func accessList() verb.Verb {
	list := output.List[api.AccessToken]{
		Name:  func(t api.AccessToken) string { return t.Name },
		Empty: "no access tokens: any program on a replica's own machine may do everything",
		Columns: []output.Column[api.AccessToken]{
			{Head: "NAME", Text: func(t api.AccessToken) string { return t.Name }},
			{Head: "ROLE", Text: func(t api.AccessToken) string { return t.Role }},
			{Head: "EXPIRES", Text: func(t api.AccessToken) string {
				return output.Time(t.ExpiresMillis)
			}, Key: func(t api.AccessToken) float64 { return float64(t.ExpiresMillis) }},
			{Head: "EXPIRED", Text: func(t api.AccessToken) string { return output.YesNo(t.Expired) }},
			{Head: "CHANGED", Text: func(t api.AccessToken) string {
				return output.Time(t.ChangedMillis)
			}, Key: func(t api.AccessToken) float64 { return float64(t.ChangedMillis) }},
			{Head: "BY", Text: func(t api.AccessToken) string { return t.By }, Shrink: true},
		},
	}
	return verb.Verb{Name: "list", Usage: "list access tokens, without their secrets", Flags: verb.ListFlags(list),
		Examples: []string{"rmd access token list"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, list, func(ctx context.Context) (f verb.Fetched[api.AccessToken], err error) {
				var d api.AccessTokens
				f.Doc, err = c.Get(ctx, "/v1/access/tokens", nil, &d)
				f.Things = d.Tokens
				return f, err
			})
		}}
}

func accessRevoke() verb.Verb {
	return verb.Verb{
		Name: "revoke", Usage: "revoke an access token; it becomes invalid at once", Args: "NAME", Min: 1, Max: 1,
		Long:     "After you revoke the last token, any program on the replicas' own machines may change everything again.",
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "even if no remaining token can change access"}},
		Changes:  true,
		Examples: []string{"rmd access token revoke ci"},
		Complete: []verb.Source{verb.AccessTokens},
		Run: func(c *verb.Call) error {
			cl, err := c.Client()
			if err != nil {
				return err
			}
			var q url.Values
			if c.Bool("force") {
				q = url.Values{"force": {""}}
			}
			a, err := cl.Delete(c.Ctx(), "/v1/access/tokens/"+url.PathEscape(c.Arg(0)), q)
			if err != nil {
				return err
			}
			return verb.ShowDone(c, a, c.Arg(0), "revoked %s", c.Arg(0))
		},
	}
}

func accessWho() verb.Verb {
	return verb.Verb{Name: "whoami",
		Usage: "show the name and role that the replica assigns to the caller, or the short name of a Kerberos principal",
		Flags: []cli.Flag{&cli.StringFlag{Name: "principal",
			Usage: "show what hadoop.security.auth_to_local of the replica makes of a Kerberos principal, and which rule decides"}},
		Examples: []string{"rmd access whoami -o json", "rmd access whoami --principal nm/n1.example.com@EXAMPLE.COM"},
		Run: func(c *verb.Call) error {
			return verb.ShowFacts(c, func() string { return "access" },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var d api.Access
					var q url.Values
					if p := c.String("principal"); p != "" {
						q = url.Values{"principal": {p}}
					}
					doc, err := c.Get(ctx, "/v1/access", q, &d)
					if p := d.Principal; err == nil && p != nil {
						return doc, principalFacts(p), nil
					}
					return doc, []output.Fact{{Name: "name", Value: fmt.Sprint(verb.OrDash(d.Name))}, {Name: "role", Value: d.Role},
						{Name: "by", Value: d.By},
						{Name: "http.auth", Value: d.Auth}, {Name: "changes need a role", Value: output.YesNo(d.Guarded)}}, err
				})
		}}
}

func principalFacts(p *api.PrincipalName) []output.Fact {
	rule := "none"
	if p.Rule > 0 {
		rule = fmt.Sprintf("%d: %s", p.Rule, p.Text)
	}
	facts := []output.Fact{{Name: "principal", Value: p.Principal},
		{Name: "short name", Value: fmt.Sprint(verb.OrDash(p.Short))}, {Name: "rule", Value: rule}}
	if p.Refused != "" {
		facts = append(facts, output.Fact{Name: "refused", Value: p.Refused})
	}
	return facts
}

var certificateName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func accessCertificate() verb.Verb {
	return verb.Verb{
		Name: "create", Usage: "create a client certificate with a role; needs the CA's key and contacts no replica",
		Long: "Run it where \"rmd init --tls\" created the CA. Give NAME.pem, NAME-key.pem and ca.pem to the owner, for --cert, --key and --cacert. \"rmd access certificate revoke\" revokes it.",
		Flags: []cli.Flag{
			roleFlag(),
			&cli.StringFlag{Name: "name", Usage: "name of the owner"},
			authorityFlag(),
			&cli.StringFlag{Name: "cluster", Usage: "name of the cluster", Value: "rmd"},
			verb.SpanFlag("ttl", "validity; at most ten years", CertificateTTL),
		},
		Changes:  true,
		Examples: []string{"rmd access certificate create --name ann --role operator --dir /etc/rmd"},
		Run: func(c *verb.Call) error {
			role, err := role(c)
			if err != nil {
				return err
			}
			name, life := c.String("name"), c.Span("ttl")
			switch {
			case !certificateName.MatchString(name):
				return clierr.Usagef("write --name alice", "--name: %q is not 1 to 64 letters, digits, '.', '_', '@', '-'", name)
			case life < time.Minute || life > certificateTTLMax:
				return clierr.Usagef("write --ttl 720h", "--ttl %s is not a minute to ten years", life)
			}
			return issueClient(c, role, name, life)
		},
	}
}

func issueClient(c *verb.Call, role, name string, life time.Duration) error {
	ca, dir, err := authority(c, c.String("cluster"))
	if err != nil {
		return err
	}
	files, err := ca.IssueClient(dir, c.String("cluster"), role, name, life, time.Now())
	if os.IsExist(err) {
		return clierr.New(clierr.CodeExists, "choose another --name, or remove the file",
			"a certificate of %s already exists", name)
	}
	if err != nil {
		return err
	}
	c.PrintMessage("%s has the role %s until %s", name, role, time.Now().Add(life).Format(time.DateOnly))
	_, err = fmt.Fprintln(c.Program.Out, files.Cert)
	return err
}
