package route

import "net/http"

// Doc describes a route for programs: GET /v1/openapi.json is made from it.
type Doc struct {
	Text    string      // one sentence
	Takes   []any       // the forms that a body may have: a value of the document's type, a Partial or a Media
	Answers map[int]any // by status, in the same forms; what is not here is an api.Error
}

// Media is the content type of a body or an answer that is not a JSON document.
type Media string

// Partial is a document whose fields may each be left out.
type Partial struct{ Of any }

// Takes are the forms that a body may have, where there are several.
type Takes []any

// Answers are the documents of a route that has several statuses without an error.
type Answers map[int]any

// Doc returns the route with its description. takes is the body's document, a Takes or nil;
// gives is the document that comes with status 200, or an Answers.
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
