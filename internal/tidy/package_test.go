package tidy

import (
	"bytes"
	"regexp"
)

// packageRule requires that every package has a package comment.
func packageRule(t *tree) []finding {
	introduced, first := map[string]bool{}, map[string]*file{}
	var order []string
	for _, f := range t.files {
		if f.test {
			continue
		}
		if first[f.dir()] == nil {
			first[f.dir()] = f
			order = append(order, f.dir())
		}
		if f.ast.Doc != nil && len(f.ast.Doc.Text()) > 20 {
			introduced[f.dir()] = true
		}
	}
	var out []finding
	for _, dir := range order {
		if !introduced[dir] {
			out = append(out, t.at(first[dir], first[dir].ast.Package,
				"package %s has no package comment: say in doc.go what it is for, what it holds and what it must not do", dir))
		}
	}
	return out
}

var laterWord = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

// laterRule requires that production sources contain no reminders of work to do.
func laterRule(t *tree) []finding {
	var out []finding
	for _, f := range t.production() {
		for i, line := range bytes.Split(f.src, []byte("\n")) {
			if w := laterWord.Find(line); w != nil {
				out = append(out, finding{f.path, i + 1,
					string(w) + ": do it, or write down in the documentation what is missing and why"})
			}
		}
	}
	return out
}
