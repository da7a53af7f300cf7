package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
	"rmd/internal/nearest"
)

// AutopilotVerbs returns the commands of autopilot.
func AutopilotVerbs() verb.Verb {
	return verb.Noun("autopilot", "automatic promotion and removal of replicas",
		autopilotGet(), autopilotSet(), autopilotState())
}

func autopilotGet() verb.Verb {
	return verb.Verb{Name: "get", Usage: "show the settings",
		Examples: []string{"rmd autopilot get"},
		Run: func(c *verb.Call) error {
			return verb.ShowFacts(c, func() string { return "autopilot" },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var d api.AutopilotState
					if _, err := c.Get(ctx, "/v1/autopilot", nil, &d); err != nil {
						return nil, nil, err
					}
					doc, err := json.Marshal(d.Settings)
					return doc, settingFacts(doc), err
				})
		}}
}

// settingFacts returns the fields of a flat document, sorted by name.
func settingFacts(doc []byte) []output.Fact {
	var values map[string]any
	if json.Unmarshal(doc, &values) != nil {
		return nil
	}
	var facts []output.Fact
	for _, name := range verb.Sorted(values) {
		facts = append(facts, output.Fact{Name: name, Value: fmt.Sprint(values[name])})
	}
	return facts
}

func autopilotSet() verb.Verb {
	return verb.Verb{Name: "set", Usage: "change settings", Args: "NAME=VALUE…", Min: 1, Max: -1,
		Changes:  true,
		Examples: []string{"rmd autopilot set min_quorum=3"},
		Complete: []verb.Source{verb.Fixed(verb.Assigned(verb.PlainWords(verb.Sorted(autopilotSettings)...)))},
		Run: func(c *verb.Call) error {
			cl, err := c.Client()
			if err != nil {
				return err
			}
			a, err := cl.Get(c.Ctx(), "/v1/autopilot", nil)
			if err != nil {
				return err
			}
			var d api.AutopilotState
			if err := a.Decode(&d); err != nil {
				return err
			}
			for _, pair := range c.Args().Slice() {
				if err := setAutopilot(&d.Settings, pair); err != nil {
					return err
				}
			}
			if a, err = cl.Put(c.Ctx(), "/v1/autopilot", nil, d.Settings); err != nil {
				return err
			}
			return verb.ShowDone(c, a, "autopilot", "%s", strings.Join(c.Args().Slice(), ", "))
		}}
}

// autopilotSettings parse each setting and store it.
var autopilotSettings = map[string]func(s *api.Autopilot, value string) error{
	"cleanup_dead_servers": func(s *api.Autopilot, v string) (err error) {
		s.CleanupDeadServers, err = strconv.ParseBool(v)
		return err
	},
	"dead_server_last_contact_threshold": func(s *api.Autopilot, v string) error {
		return parseSpan(v, &s.DeadServerLastContactThreshold)
	},
	"min_quorum": func(s *api.Autopilot, v string) error {
		n, err := strconv.ParseUint(v, 10, 16)
		s.MinQuorum = uint(n)
		return err
	},
	"last_contact_threshold": func(s *api.Autopilot, v string) error { return parseSpan(v, &s.LastContactThreshold) },
	"max_trailing_logs": func(s *api.Autopilot, v string) (err error) {
		s.MaxTrailingLogs, err = strconv.ParseUint(v, 10, 63)
		return err
	},
	"server_stabilization_time": func(s *api.Autopilot, v string) error {
		return parseSpan(v, &s.ServerStabilizationTime)
	},
}

func parseSpan(text string, to *api.Duration) error {
	d, err := config.ParseDuration(text)
	*to = api.Duration(d)
	return err
}

// setAutopilot changes one setting.
func setAutopilot(s *api.Autopilot, pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return clierr.Usagef("write NAME=VALUE", "%q is not an assignment", pair)
	}
	set, ok := autopilotSettings[name]
	if !ok {
		names := verb.Sorted(autopilotSettings)
		do := "the settings are " + strings.Join(names, ", ")
		if n := nearest.Name(name, names); n != "" {
			do = "did you mean " + n + "?"
		}
		return clierr.Usagef(do, "unknown setting %q", name)
	}
	if err := set(s, value); err != nil {
		return clierr.Usagef("see rmd autopilot get", "%s: invalid value %q", name, value)
	}
	return nil
}

func autopilotState() verb.Verb {
	list := output.List[api.ServerVerdict]{
		Name: func(s api.ServerVerdict) string { return s.ID }, Empty: "autopilot has no result yet",
		Columns: []output.Column[api.ServerVerdict]{
			{Head: "ID", Text: func(s api.ServerVerdict) string { return s.ID }},
			{Head: "HEALTHY", Text: func(s api.ServerVerdict) string { return output.YesNo(s.Healthy) }},
			{Head: "VOTER", Text: func(s api.ServerVerdict) string { return output.YesNo(s.Voter) }},
			{Head: "STABLE-SINCE", Text: func(s api.ServerVerdict) string {
				return output.Time(s.StableSinceMillis)
			}, Key: func(s api.ServerVerdict) float64 { return float64(s.StableSinceMillis) }},
			{Head: "WHY", Text: func(s api.ServerVerdict) string { return s.Why }, Shrink: true, End: true},
		},
	}
	return verb.Verb{Name: "state", Usage: "show autopilot's verdict on each replica", Flags: verb.ListFlags(list),
		Examples: []string{"rmd autopilot state -o json"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, list, func(ctx context.Context) (f verb.Fetched[api.ServerVerdict], err error) {
				var d api.AutopilotState
				f.Doc, err = c.Get(ctx, "/v1/autopilot", nil, &d)
				f.Things = d.Servers
				f.Head = fmt.Sprintf("%s   can lose %d", map[bool]string{true: "healthy", false: "NOT healthy"}[d.Healthy],
					d.FailureTolerance)
				return f, err
			})
		}}
}
