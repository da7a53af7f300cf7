package capacity

import (
	"fmt"
	"regexp"
	"strings"

	"rmd/internal/clip"
)

const (
	maxHostRules   = 10_000
	maxHostPattern = 1000 // bytes
)

// Preprocessed has the label and the queue that replace those of a submission, and an additional
// tag. Empty fields change nothing.
type Preprocessed struct{ Label, Queue, Tag string }

// hostPattern is the host of a line and its pattern.
type hostPattern struct {
	pattern *regexp.Regexp
	host    string
}

// Preprocessor changes submissions depending on the client's host, as the lines of the file say.
type Preprocessor struct {
	Enabled  bool
	hosts    map[string]Preprocessed // by the host of the line
	patterns []hostPattern           // in the order of the file
}

// Of returns the changes for submissions from a host: those of the line with exactly this host, or
// else of the first line whose pattern matches a part of it, or else of the line with the host "*".
func (p *Preprocessor) Of(host string) Preprocessed {
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

// enabledPreprocessor returns a preprocessor without lines.
func enabledPreprocessor() Preprocessor {
	return Preprocessor{Enabled: true, hosts: map[string]Preprocessed{}}
}

// add adds the words of a line. A later line for the same host replaces an earlier one.
func (p *Preprocessor) add(words []string) error {
	if len(words) < 2 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	host := words[0]
	give, err := parseActions(words[1:])
	if err != nil {
		return err
	}
	_, known := p.hosts[host]
	if !known && len(p.hosts) >= maxHostRules {
		return fmt.Errorf("there are more than %d hosts", maxHostRules)
	}
	p.hosts[host] = give
	if known || host == "*" {
		return nil
	}
	if len(host) > maxHostPattern {
		return fmt.Errorf("the host is longer than %d bytes", maxHostPattern)
	}
	pattern, err := regexp.Compile(host)
	if err != nil {
		return fmt.Errorf("%q is not a regular expression of RE2: %v", clip.Text(host), err)
	}
	p.patterns = append(p.patterns, hostPattern{pattern, host})
	return nil
}

func parseActions(words []string) (give Preprocessed, err error) {
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
