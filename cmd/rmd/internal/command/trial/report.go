package trial

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/workload/report"
)

// reportFlag is the flag of commands that measure something over time.
func reportFlag() cli.Flag {
	return verb.Fill(verb.Files, &cli.StringFlag{Name: "report",
		Usage: "also write an HTML report with plots to this file"})
}

// reportPage is the page of --report. It is opened before the measurement, so that a path that
// cannot be written is reported at once. The file gets its name only when it is complete. A nil
// page writes nothing.
type reportPage struct {
	c    *verb.Call
	path string
	tmp  *os.File
}

// openReport opens the page. It returns nil without --report.
func openReport(c *verb.Call) (*reportPage, error) {
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

// write fills the page and gives the file its name.
func (r *reportPage) write(fill func(io.Writer, report.Head) error) error {
	if r == nil {
		return nil
	}
	w := bufio.NewWriter(r.tmp)
	err := fill(w, report.Head{Version: r.c.Program.Version, Date: time.Now().Format("2006-01-02")})
	err = errors.Join(err, w.Flush(), r.tmp.Chmod(0o644), r.tmp.Close())
	if err == nil {
		err = os.Rename(r.tmp.Name(), r.path)
	}
	if err == nil {
		r.c.PrintMessage("report: %s", r.path)
	}
	return err
}

// abandon removes the file if it is not complete.
func (r *reportPage) abandon() {
	if r != nil {
		_ = r.tmp.Close()
		_ = os.Remove(r.tmp.Name()) // after write, the temporary file no longer exists
	}
}
