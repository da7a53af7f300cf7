package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
)

// unusedAddress returns an address on which no process listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func client(t *testing.T, change func(*Config), addrs ...string) *Client {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Addrs, cfg.Timeout, cfg.Name = addrs, time.Minute, "test"
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" {
			http.NotFound(w, r) // it does not say how it stands
			return
		}
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Error{Code: code, Message: "what", Remedy: "do"})
}

func TestReadsAreConsistentUnlessStale(t *testing.T) {
	var got []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get(api.HeaderKey))
		fmt.Fprint(w, "{}")
	})
	for _, stale := range []bool{false, true} {
		c := client(t, func(c *Config) { c.Stale = stale }, url)
		if _, err := c.Get(t.Context(), "/v1/apps", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Plain(t.Context(), "/metrics"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Post(t.Context(), "/v1/apps", api.Submit{}); err != nil {
			t.Fatal(err)
		}
	}
	want := "GET /v1/apps?consistent= |GET /metrics |POST /v1/apps test/1|GET /v1/apps |GET /metrics |POST /v1/apps test/1"
	if strings.Join(got, "|") != want {
		t.Fatalf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// TestFailover checks that a request skips a replica that is down and one without a leader, and
// that a write keeps its key in all tries.
func TestFailover(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	busy := 2
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get(api.HeaderKey))
		if busy--; busy >= 0 {
			refuse(w, 503, api.CodeNoLeader)
			return
		}
		fmt.Fprint(w, `{"index":7}`)
	})
	c := client(t, nil, unusedAddress(t), url)
	a, err := c.Post(t.Context(), "/v1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	var d api.Done
	if err := a.Decode(&d); err != nil || d.Index != 7 {
		t.Fatalf("Decode: %v, index %d, want no error and 7", err, d.Index)
	}
	if strings.Join(keys, " ") != "test/1 test/1 test/1" {
		t.Fatalf("keys %q", keys)
	}
	if _, err := c.Post(t.Context(), "/v1/x", nil); err != nil || keys[3] != "test/2" {
		t.Fatalf("second write: %v, keys %q", err, keys)
	}
}

func TestARefusalIsNotRepeated(t *testing.T) {
	calls := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { calls++; refuse(w, 409, "WOULD_LOSE_QUORUM") })
	_, err := client(t, nil, url, unusedAddress(t)).Post(t.Context(), "/v1/x", nil)
	if CodeOf(err) != "WOULD_LOSE_QUORUM" || calls != 1 {
		t.Fatalf("%v after %d calls", err, calls)
	}
}

func TestNoReplicaReachable(t *testing.T) {
	began := time.Now()
	_, err := client(t, func(c *Config) { c.Timeout = time.Minute }, unusedAddress(t), unusedAddress(t)).Get(t.Context(),
		"/v1/apps", nil)
	if CodeOf(err) != CodeNoReplica || !strings.Contains(err.Error(), "NO_REPLICA") {
		t.Fatalf("Get without a reachable replica: %v, want an error with code %s", err, CodeNoReplica)
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Fatalf("it took %s to say that nobody is there", took)
	}
}

// TestPortThatDoesNotAnswer: who names the port of another service learns so soon, and not when the time
// is up.
func TestPortThatDoesNotAnswer(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := client(t, func(c *Config) { c.Timeout = time.Hour }, url, url).Get(t.Context(), "/v1/cluster", nil)
	if CodeOf(err) != CodeNoReplica || !strings.Contains(err.Error(), "http.listen") {
		t.Fatalf("%v", err)
	}
}

// TestPortOfHadoop: who names a port of YARN learns which port to call, and a replica that does not
// know a path is not taken for one.
func TestPortOfHadoop(t *testing.T) {
	for _, text := range []string{
		"It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct port for the web interface on this daemon.\r\n",
		"This port speaks Hadoop IPC, not HTTP. The web pages are on the port of yarn.resourcemanager.webapp.address.\r\n",
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, http.StatusNotFound) })
		for _, call := range []func(*Client) error{
			func(c *Client) error { _, err := c.Get(t.Context(), "/v1/cluster", nil); return err },
			func(c *Client) error { _, err := c.Post(t.Context(), "/v1/x", struct{}{}); return err },
		} {
			if err := call(client(t, nil, url)); CodeOf(err) != CodeNoReplica || !strings.Contains(err.Error(), "http.listen") ||
				!strings.Contains(err.Error(), url) {
				t.Errorf("%q: %v, want %s with the port to call", text, err, CodeNoReplica)
			}
		}
	}
}

// TestKeyOfAnotherCertificate checks that the error names both files and says what to do.
func TestKeyOfAnotherCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for _, file := range []string{cert, key} {
		if err := os.WriteFile(file, []byte("not PEM"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := New(Config{Addrs: []string{"127.0.0.1:1"}, Timeout: time.Second, Cert: cert, Key: key})
	if CodeOf(err) != CodeFile || !strings.Contains(err.Error(), cert) || !strings.Contains(err.Error(), key) ||
		!strings.Contains(err.Error(), "the key that belongs to it") {
		t.Errorf("New: %v, want %s with both files", err, CodeFile)
	}
}

func TestTimeOut(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	})
	c := client(t, func(c *Config) { c.Timeout = 2 * time.Second }, url)
	_, err := c.Post(t.Context(), "/v1/x", struct{}{})
	if CodeOf(err) != CodeTimedOut || !strings.Contains(err.Error(), "from "+url+", so the outcome is unknown") {
		t.Fatalf("write: %v", err)
	}
	_, err = c.Get(t.Context(), "/v1/x", nil)
	if CodeOf(err) != CodeTimedOut || strings.Contains(err.Error(), "unknown") {
		t.Fatalf("read: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.Get(ctx, "/v1/x", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
}

func TestDeadlineWithoutLeader(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, 503, api.CodeNoLeader) })
	_, err := client(t, func(c *Config) { c.Timeout = 2 * time.Second }, url).Get(t.Context(), "/v1/x", nil)
	if CodeOf(err) != api.CodeNoLeader || !strings.Contains(err.Error(), "NO_LEADER") {
		t.Fatalf("Get without a leader until the timeout: %v, want an error with code %s", err, api.CodeNoLeader)
	}
}

func TestRedirectKeepsBodyAndKey(t *testing.T) {
	leader := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var m api.Move
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Queue != "q" ||
			r.Header.Get(api.HeaderKey) != "test/1" {
			refuse(w, 400, "LOST")
			return
		}
		fmt.Fprint(w, "{}")
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, leader+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	})
	if _, err := client(t, nil, url).Post(t.Context(), "/v1/x", api.Move{Queue: "q"}); err != nil {
		t.Fatal(err)
	}
}

func TestErrorWithoutDocument(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>", 404) })
	_, err := client(t, nil, url).Get(t.Context(), "/v1/x", nil)
	if CodeOf(err) != "HTTP_404" || !strings.Contains(err.Error(), "HTTP_404") {
		t.Fatalf("Get answered by 404 without a document: %v, want an error with code HTTP_404", err)
	}
}

// TestEventsResume checks that a stream continues at the next replica after the last message.
func TestEventsResume(t *testing.T) {
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, ": hello\n\nid: 5\nevent: batch\ndata: {\"a\":\ndata: 1}\n\nid: 6\nevent: batch\ndata: cut off")
	})
	second := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "id: 7\nevent: batch\ndata: after %s\n\n", r.Header.Get("Last-Event-ID"))
	})
	var got []string
	err := client(t, nil, first, second).Events(t.Context(), "/v1/events", nil, 3, func(m Message) error {
		got = append(got, m.ID+"="+string(m.Data))
		if len(got) == 2 {
			return Stop()
		}
		return nil
	})
	if err != nil || strings.Join(got, "|") != "5={\"a\":\n1}|7=after 5" {
		t.Fatalf("Events: %v, messages %q; want no error, 5 whole and 7 from the second server, after 5", err, got)
	}
}

// TestEventsResumeBehindHeartbeats checks that a stream continues after the id of a heartbeat, and
// before the first id after the index at which the stream began. So no message is lost.
func TestEventsResumeBehindHeartbeats(t *testing.T) {
	var behind []string
	tries := 0
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		behind = append(behind, r.Header.Get("Last-Event-ID"))
		w.Header().Set(api.HeaderIndex, "40")
		if tries++; tries == 2 {
			fmt.Fprint(w, ": heartbeat\nid: 44\n\n")
		}
		if tries == 3 {
			fmt.Fprint(w, "id: 45\nevent: batch\ndata: {}\n\n")
		}
	})
	err := client(t, nil, addr).Events(t.Context(), "/v1/events", nil, 0, func(m Message) error {
		if m.Index() == 45 {
			return Stop()
		}
		return nil
	})
	if err != nil || strings.Join(behind, ",") != ",40,44" {
		t.Fatalf("asked behind %q: %v", behind, err)
	}
}

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"rm1:8088": "http://rm1:8088", "rm1": "http://rm1:8088", "https://rm1": "https://rm1:8090",
		"[::1]:8088": "http://[::1]:8088",
		"":           "", "http://": "", "ftp://rm1": "", "rm1:http": "", "rm1:70000": "", "http://rm1/x": "",
	} {
		got, err := base(addr, false)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("base(%q) = %q, %v; want %q", addr, got, err, want)
		}
	}
	cfg := DefaultConfig()
	cfg.Addrs, cfg.Cert, cfg.Timeout = []string{"a b"}, "x", 0
	if err := cfg.Validate(); err == nil || strings.Count(err.Error(), "USAGE") != 3 {
		t.Errorf("not all faults: %v", err)
	}
}

// TestWrongTLS checks that the client reports at once if only one side uses TLS, or if it does not
// trust the CA.
func TestWrongTLS(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	secure := httptest.NewUnstartedServer(hello)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	plain := httptest.NewServer(hello)
	defer secure.Close()
	defer plain.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() { // as a port of YARN
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("\x00\x00\x00\x7cno handshake"))
			_ = conn.Close()
		}
	}()
	for addr, want := range map[string]string{
		"https://" + other.Addr().String():          "speaks neither TLS nor HTTP",
		secure.URL:                                  "certificate is not trusted",
		"https://" + plain.Listener.Addr().String(): "does not speak TLS",
		"http://" + secure.Listener.Addr().String(): "does not speak plain HTTP",
	} {
		cfg := DefaultConfig()
		cfg.Addrs, cfg.Timeout = []string{addr}, time.Minute
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Plain(t.Context(), "/v1/health"); err == nil || !strings.Contains(err.Error(), want) ||
			CodeOf(err) != CodeUntrusted {
			t.Errorf("Plain(/v1/health) of %s: %v, want an error with %q and code %s", addr, err, want, CodeUntrusted)
		}
	}
	// The certificate of one replica may have expired: the others are asked.
	c := client(t, nil, secure.URL, plain.URL)
	if _, err := c.Plain(t.Context(), "/v1/health"); err != nil {
		t.Errorf("the second replica is not asked: %v", err)
	}
}

// TestAlreadyMadeAfterLostReply checks that the refusal Request.Made counts as success if an
// earlier answer was lost, and as a refusal otherwise.
func TestAlreadyMadeAfterLostReply(t *testing.T) {
	dies := serve(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	unknown := serve(t, func(w http.ResponseWriter,
		r *http.Request) {
		refuse(w, http.StatusGatewayTimeout, "UNKNOWN_OUTCOME")
	})
	gone := serve(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, http.StatusNotFound, "NO_SUCH_REPLICA") })
	ask := func(addrs ...string) error {
		_, err := client(t, nil, addrs...).Do(t.Context(),
			Request{Method: http.MethodPost, Path: "/v1/cluster/members/rm9:remove", Made: "NO_SUCH_REPLICA"})
		return err
	}
	for _, first := range []string{dies, unknown} {
		if err := ask(first, gone); err != nil {
			t.Errorf("after a lost answer: %v", err)
		}
	}
	for _, first := range []string{unusedAddress(t), gone} {
		if err := ask(first, gone); err == nil {
			t.Error("a replica that never was is taken for removed")
		}
	}
}

// replica serves a replica that says how it stands and answers everything else with its name, or
// with a refusal.
func replica(t *testing.T, h api.Health, code string, asked *[]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/health":
			_ = json.NewEncoder(w).Encode(h)
			return
		case code != "":
			refuse(w, http.StatusConflict, code)
		default:
			_, _ = io.WriteString(w, h.ID)
		}
		*asked = append(*asked, h.ID)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestBestReplicaFirst checks which of several replicas answers a request, wherever it is in the
// list, and which of them are asked.
func TestBestReplicaFirst(t *testing.T) {
	t.Parallel()
	var asked []string
	leader := func(term uint64) api.Health {
		return api.Health{Status: "ok", ID: fmt.Sprint("L", term), Role: "leader", Term: term}
	}
	urls := map[string]string{
		"leader":   replica(t, leader(7), "", &asked),
		"deposed":  replica(t, leader(6), "", &asked),
		"follower": replica(t, api.Health{Status: "ok", ID: "F", Role: "follower", Term: 7}, "", &asked),
		"old": replica(t, api.Health{Status: api.CodeNoLeader, ID: "O", Role: "candidate", Term: 9, Index: 5}, "",
			&asked),
		"older": replica(t, api.Health{Status: api.CodeNoLeader, ID: "o", Role: "candidate", Term: 9, Index: 4}, "",
			&asked),
		"cut off": replica(t, api.Health{Status: api.CodeNoLeader, ID: "C", Role: "candidate"},
			api.CodeUnauthenticated, &asked),
		"empty": replica(t, api.Health{Status: api.CodeNotInitialized, ID: "E", Role: "candidate"},
			api.CodeNotInitialized, &asked),
		"closed":  replica(t, api.Health{Status: api.CodeNotInitialized, ID: "X"}, api.CodeNotAllowed, &asked),
		"follows": replica(t, api.Health{Status: "ok", ID: "N", Role: "follower"}, api.CodeNotLeader, &asked),
		"mute":    serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "?") }),
		"down":    unusedAddress(t),
	}
	for _, c := range []struct {
		names []string
		want  string // the name in the answer, or what the error says
		asked string
	}{
		{[]string{"leader", "follower", "empty"}, "L7", "L7"},
		{[]string{"follower", "empty", "mute"}, "F", "F"},
		{[]string{"deposed", "follower", "down"}, "L6", "L6"},
		{[]string{"old", "older", "empty"}, "O", "O"},
		{[]string{"mute", "old", "empty"}, "?", ""},
		{[]string{"cut off", "follower", "closed"}, "F", "F"},
		{[]string{"cut off", "older", "down"}, "o", "o"},
		{[]string{"follows", "leader", "down"}, "L7", "L7"},
		{[]string{"empty", "closed", "down"}, "NOT_INITIALIZED: replica ", "E X"},
		{[]string{"cut off"}, "UNAUTHENTICATED: replica C at ", "C"},
		{[]string{"follows"}, "NOT_LEADER: the replica at ", "N"},
	} {
		for at := range c.names { // each replica is once the first
			names := append(slices.Clone(c.names[at:]), c.names[:at]...)
			var addrs []string
			for _, n := range names {
				addrs = append(addrs, urls[n])
			}
			asked = nil
			got := ""
			a, err := client(t, nil, addrs...).Plain(t.Context(), "/v1/x")
			if err != nil {
				got = err.Error()
			} else {
				got = string(a.Body)
			}
			slices.Sort(asked)
			if !strings.HasPrefix(got, c.want) || strings.Join(asked, " ") != c.asked {
				t.Errorf("of %v: %q from %v, want %q from %v", names, got, asked, c.want, c.asked)
			}
		}
	}
}

// TestWaitingIsTold checks that a request that waits for a leader says so before its time is up, and
// names the replicas.
func TestWaitingIsTold(t *testing.T) {
	t.Parallel()
	var asked []string
	old := replica(t, api.Health{Status: api.CodeNoLeader, ID: "rm2", Role: "candidate", Message: "no leader is known"},
		api.CodeNoLeader, &asked)
	told := make(chan string, 2)
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, func(c *Config) {
		c.Waits = func(all []Standing) {
			told <- fmt.Sprint(all)
			cancel()
		}
	}, old, unusedAddress(t))
	if _, err := c.Get(ctx, "/v1/x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Get without a leader: %v, want %v", err, context.Canceled)
	}
	if text := <-told; !strings.Contains(text, "replica rm2 at "+old+": no leader is known") ||
		!strings.Contains(text, "does not answer") || len(told) > 0 {
		t.Errorf("told %q and %d more, want both replicas, once", text, len(told))
	}
}

// TestEventsLeaveSilentReplica checks that a stream continues at the next replica when one sends
// nothing more, and when one does not answer, as if their machines had vanished.
func TestEventsLeaveSilentReplica(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	silent := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "id: 5\nevent: batch\ndata: first\n\n")
		_ = http.NewResponseController(w).Flush()
		<-gone
	})
	mute := serve(t, func(w http.ResponseWriter, r *http.Request) { <-gone })
	good := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "id: 7\nevent: batch\ndata: after %s\n\n", r.Header.Get("Last-Event-ID"))
	})
	t.Cleanup(func() { close(gone) }) // before the servers close
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	err := client(t, nil, silent, mute, good).Events(ctx, "/v1/events", nil, 3, func(m Message) error {
		got = append(got, m.ID+"="+string(m.Data))
		if len(got) == 2 {
			return Stop()
		}
		return nil
	})
	if err != nil || strings.Join(got, "|") != "5=first|7=after 5" {
		t.Fatalf("Events: %v, messages %q; want those of the first and of the third server", err, got)
	}
}

// TestStreamSilence checks that a Read of a silent stream fails and says why, and that the time
// before a Read does not count.
func TestStreamSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		next := make(chan struct{}, 2)
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(there))
			fmt.Fprint(there, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
			for range next {
				fmt.Fprint(there, "x")
			}
		}()
		defer close(next)
		c := client(t, nil, "http://127.0.0.1:1")
		c.http.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			return here, nil
		}
		const max = time.Minute
		a, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/", Silence: max})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Stream.Close()
		b := make([]byte, 1)
		for i := range 2 {
			time.Sleep(2 * max)
			next <- struct{}{}
			if _, err := a.Stream.Read(b); err != nil {
				t.Errorf("the time before Read %d counted: %v", i, err)
			}
		}
		began := time.Now()
		if _, err := a.Stream.Read(b); !errors.Is(err, errSilent) || time.Since(began) != max {
			t.Errorf("Read of a silent stream: %v after %s, want %v after %s", err, time.Since(began), errSilent, max)
		}
	})
}
