package work

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

var appTokenColumns = output.List[api.AppToken]{
	Name:  func(t api.AppToken) string { return fmt.Sprint(t.Number) },
	Empty: "no tokens of applications",
	Columns: []output.Column[api.AppToken]{
		{Head: "TOKEN", Text: func(t api.AppToken) string {
			return fmt.Sprint(t.Number)
		}, Key: func(t api.AppToken) float64 { return float64(t.Number) }, Right: true},
		{Head: "KIND", Text: func(t api.AppToken) string { return t.Kind }, Shrink: true},
		{Head: "SERVICE", Text: func(t api.AppToken) string { return t.Service }, Shrink: true},
		{Head: "STATE", Text: func(t api.AppToken) string { return t.State }},
		{Head: "END", Text: func(t api.AppToken) string {
			return output.Time(t.EndMillis)
		}, Key: func(t api.AppToken) float64 { return float64(t.EndMillis) }},
		{Head: "FAILS", Text: func(t api.AppToken) string {
			return output.Number(t.Failures)
		}, Key: func(t api.AppToken) float64 { return float64(t.Failures) }, Right: true},
		{Head: "APPS", Text: func(t api.AppToken) string {
			return output.Number(t.AppCount)
		}, Key: func(t api.AppToken) float64 { return float64(t.AppCount) }, Right: true},
		{Head: "OWNER", Text: func(t api.AppToken) string { return t.Owner }, Spare: 1, Shrink: true},
		{Head: "RENEWER", Wide: true, Text: func(t api.AppToken) string { return t.Renewer }},
		{Head: "NEXT", Wide: true, Text: func(t api.AppToken) string {
			return output.Time(t.NextMillis)
		}, Key: func(t api.AppToken) float64 { return float64(t.NextMillis) }},
		{Head: "MAX", Wide: true, Text: func(t api.AppToken) string {
			return output.Time(t.MaxMillis)
		}, Key: func(t api.AppToken) float64 { return float64(t.MaxMillis) }},
		{Head: "ERROR", Wide: true, Text: func(t api.AppToken) string { return t.LastError }},
	},
}

var appTokenStates = []verb.Candidate{{Word: "new"}, {Word: "kept"}, {Word: "lost"}, {Word: "ending"}}

// AppTokenVerbs returns the commands of the tokens that applications carry.
func AppTokenVerbs() verb.Verb {
	return verb.Noun("token", "tokens that applications carry for HDFS and other services", appTokenList())
}

func appTokenList() verb.Verb {
	return verb.Verb{Name: "list", Aliases: []string{"ls"}, Usage: "list the tokens of applications that rmd renews",
		Flags: append([]cli.Flag{
			verb.Fill(verb.Apps, &cli.StringFlag{Name: "app", Usage: "only of this application"}),
			verb.OneOf(&cli.StringFlag{Name: "state"}, appTokenStates...),
		}, verb.ListFlags(appTokenColumns)...),
		Long: "Passwords and identifiers of tokens are never shown.",
		Examples: []string{"rmd token list --sort end", "rmd token list --filter fails!=0 -o wide",
			"rmd token list --app application_1780000000000_0107"},
		Run: func(c *verb.Call) error {
			q := url.Values{}
			for _, name := range []string{"app", "state"} {
				if v := c.String(name); v != "" {
					q.Set(name, v)
				}
			}
			return verb.ShowList(c, appTokenColumns, func(ctx context.Context) (verb.Fetched[api.AppToken], error) {
				return verb.Pages(ctx, c, "/v1/tokens", "tokens", q, 0, func(b []byte) ([]api.AppToken, string, error) {
					var d api.AppTokens
					err := json.Unmarshal(b, &d)
					return d.Tokens, d.Next, err
				})
			})
		}}
}
