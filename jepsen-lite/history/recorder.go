package history

import "sync"

// Sink takes the lines of a run: a Writer or a History.
type Sink interface {
	Add(l Line)
}

// Recorder is what a harness notes with, from any goroutine.
type Recorder struct {
	now func() int64

	mu        sync.Mutex
	sink      Sink
	processes int
}

// NewRecorder notes into a sink with the times of a clock.
func NewRecorder(sink Sink, now func() int64) *Recorder { return &Recorder{sink: sink, now: now} }

// Note stamps a line with the time and adds it.
func (r *Recorder) Note(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.stamp(r.now())
	r.sink.Add(l)
}

// Now is the clock's time.
func (r *Recorder) Now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

// NoteAt adds a line that was seen at an earlier time. A history that has such
// lines is in the order of time after Sort.
func (r *Recorder) NoteAt(ns int64, l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.stamp(ns)
	r.sink.Add(l)
}

// Mark notes a moment.
func (r *Recorder) Mark(name string) { r.Note(&Mark{Name: name}) }

// Client is a process of the history that has one operation at a time. It is
// for one goroutine.
type Client struct {
	r       *Recorder
	name    string
	process int
	open    *Op
}

// Client makes a new process for a client.
func (r *Recorder) Client(name string) *Client {
	return &Client{r: r, name: name, process: r.process()}
}

func (r *Recorder) process() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes++
	return r.processes
}

// Invoke notes a call. One left open ends as unknown.
func (c *Client) Invoke(f F, in Value) {
	if c.open != nil {
		c.Info("")
	}
	c.open = &Op{Process: c.process, Type: Invoke, F: f, In: &in, Client: c.name}
	c.r.Note(c.open)
}

// OK notes a positive answer.
func (c *Client) OK(out Value) { c.end(OK, &out) }

// Fail notes a refusal by its code.
func (c *Client) Fail(code string) { c.end(Fail, &Value{Code: code}) }

// Info notes that the outcome is unknown; the client is another process from
// here on.
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
