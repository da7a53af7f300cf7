package guides

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is one command of a guide.
type Step struct {
	Line    int      // of the document
	Machine string   // where it runs: "rm1"; "rm*" is each of the replicas' machines
	Command string   // as it is typed; with a here-document it has several lines
	Shown   []string // what the guide says it prints
}

// holds says whether the command did what the guide shows. It must succeed, unless the guide shows an
// error of rmd.
func (s Step) holds(printed string, code int) bool {
	fails := slices.ContainsFunc(s.Shown, func(line string) bool { return strings.HasPrefix(line, "rmd: ") })
	return fails == (code != 0) && Agrees(s.Shown, textLines(printed))
}

// prompt begins a command: "rm1# rmd version". A "$" is an administrator's, a "#" is root's.
var prompt = regexp.MustCompile(`^(admin|rm\d|rm\*)[#$] (.+)$`)

// hereDocument is the end of a command whose input follows.
var hereDocument = regexp.MustCompile(`<<'(\w+)'`)

const (
	fence   = "```"
	console = fence + "console"
)

// Steps reads the commands of a guide: those in its blocks of the language "console". Blocks of other
// languages are for the reader alone.
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

// steps reads one block, which begins at lines[i].
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

// complete is a line after which a continued command is over.
var complete = regexp.MustCompile(`[^\\]$`)

// unfinished is what the last line of a command matches, if its first is not the last.
func unfinished(command string) *regexp.Regexp {
	if m := hereDocument.FindStringSubmatch(command); m != nil {
		return regexp.MustCompile("^" + m[1] + "$")
	}
	if strings.HasSuffix(command, `\`) {
		return complete
	}
	return nil
}
