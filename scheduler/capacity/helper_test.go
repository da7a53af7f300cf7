package capacity

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"rmd/yarn"
)

const gib = 1024

// mem returns a memory size in GiB, for the default calculator.
func mem(g int64) yarn.Resource { return mib(g * gib) }

func mib(m int64) yarn.Resource {
	r := yarn.Resource{yarn.Memory: m}
	if m > 0 {
		r[yarn.VCores] = 1
	}
	return r
}

// props parses "key = value" lines. A key without "yarn." gets the prefix.
func props(text string) []Property {
	var out []Property
	for n, line := range strings.Split(text, "\n") {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "yarn.") {
			name = Prefix + name
		}
		out = append(out, Property{Name: name, Value: strings.TrimPrefix(value, " "), Origin: fmt.Sprintf("f:%d", n)})
	}
	return out
}

func parse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := Parse(props(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func faults(t testing.TB, err error) []Fault {
	t.Helper()
	var e *Invalid
	if !errors.As(err, &e) {
		t.Fatalf("err = %v, want *Invalid", err)
	}
	return e.Faults
}

func index(t testing.TB, c *Config, path string) int {
	t.Helper()
	i, err := c.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// only returns a treeOf function for a cluster without labels.
func only(tree *Tree) func(label string) *Tree {
	return func(label string) *Tree {
		if label != "" {
			return nil
		}
		return tree
	}
}

func fraction(t testing.TB, s string) yarn.Fraction {
	t.Helper()
	f, err := yarn.ParseFraction(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var memoryOnly = yarn.Calculator{Kinds: 2}
