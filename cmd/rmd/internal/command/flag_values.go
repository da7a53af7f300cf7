package command

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/nearest"
)

// filled is a flag whose value a shell can complete. If only is not empty, the flag takes no other
// values: the help, the completion, the check and its error all read this list.
type filled struct {
	anyFlag
	from source
	only []candidate
}

// anyFlag is what the library asks of a flag.
type anyFlag interface {
	cli.DocGenerationFlag
	cli.CategorizableFlag
	cli.RequiredFlag
	cli.ActionableFlag
}

// IsSliceFlag implements cli.DocGenerationSliceFlag.
func (f filled) IsSliceFlag() bool {
	s, ok := f.anyFlag.(cli.DocGenerationSliceFlag)
	return ok && s.IsSliceFlag()
}

// fill returns the flag with candidates for its value.
func fill(from source, f anyFlag) cli.Flag { return filled{anyFlag: f, from: from} }

// oneOf returns a flag that takes one of some values. Its help begins with them.
func oneOf(f *cli.StringFlag, only ...candidate) cli.Flag {
	f.Usage = helpOf(only) + f.Usage
	return filled{f, fixed(only), only}
}

// helpOf returns the values as the help names them: as a|b|c, or each with its description.
func helpOf(only []candidate) string {
	if only[0].about == "" {
		return strings.Join(wordsOf(only), "|")
	}
	rows := make([]string, len(only))
	for i, v := range only {
		rows[i] = v.word + ": " + v.about
	}
	return strings.Join(rows, "; ")
}

// manyOf returns a flag that takes a comma list of some values.
func manyOf(f *cli.StringSliceFlag, only ...candidate) cli.Flag {
	if f.Usage == "" {
		f.Usage = strings.Join(wordsOf(only), " ")
	}
	return filled{f, fixed(only), only}
}

// mostInHelp is the number of values that an error or a help lists.
const mostInHelp = 10

// find returns a value of the flag in its own spelling.
func (f filled) find(word string) (string, error) {
	names := wordsOf(f.only)
	if i := slices.IndexFunc(names, func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(word)) }); i >= 0 {
		return names[i], nil
	}
	do, flag := "write "+alternatives(names), "--"+f.Names()[0]
	if len(names) > mostInHelp {
		do = "complete it with the shell: " + flag + " <TAB>"
		if n := nearest.Name(word, names); n != "" {
			do = "did you mean " + n + "?"
		}
	}
	return "", clierr.Usagef(do, "unknown value %q of %s", word, flag)
}

// checkValues refuses a flag with a value that it does not take. It replaces a value that was
// written in another case.
func (c *call) checkValues() error {
	for _, flag := range slices.Concat(c.Command.Flags, c.App.Flags) {
		f, ok := flag.(filled)
		if !ok || len(f.only) == 0 {
			continue
		}
		name := f.Names()[0]
		if f.IsSliceFlag() {
			if _, err := c.chosen(name); err != nil {
				return err
			}
			continue
		}
		given := c.String(name)
		if given == "" && !c.IsSet(name) {
			continue
		}
		word, err := f.find(given)
		if err != nil {
			return err
		}
		if word != given {
			if err := c.Set(name, word); err != nil {
				return err
			}
		}
	}
	return nil
}

// chosen returns the values of a flag of manyOf.
func (c *call) chosen(name string) ([]string, error) {
	var out []string
	f, _ := flagNamed(c.Command.Flags, name).(filled)
	for _, given := range c.StringSlice(name) {
		word, err := f.find(given)
		if err != nil {
			return nil, err
		}
		out = append(out, word)
	}
	return out, nil
}

// listFlags returns the flags of a command that shows a list with these columns.
func listFlags[T any](l output.List[T]) []cli.Flag {
	heads := func(*lookup) []string { return l.Heads() }
	return append([]cli.Flag{
		fill(columnsOf(heads, ""), &cli.StringSliceFlag{Name: "columns", Usage: "columns to show, comma list"}),
		fill(columnsOf(heads, "-"), &cli.StringFlag{Name: "sort", Usage: "column to sort by; -COLUMN: descending"}),
		&cli.StringSliceFlag{Name: "filter", Usage: "show only rows with column=value, column!=value or column~part"},
	}, watchFlags()...)
}

// columnsOf returns the columns as candidates. down is a prefix for the reverse order.
func columnsOf(heads func(*lookup) []string, down string) source {
	return func(l *lookup) []candidate {
		out := plainWords(heads(l)...)
		if down != "" {
			for _, h := range heads(l) {
				out = append(out, candidate{word: down + h})
			}
		}
		return out
	}
}

// plainWords returns candidates without descriptions.
func plainWords(list ...string) []candidate {
	out := make([]candidate, len(list))
	for i, w := range list {
		out[i].word = w
	}
	return out
}

// named returns the names of values as candidates.
func named[T interface{ String() string }](all []T) []candidate {
	out := make([]candidate, len(all))
	for i, v := range all {
		out[i].word = v.String()
	}
	return out
}

func wordsOf(list []candidate) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.word
	}
	return out
}

func fixed(list []candidate) source { return func(*lookup) []candidate { return list } }

// alternatives returns "a, b or c".
func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
