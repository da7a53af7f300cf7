// Package preprocess has the lines of the submission preprocessor's file: what they change of a
// submission from a host. It knows no queue.
package preprocess

import (
	"fmt"
	"regexp"
	"strings"

	"rmd/internal/clip"
)

// Bounds of the rules.
const (
	MaxHostRules   = 10_000
	MaxHostPattern = 1000 // bytes
)

// Changes has the label and the queue that replace those of a submission, and an additional
// tag. Empty fields change nothing.
type Changes struct{ Label, Queue, Tag string }

// hostPattern is the host of a line and its pattern.
type hostPattern struct {
	pattern *regexp.Regexp
	host    string
}

// Rules change submissions depending on the client's host, as the lines of the file say.
type Rules struct {
	Enabled  bool
	hosts    map[string]Changes // by the host of the line
	patterns []hostPattern      // in the order of the file
}

// Of returns the changes for submissions from a host: those of the line with exactly this host, or
// else of the first line whose pattern matches a part of it, or else of the line with the host "*".
func (p *Rules) Of(host string) Changes {
	if give, ok := p.hosts[host]; ok {
		return give
	}
	for _, r := range p.patterns {
		if r.pattern.MatchString(host) {
			return p.hosts[r.host]
		}
	}
	return p.hosts["*"]
}

// New returns rules without lines that are in force.
func New() Rules {
	return Rules{Enabled: true, hosts: map[string]Changes{}}
}

// Add adds the words of a line. A later line for the same host replaces an earlier one.
func (p *Rules) Add(words []string) error {
	if len(words) < 2 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	host := words[0]
	give, err := parseActions(words[1:])
	if err != nil {
		return err
	}
	_, known := p.hosts[host]
	if !known && len(p.hosts) >= MaxHostRules {
		return fmt.Errorf("there are more than %d hosts", MaxHostRules)
	}
	p.hosts[host] = give
	if known || host == "*" {
		return nil
	}
	if len(host) > MaxHostPattern {
		return fmt.Errorf("the host is longer than %d bytes", MaxHostPattern)
	}
	pattern, err := regexp.Compile(host)
	if err != nil {
		return fmt.Errorf("%q is not a regular expression of RE2: %v", clip.Text(host), err)
	}
	p.patterns = append(p.patterns, hostPattern{pattern, host})
	return nil
}

func parseActions(words []string) (give Changes, err error) {
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || value == "" || strings.Contains(value, "=") {
			return give, fmt.Errorf("%q is not NL=label, Q=queue or TA=tag", clip.Text(word))
		}
		switch name {
		case "NL":
			give.Label = value
		case "Q":
			give.Queue = value
		case "TA":
			give.Tag = value
		default:
			return give, fmt.Errorf("%q is none of NL, Q and TA", clip.Text(name))
		}
	}
	return give, nil
}
