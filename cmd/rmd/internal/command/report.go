package command

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/workload/report"
)

// reportFlag belongs to commands that measure something over time.
func reportFlag() cli.Flag {
	return &cli.StringFlag{Name: "report", Usage: "also write an HTML report with plots to this file"}
}

// reportPage is the page that --report asks for. It is opened before anything is
// measured, so that a file that cannot be written costs nobody half an hour, and
// takes its name only when it is whole. The nil page writes nothing.
type reportPage struct {
	c    *call
	path string
	tmp  *os.File
}

// openReport opens the page; nil without --report.
func (c *call) openReport() (*reportPage, error) {
	path := c.String("report")
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, clierr.Usagef("write --report "+filepath.Join(path, "report.html"), "%s is a directory", path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".rmd-report-*")
	if err != nil {
		return nil, err
	}
	return &reportPage{c: c, path: path, tmp: tmp}, nil
}

// write writes the page with fill and gives it its name.
func (r *reportPage) write(fill func(io.Writer, report.Head) error) error {
	if r == nil {
		return nil
	}
	w := bufio.NewWriter(r.tmp)
	err := fill(w, report.Head{Version: Version(), Date: time.Now().Format("2006-01-02")})
	err = errors.Join(err, w.Flush(), r.tmp.Chmod(0o644), r.tmp.Close())
	if err == nil {
		err = os.Rename(r.tmp.Name(), r.path)
	}
	if err == nil {
		r.c.say("report: %s", r.path)
	}
	return err
}

// abandon removes what was not written to its end.
func (r *reportPage) abandon() {
	if r != nil {
		_ = r.tmp.Close()
		_ = os.Remove(r.tmp.Name()) // it is gone once it has its name
	}
}
