package yarnweb

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"rmd/api"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// logLevel shows the level of this replica's log in the format that "yarn daemonlog -getlevel"
// reads. It does not set the level: log.level in the configuration does, which the replica reads
// again on SIGHUP.
func (s *API) logLevel(c *route.Call) error {
	if c.Query.Has("level") {
		return problem.New(api.CodeNotAllowed, "a read changes no level", "set log.level in rmd.yaml and send SIGHUP")
	}
	c.W.Header().Set("Content-Type", "text/html;charset=utf-8")
	c.W.WriteHeader(http.StatusOK)
	name := c.Query.Get("log")
	if name == "" {
		_, _ = fmt.Fprintln(c.W, "<html><title>Log Level</title><body><h1>Log Level</h1><p>give ?log=NAME</p></body></html>")
		return nil
	}
	_,
		_ = fmt.Fprintf(c.W,
		"<html><title>Log Level</title><body><h1>Log Level</h1>\n<!-- OUTPUT -->Submitted Class Name: <b>%s</b><br />\n<!-- OUTPUT -->Log Class: <b>hclog</b><br />\n<!-- OUTPUT -->Effective Level: <b>%s</b><br />\n</body></html>\n",
		html.EscapeString(name), strings.ToUpper(s.log.GetLevel().String()))
	return nil
}
