package httpserver

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"rmd/transport/http/v1/api"
)

// logLevel tells the level of this replica's log in the form that "yarn
// daemonlog -getlevel" reads. It sets none: that is log.level in the
// configuration, which SIGHUP reads again.
func logLevel(c *call) error {
	if c.q.Has("level") {
		return problem(api.CodeNotAllowed, "a read changes no level", "set log.level in rmd.yaml and send SIGHUP")
	}
	c.w.Header().Set("Content-Type", "text/html;charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	name := c.q.Get("log")
	if name == "" {
		_, _ = fmt.Fprintln(c.w, "<html><title>Log Level</title><body><h1>Log Level</h1><p>give ?log=NAME</p></body></html>")
		return nil
	}
	_, _ = fmt.Fprintf(c.w, "<html><title>Log Level</title><body><h1>Log Level</h1>\n<!-- OUTPUT -->Submitted Class Name: <b>%s</b><br />\n<!-- OUTPUT -->Log Class: <b>hclog</b><br />\n<!-- OUTPUT -->Effective Level: <b>%s</b><br />\n</body></html>\n",
		html.EscapeString(name), strings.ToUpper(c.s.log.GetLevel().String()))
	return nil
}
