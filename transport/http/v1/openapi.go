package v1

import (
	_ "embed"
	"net/http"
	"strconv"

	"rmd/transport/http/route"
)

// openAPI is the OpenAPI description of this API. "make golden" generates it from the routes and
// the types of package api.
//
//go:embed openapi.json
var openAPI []byte

func openAPIRoutes() []route.Route {
	return []route.Route{route.Get("/v1/openapi.json", "", showOpenAPI).Doc("Describe this API as an OpenAPI document",
		nil, map[string]any{})}
}

func showOpenAPI(c *route.Call) error {
	h := c.W.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(openAPI)))
	c.W.WriteHeader(http.StatusOK)
	_, _ = c.W.Write(openAPI) // the client may be gone
	return nil
}
