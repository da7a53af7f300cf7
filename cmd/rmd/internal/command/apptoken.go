package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/output"
)

var appTokenColumns = output.List[api.AppToken]{
	Name:  func(t api.AppToken) string { return fmt.Sprint(t.Number) },
	Empty: "no tokens of applications",
	Columns: []output.Column[api.AppToken]{
		{Head: "TOKEN", Text: func(t api.AppToken) string { return fmt.Sprint(t.Number) }, Key: func(t api.AppToken) float64 { return float64(t.Number) }, Right: true},
		{Head: "KIND", Text: func(t api.AppToken) string { return t.Kind }, Shrink: true},
		{Head: "SERVICE", Text: func(t api.AppToken) string { return t.Service }, Shrink: true},
		{Head: "STATE", Text: func(t api.AppToken) string { return t.State }},
		{Head: "END", Text: func(t api.AppToken) string { return output.Time(t.EndMillis) }, Key: func(t api.AppToken) float64 { return float64(t.EndMillis) }},
		{Head: "FAILS", Text: func(t api.AppToken) string { return output.Number(t.Failures) }, Key: func(t api.AppToken) float64 { return float64(t.Failures) }, Right: true},
		{Head: "APPS", Text: func(t api.AppToken) string { return output.Number(t.AppCount) }, Key: func(t api.AppToken) float64 { return float64(t.AppCount) }, Right: true},
		{Head: "OWNER", Text: func(t api.AppToken) string { return t.Owner }, Spare: true, Shrink: true},
		{Head: "RENEWER", Wide: true, Text: func(t api.AppToken) string { return t.Renewer }},
		{Head: "NEXT", Wide: true, Text: func(t api.AppToken) string { return output.Time(t.NextMillis) }, Key: func(t api.AppToken) float64 { return float64(t.NextMillis) }},
		{Head: "MAX", Wide: true, Text: func(t api.AppToken) string { return output.Time(t.MaxMillis) }, Key: func(t api.AppToken) float64 { return float64(t.MaxMillis) }},
		{Head: "ERROR", Wide: true, Text: func(t api.AppToken) string { return t.LastError }},
	},
}

var appTokenStates = []candidate{{word: "new"}, {word: "kept"}, {word: "lost"}, {word: "ending"}}

func appTokenVerbs() verb {
	return noun("token", "tokens that applications carry for HDFS and other services", appTokenList())
}

func appTokenList() verb {
	return verb{name: "list", aliases: []string{"ls"}, usage: "list the tokens of applications that rmd renews", flags: append([]cli.Flag{
		fill(apps, &cli.StringFlag{Name: "app", Usage: "only of this application"}), oneOf(&cli.StringFlag{Name: "state"}, appTokenStates...),
	}, listFlags(appTokenColumns)...),
		long:     "Passwords and identifiers of tokens are never shown.",
		examples: []string{"rmd token list --sort end", "rmd token list --filter fails!=0 -o wide", "rmd token list --app application_1780000000000_0107"},
		run: func(c *call) error {
			q := url.Values{}
			for _, name := range []string{"app", "state"} {
				if v := c.String(name); v != "" {
					q.Set(name, v)
				}
			}
			return showList(c, appTokenColumns, func(ctx context.Context) (fetched[api.AppToken], error) {
				return pages(ctx, c, "/v1/tokens", "tokens", q, 0, func(b []byte) ([]api.AppToken, string, error) {
					var d api.AppTokens
					err := json.Unmarshal(b, &d)
					return d.Tokens, d.Next, err
				})
			})
		}}
}
