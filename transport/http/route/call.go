package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Call is a request on its way through a handler.
type Call struct {
	W     http.ResponseWriter
	R     *http.Request
	Route *Route
	Args  map[string]string // by the names in the pattern
	Query url.Values

	mux  *Mux
	body []byte
	have bool // body has been read
	// audited means that the outcome is recorded, or need not be.
	audited bool
}

// NewCall returns the call of a request.
func (m *Mux) NewCall(w http.ResponseWriter, r *http.Request) *Call {
	return &Call{W: w, R: r, mux: m}
}

// Flag reports whether a query parameter is set: it is present, and not "false" or "0".
func (c *Call) Flag(name string) bool {
	if !c.Query.Has(name) {
		return false
	}
	v := c.Query.Get(name)
	return v != "false" && v != "0"
}

// Number returns a query parameter as a number, or def if it is absent.
func (c *Call) Number(name string, def uint64) (uint64, error) {
	v := c.Query.Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, problem.Invalid(fmt.Sprintf("%s=%q is not a whole number", name, v), "give digits only")
	}
	return n, nil
}

// Limit returns the page size; 0 means no limit.
func (c *Call) Limit() (int, error) {
	n, err := c.Number("limit", 0)
	if err != nil {
		return 0, err
	}
	if c.Query.Has("limit") && n == 0 || n > 1_000_000 {
		return 0, problem.Invalid("limit is out of range", "give 1 to 1000000, or leave it out for everything")
	}
	return int(n), nil
}

// Raw reads the whole body, within the limits of size and time.
func (c *Call) Raw() ([]byte, error) {
	if c.have {
		return c.body, nil
	}
	rc := http.NewResponseController(c.W)
	_ = rc.SetReadDeadline(time.Now().Add(c.mux.cfg.BodyTimeout)) // the ResponseRecorder of tests has no deadlines
	b, err := readBody(http.MaxBytesReader(c.W, c.R.Body, c.mux.cfg.MaxBodyBytes),
		min(c.R.ContentLength, c.mux.cfg.MaxBodyBytes))
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		var large *http.MaxBytesError
		var busy *api.Error
		if errors.As(err, &large) || errors.As(err, &busy) {
			return nil, err
		}
		return nil, problem.Invalid("the body could not be read: "+err.Error(), "send it whole")
	}
	c.body, c.have = b, true
	return b, nil
}

// SmallBody is the number of bytes of a body that are read before a buffer for all of it is
// allocated. This much of each body does not count against the common limit of bodies. Ordinary
// changes are smaller.
const SmallBody = 64 << 10

// readBody reads a body with a declared length, or −1 if it is unknown. It allocates the buffer at
// once, because growing it in steps would take several times as much memory.
func readBody(body io.Reader, declared int64) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, body, SmallBody+1); err != nil {
		if err == io.EOF {
			err = nil
		}
		return b.Bytes(), err
	}
	if declared > SmallBody {
		b.Grow(int(declared) - SmallBody + bytes.MinRead)
	}
	_, err := b.ReadFrom(body)
	return b.Bytes(), err
}

// Media returns the content type without parameters.
func (c *Call) Media() string {
	t, _, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if err != nil {
		return c.R.Header.Get("Content-Type")
	}
	return t
}

// Read decodes the JSON body into v and refuses unknown fields. An empty body is an empty document.
func (c *Call) Read(v any) error {
	b, err := c.Raw()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	switch t := c.Media(); t {
	case "", "application/json", "application/x-www-form-urlencoded": // curl -d sends the last one
	default:
		return problem.New(api.CodeUnsupportedMedia, t+" is not taken here", "send application/json")
	}
	if err := CheckDepth(b); err != nil {
		return err
	}
	return decodeStrict(b, v)
}

// decodeStrict decodes JSON. Its errors name unknown fields and fields of the wrong type.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			name = strings.Trim(name, `"`)
			known := fieldNames(v)
			return problem.New(api.CodeUnknownField, fmt.Sprintf("unknown field %q", name),
				"known fields: "+strings.Join(known, ", "), name)
		}
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) && typed.Field != "" {
			return problem.Invalid(fmt.Sprintf("field %q has a value of the wrong type: %s", typed.Field, typed.Value),
				"give "+wanted(typed.Type), typed.Field)
		}
		return problem.Invalid("the body is not the JSON document expected: "+strings.TrimPrefix(err.Error(), "json: "),
			"see the documentation of this path")
	}
	if _, err := d.Token(); err != io.EOF {
		return problem.Invalid("there is more after the JSON document", "send one document")
	}
	return nil
}

// wanted describes the JSON values of a field's type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf("a whole number from %d to %d", -most-1, most)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}

// key returns the idempotency key, or "".
func (c *Call) key() (string, error) {
	k := c.R.Header.Get(api.HeaderKey)
	if k == "" {
		return "", nil
	}
	client, seq, ok := strings.Cut(k, "/")
	if _, err := strconv.ParseUint(seq, 10, 64); !ok || err != nil || client == "" || len(k) > 160 ||
		strings.ContainsAny(k, " \t") {
		return "", problem.Invalid(fmt.Sprintf("%s %q is not CLIENT/SEQUENCE", api.HeaderKey, k),
			"send for instance laptop-7f3a/12")
	}
	return k, nil
}

// bodyHash distinguishes calls with the same key. It covers the method, the path, the query and the
// body.
func (c *Call) bodyHash() uint64 {
	h := fnv.New64a()
	for _, part := range [][]byte{[]byte(c.R.Method), []byte(c.R.URL.EscapedPath()), []byte(c.R.URL.RawQuery), c.body} {
		h.Write(part)
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// Do submits an input. It returns the reply and its index, or the refusal as an error.
func Do[R input.Reply](c *Call, in input.Input) (R, uint64, error) {
	var none R
	if _, err := c.Raw(); err != nil {
		return none, 0, err
	}
	key, err := c.key()
	if err != nil {
		return none, 0, err
	}
	req := input.Request{Key: key, Input: in}
	if key == "" && needsKey(in) {
		req.Key = c.mux.ownKey()
	}
	if req.Key != "" {
		req.BodyHash = c.bodyHash()
	}
	c.audited = c.audited || input.Operation(in) != ""
	ctx, cancel := context.WithTimeout(c.R.Context(), c.mux.cfg.WriteTimeout)
	defer cancel()
	reply, index, err := c.mux.cfg.Submitter.Do(ctx, req)
	if err != nil {
		c.mux.cfg.Count(in, "error")
		c.AuditInput(in, err)
		return none, 0, err
	}
	if f := reply.Refused(); f != nil {
		c.mux.cfg.Count(in, "refused")
		c.AuditInput(in, f)
		return none, 0, f
	}
	c.mux.cfg.Count(in, "ok")
	view.Release(c.R)
	c.AuditInput(in, nil)
	r, ok := reply.(R)
	if !ok {
		return none, 0, fmt.Errorf("reply of type %T to input %d", reply, in.Kind())
	}
	c.SetIndex(index)
	return r, index, nil
}

// needsKey reports whether an input would take effect twice if the forwarder repeats it. All other
// inputs have an identity that makes repetition harmless.
func needsKey(in input.Input) bool {
	sub, ok := in.(*input.SubmitApplication)
	return ok && sub.ID.Seq == 0 && !sub.DryRun
}

// Done submits an input whose reply has no content, and answers the call.
func (c *Call) Done(in input.Input) error {
	_, index, err := Do[*input.Done](c, in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Done{Index: index})
}

// SetIndex sets the header with the log index of the answer.
func (c *Call) SetIndex(index uint64) {
	c.W.Header().Set(api.HeaderIndex, strconv.FormatUint(index, 10))
}

// JSON answers with a document. For HEAD, net/http sends only the headers.
func (c *Call) JSON(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	h := c.W.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	c.W.WriteHeader(status)
	_, _ = c.W.Write(append(b, '\n')) // the client may be gone
	return nil
}

// Who names the caller for the audit.
func (c *Call) Who() string { return c.mux.cfg.Guard.Who(c.R) }

// User returns the YARN user as whom the caller acts.
func (c *Call) User() string { return c.mux.cfg.Guard.User(c.R) }

// Fork returns the state from which to answer. With ?consistent, it has at least what the leader
// had committed when the call arrived; with ?min_index=N, at least index N. Fork sets the headers
// that describe the state. It returns an error while this replica has no state of a cluster.
func (c *Call) Fork() (*state.State, uint64, error) {
	st, index, err := c.fork()
	if err == nil && st.Meta.ClusterID == "" {
		err = c.mux.cfg.Problems.NoState()
	}
	return st, index, err
}

// fork is Fork for answers about this replica, which need no state of a cluster.
func (c *Call) fork() (*state.State, uint64, error) {
	ctx, cancel := context.WithTimeout(c.R.Context(), c.mux.cfg.ReadTimeout)
	defer cancel()
	waited, err := c.await(ctx)
	if err != nil {
		return nil, 0, err
	}
	st, index := c.mux.cfg.Views.Fork(c.R)
	if waited {
		st, index = c.mux.cfg.Views.Refork(c.R)
	}
	c.ReadHeaders(index)
	return st, index, nil
}

// await waits for the index that ?consistent or ?min_index demands, and reports whether there is
// one.
func (c *Call) await(ctx context.Context) (bool, error) {
	least, err := c.Number("min_index", 0)
	if err != nil {
		return false, err
	}
	if c.Flag("consistent") {
		index, err := c.mux.cfg.Consensus.ReadIndex(ctx)
		if err != nil {
			return false, err
		}
		least = max(least, index)
	}
	if least == 0 {
		return false, nil
	}
	return true, c.mux.cfg.Reader.WaitApplied(ctx, least)
}

// ReadHeaders sets the headers with the index and the replica's role.
func (c *Call) ReadHeaders(index uint64) {
	c.SetIndex(index)
	c.RoleHeaders()
}

// RoleHeaders sets the headers with the replica's role and with the time since it last heard from
// the leader.
func (c *Call) RoleHeaders() {
	h := c.W.Header()
	h.Set(api.HeaderRole, c.mux.cfg.Consensus.Role())
	if d := c.mux.cfg.Consensus.Staleness(); d >= 0 {
		h.Set(api.HeaderStaleness, strconv.FormatInt(d.Milliseconds(), 10))
	}
	h.Set("Cache-Control", "no-store")
}

// View returns a view of the state from which to answer.
func (c *Call) View() (*view.View, error) {
	st, index, err := c.Fork()
	if err != nil {
		return nil, err
	}
	return c.mux.cfg.Views.At(st, index), nil
}

// OwnView returns a view for an answer about this replica, which may have no state of a cluster yet.
func (c *Call) OwnView() (*view.View, error) {
	st, index, err := c.fork()
	if err != nil {
		return nil, err
	}
	return c.mux.cfg.Views.At(st, index), nil
}

// StillMay returns an error if the caller of a long call may no longer make it.
func (c *Call) StillMay() error { return c.mux.cfg.Guard.StillMay(c.R, false, c.Route.Access()) }

// AtLeast returns this replica's state if it is enough. Otherwise it returns a state with
// everything that was committed when AtLeast was called.
func (c *Call) AtLeast(enough func(*state.State) bool) (*state.State, error) {
	st, _ := c.mux.cfg.Reader.Fork()
	if enough(st) {
		return st, nil
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), c.mux.cfg.ReadTimeout)
	defer cancel()
	index, err := c.mux.cfg.Consensus.ReadIndex(ctx)
	if err == nil {
		err = c.mux.cfg.Reader.WaitApplied(ctx, index)
	}
	if err != nil {
		return nil, err
	}
	st, _ = c.mux.cfg.Reader.Fork()
	return st, nil
}

// ownApp refuses calls of the role submit for other users' applications. It also refuses calls for
// unknown applications: another user may submit one with that id before the body has arrived, and
// the planner does not check the owner.
func (c *Call) ownApp() error {
	if auth.Of(c.R).Role != yarn.RoleSubmit || c.Route.access.Least != yarn.RoleSubmit || c.Args["id"] == "" {
		return nil
	}
	id, err := yarn.ParseApplicationID(c.Args["id"])
	if err != nil {
		return problem.Invalid(err.Error(), "copy an id from \"rmd app list\"")
	}
	st, err := c.AtLeast(func(st *state.State) bool { return st.Apps.ByID(id) != 0 })
	if err != nil {
		return err
	}
	slot := st.Apps.ByID(id)
	if slot == 0 {
		return input.NoSuchApp(id)
	}
	return auth.MayActAs(c.R, st.Names.Text(st.Apps.Get(slot).User))
}
