// Package webapp serves the web applications of Hadoop that a site has: UI2 and the Capacity
// Scheduler UI. Each is a war file, or a folder with its content, of static files. In the browser
// they read and change the cluster by /ws/v1/cluster and /conf.
package webapp

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
)

// fileMax is the most bytes of one file, because a small war file may claim a large one.
const fileMax = 32 << 20

// index is the file that is served for a folder.
const index = "index.html"

// App is an open web application.
type App struct {
	path  string // without a slash at the end
	files fs.FS
	close func() error
}

// Open opens a war file, or a folder with its content, which is to be served below path. It returns
// an error if there is no index.html in it.
func Open(path, file string) (*App, error) {
	a := &App{path: path}
	if err := a.open(file); err != nil {
		return nil, fmt.Errorf("web application %s: %w", file, err)
	}
	if _, err := fs.Stat(a.files, index); err != nil {
		return nil, fmt.Errorf("web application %s: it has no %s: %w", file, index, errors.Join(err, a.Close()))
	}
	return a, nil
}

func (a *App) open(file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		root, err := os.OpenRoot(file) // follows no link out of the folder
		if err != nil {
			return err
		}
		a.files, a.close = root.FS(), root.Close
		return nil
	}
	war, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	a.files, a.close = war, war.Close
	return nil
}

// Close closes the files.
func (a *App) Close() error { return a.close() }

// Has reports whether a path belongs to the application.
func (a *App) Has(path string) bool {
	return path == a.path || strings.HasPrefix(path, a.path+"/")
}

// policy lets the pages run what their own files contain. Unlike rmd's own pages, those of Hadoop
// have scripts and styles inside the HTML, and UI2 also calls NodeManagers and the servers of histories.
const policy = "default-src 'self'; connect-src 'self' http: https:; script-src 'self' 'unsafe-inline'; " +
	"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; base-uri 'self'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a web application is only read", http.StatusMethodNotAllowed)
		return
	case r.URL.Path == a.path:
		http.Redirect(w, r, a.path+"/", http.StatusFound)
		return
	}
	name := strings.TrimPrefix(path.Clean(strings.TrimPrefix(r.URL.Path, a.path)), "/")
	if hidden(name) {
		http.NotFound(w, r)
		return
	}
	content, info, err := a.read(name)
	// an address that the page's script knows
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		content, info, err = a.read(index)
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if path.Ext(name) == ".env" { // UI2's addresses of other servers are a script with this name
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	http.ServeContent(w, r, info.Name(), info.ModTime(), bytes.NewReader(content))
}

// hidden reports whether a file is for a servlet container only.
func hidden(name string) bool {
	first, _, _ := strings.Cut(strings.ToUpper(name), "/")
	return first == "WEB-INF" || first == "META-INF"
}

// read returns the content of a file, or of the index of a folder.
func (a *App) read(name string) ([]byte, fs.FileInfo, error) {
	if name == "" {
		name = index
	}
	f, err := a.files.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return a.read(path.Join(name, index))
	case info.Size() > fileMax:
		return nil, nil, fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), fileMax)
	}
	content, err := io.ReadAll(io.LimitReader(f, fileMax))
	return content, info, err
}
