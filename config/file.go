package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"rmd/internal/nearest"
)

// readStart reads at most one byte more than a file may have. The size of a device is not known in
// advance.
func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, fileMax+1))
}

// readFile sets the values from a file. It returns false if the file cannot be read or parsed.
func (l *loader) readFile(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.Size() > fileMax {
		err = fmt.Errorf("%s has %d bytes, but a configuration may have only %d", path, info.Size(), fileMax)
	}
	var b []byte
	if err == nil {
		b, err = readStart(path)
	}
	if err != nil {
		l.fault(Origin{}, "write one with \"rmd init\"", "%v", err)
		return false
	}
	if line, err := checkShape(b); err != nil {
		l.fault(Origin{Kind: "file", Name: path, Line: line}, "write one with \"rmd init\"",
			"cannot read the configuration: %v", err)
		return false
	}
	file, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at := Origin{Kind: "file", Name: path, Line: 1}
		what := strings.SplitN(err.Error(), "\n", 2)[0]
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			what = syntax.GetMessage()
			if t := syntax.GetToken(); t != nil {
				at.Line, at.Column = t.Position.Line, t.Position.Column
			}
		}
		l.fault(at, "", "not YAML: %s", what)
		return false
	}
	if len(file.Docs) > 1 {
		l.fault(Origin{Kind: "file", Name: path, Line: 1}, "keep one of them", "the file has %d YAML documents",
			len(file.Docs))
		return false
	}
	for _, doc := range file.Docs {
		l.node(path, "", doc.Body)
	}
	for len(l.meant) > 0 { // a mistyped section may hold mistyped keys
		read := l.meant[0]
		l.meant = l.meant[1:]
		read()
	}
	return true
}

// Given returns the keys that a file sets. Paths below its directory are relative to it. It checks the
// values one by one, and not whether they fit together. Its error is an *Invalid.
func Given(file string) (map[string]string, error) {
	l := newLoader()
	if l.readFile(file); len(l.faults) > 0 {
		return nil, &Invalid{Faults: l.faults}
	}
	out := map[string]string{}
	for key := range l.origin { // the order does not matter: each key has one value
		v := l.byPath[key].value
		out[key] = v.String()
		if _, ok := v.(path); ok {
			if rel, err := filepath.Rel(filepath.Dir(file), v.String()); err == nil && filepath.IsLocal(rel) {
				out[key] = rel
			}
		}
	}
	return out, nil
}

// node reads a mapping. prefix is the path of its section.
func (l *loader) node(file, prefix string, n ast.Node) {
	switch m := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
	case *ast.MappingNode:
		for _, v := range m.Values {
			l.entry(file, prefix, v)
		}
	case *ast.MappingValueNode:
		l.entry(file, prefix, m)
	default:
		what := "the file is not a list of \"key: value\""
		if prefix != "" {
			what = fmt.Sprintf("%q is a section of keys, not a value", strings.TrimSuffix(prefix, "."))
		}
		l.fault(place(file, n.GetToken()), "write \"key: value\" lines", "%s", what)
	}
}

// entry reads one key and its value.
func (l *loader) entry(file, prefix string, e *ast.MappingValueNode) {
	key := e.Key.GetToken().Value
	path, at := prefix+key, place(file, e.Key.GetToken())
	if l.seen[path] {
		l.fault(at, "keep one of them", "key %q appears twice", path)
		return
	}
	l.seen[path] = true
	if l.sections[path] {
		l.node(file, path+".", e.Value)
		return
	}
	s, ok := l.byPath[path]
	if !ok {
		// The key that was meant gets the value, so that its absence is no further fault.
		if meant := l.unknown(at, prefix, key); meant != "" {
			l.meant = append(l.meant, func() {
				if !l.seen[prefix+meant] {
					e.Key.GetToken().Value = meant
					l.entry(file, prefix, e)
				}
			})
		}
		return
	}
	raw, err := scalar(e.Value, s)
	if err == nil {
		err = s.value.Set(raw)
	}
	if err != nil {
		l.fault(place(file, e.Value.GetToken()), "", "%s: %v", path, err)
		return
	}
	if p, ok := s.value.(interface{ resolveIn(string) }); ok {
		p.resolveIn(filepath.Dir(file)) // so that a directory of files can be moved
	}
	l.origin[path] = at
}

// address restores HOST:PORT in a flow sequence, which the parser reads as a mapping of one key
// although no space follows the colon.
func address(n ast.Node) ast.Node {
	m, ok := n.(*ast.MappingValueNode)
	if !ok {
		if all, is := n.(*ast.MappingNode); is && len(all.Values) == 1 {
			m, ok = all.Values[0], true
		}
	}
	if !ok || m.Value == nil {
		return n
	}
	key, value := m.Key.GetToken(), m.Value.GetToken()
	if key == nil || value == nil || key.Next == nil || value.Position.Offset != key.Next.Position.Offset+1 {
		return n
	}
	joined := *key
	joined.Value = key.Value + ":" + value.Value
	return ast.String(&joined)
}

// scalar returns the text of a value. A sequence becomes a comma-separated list.
func scalar(n ast.Node, s setting) (string, error) {
	switch v := n.(type) {
	case *ast.SequenceNode:
		if _, ok := s.value.(list); !ok {
			return "", errors.New("expected one value, not a list")
		}
		var parts []string
		for _, item := range v.Values {
			part, err := scalar(address(item), setting{value: text{}})
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	case *ast.MappingNode, *ast.MappingValueNode:
		return "", errors.New("expected a value, not a section")
	case *ast.NullNode:
		return "", errors.New("the value is missing")
	case *ast.LiteralNode:
		return strings.TrimSpace(v.Value.Value), nil
	}
	return n.GetToken().Value, nil
}

func place(file string, t *token.Token) Origin {
	o := Origin{Kind: "file", Name: file, Line: 1}
	if t != nil && t.Position != nil {
		o.Line, o.Column = t.Position.Line, t.Position.Column
	}
	return o
}

// unknown reports an unknown key. It suggests the most similar key of the same section, otherwise
// one of another section, and returns that of the same section, or "".
func (l *loader) unknown(at Origin, prefix, key string) (meant string) {
	var near, all []string
	for path := range l.byPath { // the order only matters for equally similar keys
		all = append(all, path)
	}
	for path := range l.sections {
		all = append(all, path)
	}
	sortStrings(all)
	for _, path := range all {
		if rest, ok := strings.CutPrefix(path, prefix); ok && !strings.Contains(rest, ".") {
			near = append(near, rest)
		}
	}
	do := ""
	if meant = nearest.Name(key, near); meant != "" {
		do = fmt.Sprintf("did you mean %q?", meant)
	} else if n := elsewhere(key, all); n != "" {
		do = fmt.Sprintf("did you mean %q?", n)
	} else {
		do = "valid keys: " + strings.Join(near, ", ")
	}
	l.faults = append(l.faults, Fault{At: at, What: fmt.Sprintf("unknown key %q", prefix+key), Do: do, Unknown: true})
	return meant
}

// elsewhere returns a key with the same name in another section, otherwise the most similar key.
func elsewhere(key string, all []string) string {
	for _, path := range all {
		if strings.HasSuffix(path, "."+key) {
			return path
		}
	}
	return nearest.Name(key, all)
}
