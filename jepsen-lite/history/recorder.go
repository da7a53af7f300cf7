package history

import "sync"

// Sink receives the lines of a run: a Writer or a History.
type Sink interface {
	Add(l Line)
}

// Recorder records the observations of a harness. It is safe for concurrent use.
type Recorder struct {
	now func() int64

	mu        sync.Mutex
	sink      Sink
	processes int
}

// NewRecorder returns a recorder that adds lines to a sink. now returns the current time in
// nanoseconds.
func NewRecorder(sink Sink, now func() int64) *Recorder { return &Recorder{sink: sink, now: now} }

// Note sets the time of a line and adds it.
func (r *Recorder) Note(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.stamp(r.now())
	r.sink.Add(l)
}

// Now returns the current time in nanoseconds.
func (r *Recorder) Now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

// NoteAt adds a line that was observed at an earlier time. Sort puts such lines in the order of
// time.
func (r *Recorder) NoteAt(ns int64, l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.stamp(ns)
	r.sink.Add(l)
}

// Mark adds a mark.
func (r *Recorder) Mark(name string) { r.Note(&Mark{Name: name}) }

// Client is a process of the history. It has at most one open operation and is not safe for
// concurrent use.
type Client struct {
	r       *Recorder
	name    string
	process int
	open    *Op
}

// Client returns a new process of the client with this name.
func (r *Recorder) Client(name string) *Client {
	return &Client{r: r, name: name, process: r.process()}
}

func (r *Recorder) process() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes++
	return r.processes
}

// Invoke records a call. The outcome of an open operation becomes unknown.
func (c *Client) Invoke(f F, in Value) {
	if c.open != nil {
		c.Info("")
	}
	c.open = &Op{Process: c.process, Type: Invoke, F: f, In: &in, Client: c.name}
	c.r.Note(c.open)
}

// OK records a positive answer.
func (c *Client) OK(out Value) { c.end(OK, &out) }

// Fail records a refusal with its code.
func (c *Client) Fail(code string) { c.end(Fail, &Value{Code: code}) }

// Info records an unknown outcome. The client continues as another process.
func (c *Client) Info(text string) {
	c.end(Info, &Value{Text: text})
	c.process = c.r.process()
}

func (c *Client) end(t Type, out *Value) {
	if c.open == nil {
		return
	}
	o := *c.open
	c.open = nil
	o.Type, o.Out = t, out
	c.r.Note(&o)
}
