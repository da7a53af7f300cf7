package guides

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is one command of a guide.
type Step struct {
	Line    int      // line in the document
	Machine string   // machine of the command: "rm1", "w1"; "rm*" is each of the replicas' machines
	Command string   // as typed; several lines with a here-document
	Shown   []string // output in the guide
}

// holds reports whether the result agrees with the guide. The command must succeed, unless the
// guide shows an error of rmd.
func (s Step) holds(printed string, code int) bool {
	fails := slices.ContainsFunc(s.Shown, func(line string) bool { return strings.HasPrefix(line, "rmd: ") })
	return fails == (code != 0) && Agrees(s.Shown, textLines(printed))
}

// prompt matches the beginning of a command: "rm1# rmd version". "$" is the prompt of an
// administrator, "#" that of root.
var prompt = regexp.MustCompile(`^(admin|rm\d|rm\*|w\d)[#$] (.+)$`)

// hereDocument matches the operator of a command with a here-document.
var hereDocument = regexp.MustCompile(`<<'(\w+)'`)

const (
	fence   = "```"
	console = fence + "console"
)

// Section is the part of a guide below a heading of the second level. The part before the first one
// has no name.
type Section struct {
	Name  string
	Steps []Step
}

// Sections returns the sections of a guide.
func Sections(markdown string) ([]Section, error) {
	all, err := Steps(markdown)
	if err != nil {
		return nil, err
	}
	out := []Section{{}}
	for i, line := range strings.Split(markdown, "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			out = append(out, Section{Name: name})
		}
		if len(all) > 0 && all[0].Line == i+1 {
			last := &out[len(out)-1]
			last.Steps, all = append(last.Steps, all[0]), all[1:]
		}
	}
	return out, nil
}

// Steps returns the commands of a guide, from its code blocks with the language "console". It
// ignores other code blocks.
func Steps(markdown string) ([]Step, error) {
	var out []Step
	lines := strings.Split(markdown, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != console {
			continue
		}
		block, err := steps(lines, i+1)
		if err != nil {
			return nil, err
		}
		out = append(out, block...)
		for i++; i < len(lines) && lines[i] != fence; i++ {
		}
	}
	return out, nil
}

// steps parses the block that begins at lines[i].
func steps(lines []string, i int) ([]Step, error) {
	var out []Step
	for ; i < len(lines) && lines[i] != fence; i++ {
		m := prompt.FindStringSubmatch(lines[i])
		if m == nil {
			if len(out) == 0 {
				return nil, fmt.Errorf("line %d: output before the first command", i+1)
			}
			last := &out[len(out)-1]
			last.Shown = append(last.Shown, lines[i])
			continue
		}
		s := Step{Line: i + 1, Machine: m[1], Command: m[2]}
		for ends := unfinished(s.Command); ends != nil && !ends.MatchString(lines[i]); {
			if i++; i == len(lines) || lines[i] == fence {
				return nil, fmt.Errorf("line %d: the block ends within this command", s.Line)
			}
			s.Command += "\n" + lines[i]
		}
		out = append(out, s)
	}
	if i == len(lines) {
		return nil, fmt.Errorf("the last block has no end")
	}
	return out, nil
}

// complete matches the last line of a command with continuation lines.
var complete = regexp.MustCompile(`[^\\]$`)

// unfinished returns an expression for the last line of a command, or nil if the first line is the
// last.
func unfinished(command string) *regexp.Regexp {
	if m := hereDocument.FindStringSubmatch(command); m != nil {
		return regexp.MustCompile("^" + m[1] + "$")
	}
	if strings.HasSuffix(command, `\`) {
		return complete
	}
	return nil
}
