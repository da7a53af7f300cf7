package verb

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/nearest"
)

// Filled is a flag whose value a shell can complete. If Only is not empty, the flag takes no other
// values: the help, the completion, the check and its error all read this list.
type Filled struct {
	anyFlag
	from Source
	Only []Candidate
}

// anyFlag is what the library asks of a flag.
type anyFlag interface {
	cli.DocGenerationFlag
	cli.CategorizableFlag
	cli.RequiredFlag
	cli.ActionableFlag
}

// IsSliceFlag implements cli.DocGenerationSliceFlag.
func (f Filled) IsSliceFlag() bool {
	s, ok := f.anyFlag.(cli.DocGenerationSliceFlag)
	return ok && s.IsSliceFlag()
}

// Fill returns the flag with candidates for its value.
func Fill(from Source, f anyFlag) cli.Flag { return Filled{anyFlag: f, from: from} }

// OneOf returns a flag that takes one of some values. Its help begins with them.
func OneOf(f *cli.StringFlag, only ...Candidate) cli.Flag {
	f.Usage = HelpOf(only) + f.Usage
	return Filled{f, Fixed(only), only}
}

// HelpOf returns the values as the help names them: as a|b|c, or each with its description.
func HelpOf(only []Candidate) string {
	if only[0].About == "" {
		return strings.Join(WordsOf(only), "|")
	}
	var b strings.Builder
	b.WriteString("one of:")
	for _, v := range only {
		b.WriteString(LineOfHelp + v.Word + ": " + v.About)
	}
	return b.String()
}

// ManyOf returns a flag that takes a comma list of some values.
func ManyOf(f *cli.StringSliceFlag, only ...Candidate) cli.Flag {
	if f.Usage == "" {
		f.Usage = strings.Join(WordsOf(only), " ")
	}
	return Filled{f, Fixed(only), only}
}

// LineOfHelp begins a line in the description of a flag: the library aligns it at the tab.
const LineOfHelp = "\n   \t"

// MostInHelp is the number of values that an error or a help lists.
const MostInHelp = 10

// Find returns a value of the flag in its own spelling.
func (f Filled) Find(word string) (string, error) {
	names := WordsOf(f.Only)
	if i := slices.IndexFunc(names, func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(word)) }); i >= 0 {
		return names[i], nil
	}
	do, flag := "write "+Alternatives(names), "--"+f.Names()[0]
	if len(names) > MostInHelp {
		do = "complete it with the shell: " + flag + " <TAB>"
		if n := nearest.Name(word, names); n != "" {
			do = "did you mean " + n + "?"
		}
	}
	return "", clierr.Usagef(do, "unknown value %q of %s", word, flag)
}

// checkValues refuses a flag with a value that it does not take. It replaces a value that was
// written in another case.
func (c *Call) checkValues() error {
	for _, flag := range slices.Concat(c.Command.Flags, c.App.Flags) {
		f, ok := flag.(Filled)
		if !ok || len(f.Only) == 0 {
			continue
		}
		name := f.Names()[0]
		if f.IsSliceFlag() {
			if _, err := c.Chosen(name); err != nil {
				return err
			}
			continue
		}
		given := c.String(name)
		if given == "" && !c.IsSet(name) {
			continue
		}
		word, err := f.Find(given)
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

// Chosen returns the values of a flag of ManyOf.
func (c *Call) Chosen(name string) ([]string, error) {
	var out []string
	f, _ := flagNamed(c.Command.Flags, name).(Filled)
	for _, given := range c.StringSlice(name) {
		word, err := f.Find(given)
		if err != nil {
			return nil, err
		}
		out = append(out, word)
	}
	return out, nil
}

// ListFlags returns the flags of a command that shows a list with these columns.
func ListFlags[T any](l output.List[T]) []cli.Flag {
	heads := func(*Lookup) []string { return l.Heads() }
	return append([]cli.Flag{
		Fill(ColumnsOf(heads, ""), &cli.StringSliceFlag{Name: "columns", Usage: "columns to show, comma list"}),
		Fill(ColumnsOf(heads, "-"), &cli.StringFlag{Name: "sort", Usage: "column to sort by; -COLUMN: descending"}),
		&cli.StringSliceFlag{Name: "filter", Usage: "show only rows with column=value, column!=value or column~part"},
	}, WatchFlags()...)
}

// ColumnsOf returns the columns as candidates. down is a prefix for the reverse order.
func ColumnsOf(heads func(*Lookup) []string, down string) Source {
	return func(l *Lookup) []Candidate {
		out := PlainWords(heads(l)...)
		if down != "" {
			for _, h := range heads(l) {
				out = append(out, Candidate{Word: down + h})
			}
		}
		return out
	}
}

// PlainWords returns candidates without descriptions.
func PlainWords(list ...string) []Candidate {
	out := make([]Candidate, len(list))
	for i, w := range list {
		out[i].Word = w
	}
	return out
}

// Named returns the names of values as candidates.
func Named[T interface{ String() string }](all []T) []Candidate {
	out := make([]Candidate, len(all))
	for i, v := range all {
		out[i].Word = v.String()
	}
	return out
}

// WordsOf returns the words of candidates, without their descriptions.
func WordsOf(list []Candidate) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Word
	}
	return out
}

// Fixed returns a source that always has the same candidates.
func Fixed(list []Candidate) Source { return func(*Lookup) []Candidate { return list } }

// Alternatives returns "a, b or c".
func Alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
