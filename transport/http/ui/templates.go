package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"rmd/api"
	"rmd/internal/bytesize"
	"rmd/internal/thousands"
	"rmd/transport/http/ui/amounts"
	"rmd/transport/http/ui/format"
)

// parse parses the templates of each page together with the shared ones. In forms, mark stands in
// the place of the browser's token.
func parse(mark string) (map[string]*template.Template, error) {
	forms := template.FuncMap{"token": func() string { return mark }}
	base, err := template.New("base").Funcs(functions).Funcs(forms).ParseFS(Templates(), "base.html", "parts.html")
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	out := map[string]*template.Template{}
	for _, name := range Pages() {
		t, err := template.Must(base.Clone()).ParseFS(Templates(), name+".html")
		if err != nil {
			return nil, fmt.Errorf("ui: %w", err)
		}
		out[name] = t
	}
	return out, nil
}

// functions has the functions that templates may call.
var functions = template.FuncMap{
	"n": format.Number, "whole": format.Whole, "res": func(r api.Resource) string { return format.Whole(format.Amount(r)) }, "kind": format.KindName, "value": format.KindValue,
	"span": format.Span, "when": format.When, "life": lifeText, "verdict": format.VerdictWord, "short": format.ShortID,
	"pct":  format.Percent,
	"path": url.PathEscape, "userPath": userPath, "lower": strings.ToLower, "join": strings.Join, "word": format.Word,
	"plural": thousands.Count, "stale": staleness, "role": format.Role,
	"dict": dict, "containerShort": format.ContainerShort, "bytes": bytesize.Format, "tone": format.Tone,
	"kinds": format.KindsOf, "safeURL": format.WebURL, "hex": format.ShortDigest, "equal": format.Equality,
	"attempt": format.AttemptNumber, "took": format.Took, "change": format.Change,
	"less": amounts.Sub, "parts": format.Parts, "cell": format.Cell, "breaks": format.Breaks, "together": format.Together,
	"part": func(share float64) string { return format.Percent(share * 100) },
}

// staleness says in words how fresh a replica's state is.
func staleness(s Status) string {
	switch {
	case s.Role == "leader":
		return "the newest"
	case s.StalenessMillis < 0:
		return "no leader heard yet"
	case s.StalenessMillis < 1000:
		return "up to date"
	}
	return "as of " + format.Span(s.StalenessMillis/1000*1000) + " ago"
}

// dict makes the data of a template from names and values.
func dict(pairs ...any) map[string]any {
	out := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}
