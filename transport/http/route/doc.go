package route

import "net/http"

// Doc describes a route. GET /v1/openapi.json is generated from it.
type Doc struct {
	Text    string      // one sentence
	Takes   []any       // forms of the body: a value of the document's type, a Partial or a Media
	Answers map[int]any // by status, in the same forms; other statuses are an api.Error
}

// Media is the content type of a body or an answer that is not a JSON document.
type Media string

// Partial is a document in which every field is optional.
type Partial struct{ Of any }

// Takes lists the forms of the body of a route that accepts several.
type Takes []any

// Answers has the documents of a route that has several successful statuses.
type Answers map[int]any

// Doc returns the route with its description. takes is the body's document, a Takes or nil. gives
// is the document of status 200, or an Answers.
func (t Route) Doc(text string, takes, gives any) Route {
	t.Described = Doc{Text: text}
	switch v := takes.(type) {
	case nil:
	case Takes:
		t.Described.Takes = v
	default:
		t.Described.Takes = []any{v}
	}
	if v, ok := gives.(Answers); ok {
		t.Described.Answers = v
	} else {
		t.Described.Answers = map[int]any{http.StatusOK: gives}
	}
	return t
}
