package main

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPatchesCompile checks the types of every package that a planted bug changes, with the bug. A
// patch can apply and name what has moved.
func TestPatchesCompile(t *testing.T) {
	all, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	files := make([][]string, len(all))
	var dirs []string
	for i, m := range all {
		files[i] = changedFiles(t, m)
		dirs = append(dirs, dirsOf(files[i])...)
	}
	slices.Sort(dirs)
	c := &compiler{root: filepath.Join("..", ".."), exports: exportsOf(t, slices.Compact(dirs))}
	for i, m := range all {
		if err := c.check(t.TempDir(), m, files[i]); err != nil {
			t.Errorf("%s does not compile any more: %v", m.file, err)
		}
	}
}

var changedFile = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+\.go)`)

// changedFiles returns the Go files that a patch changes.
func changedFiles(t *testing.T, m mutant) (files []string) {
	t.Helper()
	text, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range changedFile.FindAllSubmatch(text, -1) {
		files = append(files, string(found[1]))
	}
	return files
}

func dirsOf(files []string) (dirs []string) {
	for _, f := range files {
		dirs = append(dirs, "./"+filepath.Dir(f))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// exportsOf returns the files with the exported types of what packages import, by import path.
func exportsOf(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, dirs...)...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return exports
}

// compiler checks the types of packages of the tree root with changed files.
type compiler struct {
	root    string
	exports map[string]string
}

// check plants a bug in copies of the files in the folder tree, and checks their packages.
func (c *compiler) check(tree string, m mutant, files []string) error {
	for _, f := range files {
		to := filepath.Join(tree, f)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(c.root, f), to); err != nil {
			return err
		}
	}
	patch, err := filepath.Abs(m.file)
	if err != nil {
		return err
	}
	if err := apply(tree, patch, false); err != nil {
		return err
	}
	for _, dir := range dirsOf(files) {
		if err := c.checkDir(tree, dir); err != nil {
			return err
		}
	}
	return nil
}

// checkDir checks the package of a folder, with the files that tree has in place of its own.
func (c *compiler) checkDir(tree, dir string) error {
	pkg, err := build.ImportDir(filepath.Join(c.root, dir), 0)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range pkg.GoFiles {
		file := filepath.Join(tree, dir, name)
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(c.root, dir, name)
		}
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) })
	_, err = (&types.Config{Importer: imports}).Check("rmd/"+strings.TrimPrefix(dir, "./"), fset, parsed, nil)
	return err
}
