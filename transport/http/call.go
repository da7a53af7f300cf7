package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// call is one request on its way through a handler.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	route *route
	args  map[string]string
	q     url.Values
	body  []byte
	have  bool // the body has been read
	// audited says that what came of it is recorded, or need not be.
	audited bool
}

// flag says whether a query parameter is set: present, and not "false" or "0".
func (c *call) flag(name string) bool {
	if !c.q.Has(name) {
		return false
	}
	v := c.q.Get(name)
	return v != "false" && v != "0"
}

// number reads a query parameter; def when it is absent.
func (c *call) number(name string, def uint64) (uint64, error) {
	v := c.q.Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, invalid(fmt.Sprintf("%s=%q is not a whole number", name, v), "give digits only")
	}
	return n, nil
}

// limit reads the page size; 0 is no limit.
func (c *call) limit() (int, error) {
	n, err := c.number("limit", 0)
	if err != nil {
		return 0, err
	}
	if c.q.Has("limit") && n == 0 || n > 1_000_000 {
		return 0, invalid("limit is out of range", "give 1 to 1000000, or leave it out for everything")
	}
	return int(n), nil
}

// raw reads the whole body, within the limits.
func (c *call) raw() ([]byte, error) {
	if c.have {
		return c.body, nil
	}
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(c.s.cfg.BodyTimeout)) // a recorder in tests has none
	b, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.s.cfg.MaxBodyBytes))
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, err
		}
		return nil, invalid("the body could not be read: "+err.Error(), "send it whole")
	}
	c.body, c.have = b, true
	return b, nil
}

// media is the content type without its parameters.
func (c *call) media() string {
	t, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return c.r.Header.Get("Content-Type")
	}
	return t
}

// read decodes the JSON body into v, strictly. No body is an empty document.
func (c *call) read(v any) error {
	b, err := c.raw()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	switch t := c.media(); t {
	case "", "application/json", "application/x-www-form-urlencoded": // the last is what curl -d says
	default:
		return problem(api.CodeUnsupportedMedia, t+" is not taken here", "send application/json")
	}
	if err := checkDepth(b); err != nil {
		return err
	}
	return decodeStrict(b, v)
}

// decodeStrict decodes JSON and names what it does not know.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			name = strings.Trim(name, `"`)
			known := fieldNames(v)
			return problem(api.CodeUnknownField, fmt.Sprintf("unknown field %q", name), "known fields: "+strings.Join(known, ", "), name)
		}
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) && typed.Field != "" {
			return invalid(fmt.Sprintf("field %q cannot be a %s", typed.Field, typed.Value), "give a "+typed.Type.String(), typed.Field)
		}
		return invalid("the body is not the JSON document expected: "+strings.TrimPrefix(err.Error(), "json: "), "see the documentation of this path")
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("there is more after the JSON document", "send one document")
	}
	return nil
}

// key reads the idempotency key.
func (c *call) key() (string, error) {
	k := c.r.Header.Get(api.HeaderKey)
	if k == "" {
		return "", nil
	}
	client, seq, ok := strings.Cut(k, "/")
	if _, err := strconv.ParseUint(seq, 10, 64); !ok || err != nil || client == "" || len(k) > 160 || strings.ContainsAny(k, " \t") {
		return "", invalid(fmt.Sprintf("%s %q is not CLIENT/SEQUENCE", api.HeaderKey, k), "send for instance laptop-7f3a/12")
	}
	return k, nil
}

// bodyHash tells calls with one key apart: method, path, query and body.
func (c *call) bodyHash() uint64 {
	h := fnv.New64a()
	for _, part := range [][]byte{[]byte(c.r.Method), []byte(c.r.URL.EscapedPath()), []byte(c.r.URL.RawQuery), c.body} {
		h.Write(part)
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// do sends an input through the door and returns its reply, or its refusal.
func do[R input.Reply](c *call, in input.Input) (R, uint64, error) {
	var none R
	if _, err := c.raw(); err != nil {
		return none, 0, err
	}
	key, err := c.key()
	if err != nil {
		return none, 0, err
	}
	req := input.Request{Key: key, Input: in}
	if key == "" && needsKey(in) {
		req.Key = c.s.ownKey()
	}
	if req.Key != "" {
		req.BodyHash = c.bodyHash()
	}
	c.audited = c.audited || input.Operation(in) != ""
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.WriteTimeout)
	defer cancel()
	reply, index, err := c.s.cfg.Door.Do(ctx, req)
	if err != nil {
		c.s.metrics.input(in, "error")
		c.auditInput(in, err)
		return none, 0, err
	}
	if f := reply.Refused(); f != nil {
		c.s.metrics.input(in, "refused")
		c.auditInput(in, f)
		return none, 0, f
	}
	c.s.metrics.input(in, "ok")
	unfork(c.r)
	c.auditInput(in, nil)
	r, ok := reply.(R)
	if !ok {
		return none, 0, fmt.Errorf("reply of type %T to input %d", reply, in.Kind())
	}
	c.setIndex(index)
	return r, index, nil
}

// needsKey says whether an input would do its work twice when the door repeats
// it: all others carry identities that make repetition harmless.
func needsKey(in input.Input) bool {
	sub, ok := in.(*input.SubmitApplication)
	return ok && sub.ID.Seq == 0 && !sub.DryRun
}

// done answers a write that has nothing more to say.
func (c *call) done(in input.Input) error {
	_, index, err := do[*input.Done](c, in)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Done{Index: index})
}

func (c *call) setIndex(index uint64) {
	c.w.Header().Set(api.HeaderIndex, strconv.FormatUint(index, 10))
}

// json writes a document. A HEAD request gets its headers only, by net/http.
func (c *call) json(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(b, '\n')) // a client that is gone is no error of ours
	return nil
}

// who names the caller for what is recorded: whom it proves to be, else whom it
// says.
func (s *Server) who(r *http.Request) string {
	if p := principalOf(r); p.known() {
		return p.String()
	}
	return clip(s.cfg.Who(r))
}

func (c *call) who() string { return c.s.who(c.r) }
