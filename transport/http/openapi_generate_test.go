package httpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"rmd/api"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/yarn"
)

type object = map[string]any

// openAPI generates the description of rmd's own API from the routes, the types of their documents
// and the comments of those types. Only this test generates it; the program contains the result.
type openAPI struct {
	t        *testing.T
	comments comments
	schemas  object
}

// described reports whether a route belongs to rmd's own API.
func described(r route.Route) bool {
	return strings.HasPrefix(r.Pattern, "/v1/") || r.Pattern == "/healthz" || r.Pattern == "/readyz"
}

func generateOpenAPI(t *testing.T, routes []route.Route) []byte {
	g := &openAPI{t: t, comments: readComments(t, "../../api", "../../scheduler/explain"), schemas: object{}}
	paths := object{}
	for _, r := range routes {
		if !described(r) {
			continue
		}
		item, _ := paths[r.Pattern].(object)
		if item == nil {
			item = object{}
			paths[r.Pattern] = item
		}
		item[strings.ToLower(r.Method)] = g.operation(r)
	}
	refusal := object{"application/json": object{"schema": g.schema(reflect.TypeFor[api.Error]())}}
	g.schema(reflect.TypeFor[api.EventBatch]()) // the data of a stream's messages
	doc := object{
		"openapi": "3.1.0",
		"info": object{"title": "rmd", "version": "v1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The API of rmd, a replicated YARN ResourceManager. Any replica answers reads from the state that it has applied, and takes writes to the leader. " +
				"Times are Unix milliseconds, memory is MiB. New versions add fields and codes; they rename none."},
		"servers": []any{object{"url": "http://127.0.0.1:8088", "description": "a replica on this machine"}},
		"paths":   paths,
		"components": object{
			"schemas": g.schemas,
			"responses": object{
				"Refused": object{"description": "The request is refused and has changed nothing. " + codesOf(400, 499),
					"content": refusal},
				"Unavailable": object{"description": "The replica cannot answer now, or failed. " + codesOf(500, 599),
					"content": refusal},
			},
			"headers": object{
				api.HeaderIndex: header("log index that the answer was read at, or that the write has", "integer"),
				api.HeaderRole:  header("role of the replica that answered", "string"),
				api.HeaderStaleness: header("milliseconds since that replica last heard from the leader; 0 on the leader",
					"integer"),
			},
			"parameters": object{api.HeaderKey: object{"name": api.HeaderKey, "in": "header",
				"schema":      object{"type": "string", "examples": []any{"laptop-7f3a/12"}},
				"description": "CLIENT/SEQUENCE: a repeated call with the same key and body gets the first answer again"}},
			"securitySchemes": object{
				"token":       object{"type": "http", "scheme": "bearer", "description": "an access token"},
				"certificate": object{"type": "mutualTLS", "description": "a client certificate of the cluster with a role"},
			},
		},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func header(text, kind string) object {
	return object{"description": text, "schema": object{"type": kind}}
}

// codesOf returns a text that lists the error codes whose status is between from and to.
func codesOf(from, to int) string {
	var parts []string
	for _, code := range problem.Codes() {
		if s := problem.Status(code); s >= from && s <= to {
			parts = append(parts, fmt.Sprintf("%s (%d)", code, s))
		}
	}
	text := "Codes: " + strings.Join(parts, ", ") + "."
	if from == 400 {
		text += " Every other code has status 409: the request is understood, and the state does not allow it."
	}
	return text
}

var pathName = regexp.MustCompile(`\{(\w+)\}`)

func (g *openAPI) operation(r route.Route) object {
	if r.Described.Text == "" {
		g.t.Fatalf("%s %s has no description; add Doc to its route", r.Method, r.Pattern)
	}
	var params []any
	for _, m := range pathName.FindAllStringSubmatch(r.Pattern, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true,
			"description": pathText(g.t, r.Pattern, m[1]), "schema": object{"type": "string"}})
	}
	for _, name := range strings.Fields(r.Query) {
		params = append(params, g.parameter(r, name))
	}
	if r.Method != http.MethodGet {
		params = append(params, object{"$ref": "#/components/parameters/" + api.HeaderKey})
	}
	op := object{"summary": r.Described.Text, "operationId": operationID(r), "tags": []any{tagOf(r.Pattern)},
		"responses": g.answers(r), "security": security(r), "x-rmd-role": r.Access().Least.String()}
	if params != nil {
		op["parameters"] = params
	}
	if r.Described.Takes != nil {
		op["requestBody"] = object{"content": g.content(r.Described.Takes...)}
	}
	return op
}

// security returns the security requirements of a route: its least role, and none as an alternative
// where everybody may read.
func security(r route.Route) []any {
	least := r.Access().Least
	if least == yarn.RoleNone {
		return []any{object{}}
	}
	role := []any{least.String()}
	out := []any{object{"token": role}, object{"certificate": role}}
	if least == yarn.RoleRead {
		out = append(out, object{})
	}
	return out
}

func tagOf(pattern string) string {
	return strings.FieldsFunc(strings.TrimPrefix(pattern, "/v1"), func(r rune) bool { return r == '/' || r == ':' })[0]
}

// operationID returns the method and the words of the pattern in camel case. Generators of clients
// name functions after it.
func operationID(r route.Route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Method))
	for _, w := range strings.FieldsFunc(strings.TrimPrefix(r.Pattern, "/v1"),
		func(r rune) bool { return !unicode.IsLetter(r) }) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

func (g *openAPI) answers(r route.Route) object {
	out := object{"4XX": object{"$ref": "#/components/responses/Refused"},
		"5XX": object{"$ref": "#/components/responses/Unavailable"}}
	headers := object{}
	for _, name := range []string{api.HeaderIndex, api.HeaderRole, api.HeaderStaleness} {
		headers[name] = object{"$ref": "#/components/headers/" + name}
	}
	for status, doc := range r.Described.Answers {
		out[strconv.Itoa(status)] = object{"description": http.StatusText(status), "headers": headers,
			"content": g.content(doc)}
	}
	return out
}

// content returns a body with a media type for each of its forms.
func (g *openAPI) content(docs ...any) object {
	out := object{}
	for _, doc := range docs {
		switch d := doc.(type) {
		case route.Media:
			out[string(d)] = object{"schema": object{"type": "string"}}
		case route.Partial:
			properties := object{}
			g.fields(reflect.TypeOf(d.Of), properties, new([]any))
			out["application/json"] = object{"schema": object{"type": "object", "properties": properties}}
		default:
			out["application/json"] = object{"schema": g.schema(reflect.TypeOf(doc))}
		}
	}
	return out
}

// schema returns the schema of a type. It puts the schema of a named struct under components and
// returns a reference.
func (g *openAPI) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[api.Duration]():
		return object{"type": []any{"string", "number"}, "examples": []any{"90s"},
			"description": "a duration such as 90s or 24h; a bare number is seconds"}
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer", "format": map[bool]string{true: "int32", false: "int64"}[t.Kind() == reflect.Int32]}
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Slice:
		return object{"type": "array", "items": g.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.schema(t.Elem())}
	case reflect.Interface:
		return object{}
	case reflect.Pointer:
		return g.schema(t.Elem())
	case reflect.Struct:
		return g.reference(t)
	}
	g.t.Fatalf("no schema for %v", t)
	return nil
}

func (g *openAPI) reference(t reflect.Type) object {
	name := g.comments.name(t)
	if name == "" {
		g.t.Fatalf("%v has no name in package api", t)
	}
	if g.schemas[name] == nil {
		s := object{"type": "object"}
		g.schemas[name] = s // set it before its fields: a type may contain itself
		properties, required := object{}, []any{}
		g.fields(t, properties, &required)
		s["properties"] = properties
		if len(required) > 0 {
			s["required"] = required
		}
		if text := g.comments.text[t.Name()+"@"+filepath.Base(t.PkgPath())]; text != "" {
			s["description"] = text
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields adds the fields of a struct, and those of embedded structs, to properties.
func (g *openAPI) fields(t reflect.Type, properties object, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			g.fields(f.Type, properties, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		s := g.schema(f.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if f.Type.Kind() == reflect.Pointer && !optional {
			s = object{"anyOf": []any{s, object{"type": "null"}}}
		}
		if text := g.comments.text[t.Name()+"."+f.Name+"@"+filepath.Base(t.PkgPath())]; text != "" {
			s = maps.Clone(s)
			s["description"] = text
		}
		properties[name] = s
		if !optional {
			*required = append(*required, name)
		}
	}
}

// comments has the comments of the types and fields of some packages. The keys are TYPE@PACKAGE and
// TYPE.FIELD@PACKAGE.
type comments struct {
	text    map[string]string
	aliases map[string]string // the name that package api gives to a type of another package, by PACKAGE.TYPE
}

func (c comments) name(t reflect.Type) string {
	if filepath.Base(t.PkgPath()) == "api" {
		return t.Name()
	}
	return c.aliases[t.String()]
}

func readComments(t *testing.T, dirs ...string) comments {
	c := comments{text: map[string]string{}, aliases: map[string]string{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if d, ok := d.(*ast.GenDecl); ok {
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							c.add(d, s, filepath.Base(dir))
						}
					}
				}
			}
		}
	}
	return c
}

func (c comments) add(d *ast.GenDecl, s *ast.TypeSpec, pkg string) {
	c.text[s.Name.Name+"@"+pkg] = oneLine(d.Doc.Text())
	switch v := s.Type.(type) {
	case *ast.SelectorExpr:
		c.aliases[v.X.(*ast.Ident).Name+"."+v.Sel.Name] = s.Name.Name
	case *ast.StructType:
		for _, f := range v.Fields.List {
			for _, n := range f.Names {
				c.text[s.Name.Name+"."+n.Name+"@"+pkg] = oneLine(f.Doc.Text() + " " + f.Comment.Text())
			}
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// pathText describes the parameter of a path.
func pathText(t *testing.T, pattern, name string) string {
	for prefix, text := range map[string]string{
		"/v1/apps/": "id of an application", "/v1/nodes/": "id of a node (HOST:PORT), or its host alone where that is unique",
		"/v1/queues/": "path of a queue, or its last name where that is unique",
		"/v1/labels/": "name of a label", "/v1/reservations/": "id of a reservation, such as r41",
		"/v1/conf/": "version of the queue configuration", "/v1/cluster/members/": "id of a replica",
		"/v1/access/tokens/": "name of an access token",
	} {
		if strings.HasPrefix(pattern, prefix) {
			return text
		}
	}
	t.Fatalf("no description of {%s} in %s", name, pattern)
	return ""
}

// These maps describe query parameters by name, or by pattern and name if a name has several
// meanings.
var (
	flags = map[string]string{
		"consistent":    "wait until the answer includes everything that was committed when the request arrived",
		"dry_run":       "check, and change nothing",
		"allow_unknown": "keep unknown keys that resemble known ones, as YARN does",
		"explain":       "explain why the application waits",
		"force":         "do it although no access token that may change access is left",
		"why":           "include the causes of the decisions",
		"stale":         "take the state of this replica instead of the leader's",
	}
	numbers = map[string]string{
		"principal": "a Kerberos principal whose short name the answer shows",
		"min_index": "wait until the answer includes this log index",
		"dynamic":   "most dynamic children of a queue, those with the most applications; without it, all",
		"limit":     "most items of the answer; without it, all", "from": "first log index; without it, the oldest",
		"count": "most entries of the answer",
		"since": "only entries since this time, in Unix milliseconds", "/v1/audit after": "only entries after this number",
		"/v1/events after": "log index to begin after; without it, now",
	}
	words = map[string]string{
		"span": "hour, day or week; empty: hour", "after": "the next of the page before",
		"state": "states, separated by commas", "queue": "only in this queue or below it", "user": "only of this user",
		"type": "only of this type", "name": "only of this name",
		"tag": "only with this tag", "order": "oldest or newest first", "rack": "only on this rack",
		"label": "only with this label; empty: only without a label", "node": "only on this node",
		"app": "only of this application", "kind": "kinds of events, separated by commas",
		"reason": "why, for the record", "comment": "what the version is for", "who": "only callers whose name contains this",
		"action":        "only actions that contain this",
		"role":          "leader or follower: 200 only on such a replica",
		"replace_state": "id of the running cluster whose state is replaced",
	}
)

func (g *openAPI) parameter(r route.Route, name string) object {
	p := object{"name": name, "in": "query"}
	for _, key := range []string{r.Pattern + " " + name, name} {
		switch {
		case flags[key] != "":
			p["description"], p["schema"], p["allowEmptyValue"] = flags[key], object{"type": "boolean"}, true
		case numbers[key] != "":
			p["description"], p["schema"] = numbers[key], object{"type": "integer", "minimum": 0}
		case words[key] != "":
			p["description"], p["schema"] = words[key], object{"type": "string"}
		default:
			continue
		}
		return p
	}
	g.t.Fatalf("%s %s: no description of the parameter %s", r.Method, r.Pattern, name)
	return nil
}

// goldenOpenAPI returns the description that the program contains.
func goldenOpenAPI(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("v1", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// documented lists METHOD PATTERN of every operation of a description.
func documented(t *testing.T, text []byte) []string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var out []string
	for path, item := range doc.Paths {
		for method := range item {
			out = append(out, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(out)
	return out
}
