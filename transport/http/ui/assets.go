package ui

import (
	"embed"
	"hash/fnv"
	"io/fs"
	"strconv"

	"rmd/internal/plot"
)

//go:embed templates static
var files embed.FS

// Templates returns the templates: one file per page, and base.html and parts.html, which all pages
// share.
func Templates() fs.FS { return below("templates") }

// Static returns the files that browsers load.
func Static() fs.FS { return below("static") }

// below returns a folder of the embedded files.
func below(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		return files
	}
	return f
}

// Pages returns the names of the templates that are pages.
func Pages() []string {
	return []string{"overview", "apps", "app", "queues", "queue", "nodes", "node", "reservations",
		"reservation", "cluster",
		"decisions", "audit", "forecasts", "conf", "edit", "stage", "rollback", "labels", "label", "about", "replay",
		"shadow", "search", "users", "user", "preemption", "error"}
}

// Version returns a name for the contents of the static files. Browsers may cache addresses that
// contain it.
func Version() (string, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(plot.FigureStyle))
	err := fs.WalkDir(files, "static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		_, _ = h.Write(b)
		return err
	})
	return strconv.FormatUint(h.Sum64(), 36), err
}
