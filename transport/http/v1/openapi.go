package v1

import (
	_ "embed"
	"net/http"
	"strconv"

	"rmd/transport/http/route"
)

// openAPI describes this API for programs. It is generated from the routes and the types of
// package api: make golden.
//
//go:embed openapi.json
var openAPI []byte

func (s *API) openAPIRoutes() []route.Route {
	return []route.Route{route.Get("/v1/openapi.json", "", s.showOpenAPI).Doc("Describe this API as an OpenAPI document", nil, map[string]any{})}
}

func (s *API) showOpenAPI(c *route.Call) error {
	h := c.W.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(openAPI)))
	c.W.WriteHeader(http.StatusOK)
	_, _ = c.W.Write(openAPI) // a client that is gone is no error of ours
	return nil
}
