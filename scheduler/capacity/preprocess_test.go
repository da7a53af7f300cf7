package capacity

import (
	"fmt"
	"strings"
	"testing"

	"rmd/scheduler/capacity/preprocess"
)

func preprocessor(text string, parse func([]Property) (*Config, error)) (*Config, error) {
	list := append(props(twoQueues), Property{Name: PreprocessorEnabledKey, Value: "true"},
		Property{Name: PreprocessorKey, Value: text, Origin: "hosts.txt"})
	return parse(list)
}

func TestPreprocessor(t *testing.T) {
	c,
		err := preprocessor("# a comment NL=no\nedge1.example.com \t NL=gpu  Q=root.a\nedge1 Q=root.b\n\nalone\n^db[0-9]+\\. TA=first Q=twice Q=root.a\n"+
		"db TA=second\n*  TA=other\nedge1.example.com Q=root.a TA=later\n", Parse)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]preprocess.Changes{
		"edge1.example.com": {Queue: "root.a", Tag: "later"}, // the last line for this host
		"edge1":             {Queue: "root.b"},
		"edge10":            {Queue: "root.b"}, // a pattern may match any part of the name
		"db7.example.com":   {Queue: "root.a", Tag: "first"},
		"mydb7.example.com": {Tag: "second"},
		"alone":             {Tag: "other"},
		"10.0.0.1":          {Tag: "other"},
		"":                  {Tag: "other"},
	} {
		if got := c.Preprocessor.Of(host); got != want {
			t.Errorf("%s gets %+v, want %+v", host, got, want)
		}
	}
	if c, err = preprocessor("a Q=b", Parse); err != nil || c.Preprocessor.Of("x") != (preprocess.Changes{}) {
		t.Errorf("without a line *: %v", err)
	}
}

func TestPreprocessorFaults(t *testing.T) {
	var many strings.Builder
	for i := range preprocess.MaxHostRules + 1 {
		fmt.Fprintf(&many, "h%d Q=a\n", i)
	}
	for text, want := range map[string]string{
		"a Q=b\n\n#\nb Q": `line 4: "Q" is not NL=label, Q=queue or TA=tag; write HOST NL=label`,
		"a Q=":            `line 1: "Q=" is not NL=label`,
		"a Q=b=c":         `"Q=b=c" is not NL=label`,
		"a q=b":           `"q" is none of NL, Q and TA`,
		"(?=x) Q=b":       `line 1: "(?=x)" is not a regular expression of RE2`,
		strings.Repeat("x", preprocess.MaxHostPattern+1) + " Q=b": "the host is longer than 1000 bytes",
		many.String(): "line 10001: there are more than 10000 hosts",
	} {
		_, err := preprocessor(text, Parse)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "hosts.txt") {
			t.Errorf("%.40s: %.300v, want %s", text, err, want)
		}
		if c, err := preprocessor(text, ParseStored); err != nil || len(c.Warnings) == 0 {
			t.Errorf("%.40s is refused in a stored configuration: %.300v", text, err)
		}
	}
	if _, err := Parse(props(twoQueues + PreprocessorEnabledKey + " = true\n" + PreprocessorFileKey +
		" = /x")); err == nil || !strings.Contains(err.Error(), "the contents of the file are not in") {
		t.Errorf("without the contents: %v", err)
	}
	c, err := Parse(props(twoQueues + PreprocessorEnabledKey + " = true"))
	if err != nil || len(c.Warnings) != 1 || c.Preprocessor.Enabled {
		t.Errorf("without a file: %v", err)
	}
}
