package httpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestOpenAPIIsValid checks that the description is valid OpenAPI 3.1, by the schema that the
// OpenAPI Initiative publishes (https://spec.openapis.org/oas/3.1/schema/2022-10-07), and that each
// schema in it is valid JSON Schema.
func TestOpenAPIIsValid(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("testdata", "openapi-3.1-schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("oas.json", decodeJSON(t, schema)); err != nil {
		t.Fatal(err)
	}
	doc := decodeJSON(t, goldenOpenAPI(t)).(object)
	if err := c.MustCompile("oas.json").Validate(doc); err != nil {
		t.Error(err)
	}
	d := readDescription(t)
	for name := range doc["components"].(object)["schemas"].(object) {
		if _, err := d.schema("components", "schemas", name); err != nil {
			t.Error(err)
		}
	}
	delete(doc, "info")
	if c.MustCompile("oas.json").Validate(doc) == nil {
		t.Error("a description without info is valid")
	}
}

// TestOpenAPIFindsAWrongAnswer checks that description rejects wrong answers and bodies. bench.ask
// compares every answer of this package's tests with the description.
func TestOpenAPIFindsAWrongAnswer(t *testing.T) {
	d := readDescription(t)
	for path, answer := range map[string]string{"/v1/apps": `{"apps": 7}`, "/v1/nodes/a.example:8041": `{}`,
		"/v1/queues/root.a": `[]`} {
		if err := d.answer("GET", path, 200, []byte(answer)); err == nil {
			t.Errorf("%s may answer %s", path, answer)
		}
	}
	if err := d.answer("GET", "/v1/apps", 302, nil); err == nil {
		t.Error("/v1/apps may answer 302, which the description does not have")
	}
	if err := d.body("POST", "/v1/nodes/sim-01:8041:resource", []byte(`{"resource": "large"}`)); err == nil {
		t.Error("a resource may be a string")
	}
}

func decodeJSON(t testing.TB, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// description is v1/openapi.json, compiled to check calls against it.
type description struct {
	paths    object
	patterns map[string]*regexp.Regexp
	compiler *jsonschema.Compiler
	mu       sync.Mutex
}

var readDescription = func() func(testing.TB) *description {
	var once sync.Once
	var d *description
	return func(t testing.TB) *description {
		once.Do(func() {
			doc := decodeJSON(t, goldenOpenAPI(t))
			d = &description{paths: doc.(object)["paths"].(object), patterns: map[string]*regexp.Regexp{},
				compiler: jsonschema.NewCompiler()}
			if err := d.compiler.AddResource("rmd.json", doc); err != nil {
				t.Fatal(err)
			}
			variable := regexp.MustCompile(`\\\{[a-z]+\\\}`)
			for path := range d.paths {
				d.patterns[path] = regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
			}
		})
		return d
	}
}()

// schema compiles the schema at a path of the description.
func (d *description) schema(at ...string) (*jsonschema.Schema, error) {
	for i, s := range at {
		at[i] = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.compiler.Compile("rmd.json#/" + strings.Join(at, "/"))
}

// operation finds the operation of a method and an address. If several patterns match, such as
// /v1/nodes/{id} and /v1/nodes/{id}:drain, it takes the longest.
func (d *description) operation(method, target string) (path string, op object) {
	method = strings.ToLower(method)
	for p, item := range d.paths {
		if o, ok := item.(object)[method].(object); ok && len(p) > len(path) && d.patterns[p].MatchString(target) {
			path, op = p, o
		}
	}
	return path, op
}

// answer returns how a JSON answer differs from the description, or nil. It does not check
// operations that are not described.
func (d *description) answer(method, target string, status int, body []byte) error {
	path, op := d.operation(method, target)
	if op == nil {
		return nil
	}
	responses, key := op["responses"].(object), strconv.Itoa(status)
	if _, ok := responses[key]; !ok {
		key = key[:1] + "XX"
	}
	response, ok := responses[key].(object)
	if !ok {
		return fmt.Errorf("the description of %s %s has no status %d", method, path, status)
	}
	at := []string{"paths", path, strings.ToLower(method), "responses", key}
	if ref, ok := response["$ref"].(string); ok {
		at = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	}
	return d.valid(at, body)
}

// body returns how the body of an accepted request differs from the description, or nil.
func (d *description) body(method, target string, body []byte) error {
	path, op := d.operation(method, target)
	if op == nil {
		return nil
	}
	if op["requestBody"] == nil {
		return fmt.Errorf("the description of %s %s has no body", method, path)
	}
	return d.valid([]string{"paths", path, strings.ToLower(method), "requestBody"}, body)
}

func (d *description) valid(at []string, body []byte) error {
	schema, err := d.schema(append(at, "content", "application/json", "schema")...)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// check compares one call of a test with the description.
func (d *description) check(t testing.TB, r *http.Request, body string, w *httptest.ResponseRecorder) {
	t.Helper()
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := d.answer(r.Method, r.URL.Path, w.Code, w.Body.Bytes()); err != nil {
			t.Errorf("%s %s: status %d is not as openapi.json says: %v\n%.500s", r.Method, r.URL, w.Code, err, w.Body)
		}
	}
	if w.Code < 300 && json.Valid([]byte(body)) {
		if err := d.body(r.Method, r.URL.Path, []byte(body)); err != nil {
			t.Errorf("%s %s: the body that was accepted is not as openapi.json says: %v\n%.500s", r.Method, r.URL, err, body)
		}
	}
}
