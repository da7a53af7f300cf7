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

// Templates are the templates, one file a page, with base.html and parts.html
// which all pages share.
func Templates() fs.FS { return below("templates") }

// Static are the files a browser asks for.
func Static() fs.FS { return below("static") }

// below is one of the folders, which are there by the embed directive above.
func below(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		return files
	}
	return f
}

// Pages are the names of the templates that are pages.
func Pages() []string {
	return []string{"overview", "apps", "app", "queues", "queue", "nodes", "node", "reservations", "reservation", "cluster",
		"decisions", "audit", "forecasts", "conf", "edit", "stage", "rollback", "labels", "label", "about", "replay", "shadow", "search", "user", "error"}
}

// Version names the static files as they are: addresses that carry it may be
// kept by a browser.
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
