package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/pacetest"
)

// answers serves lines and gives all that was written.
func answers(t testing.TB, in io.Reader, h acp.Handler) []string {
	t.Helper()
	var out bytes.Buffer
	if err := acp.New(&out, h).Serve(context.Background(), in, func() {}); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// echo answers the method echo with its parameters.
func echo(method string, params json.RawMessage, isRequest bool) (acp.Work, error) {
	switch {
	case method == "fail":
		return nil, acp.Invalid("no %s", params)
	case method != "echo":
		return nil, acp.Errorf(acp.CodeMethodNotFound, "no method %q", method)
	}
	return func(context.Context) (any, error) { return params, nil }, nil
}

func TestMalformedLines(t *testing.T) {
	for in, want := range map[string]string{
		`junk`:     `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`,
		`[]`:       `"id":null,"error":{"code":-32600,`,
		`1`:        `"code":-32600,`,
		`null`:     `"code":-32600,`,
		`{"id":1}`: `"id":1,"error":{"code":-32600,`,
		`{"jsonrpc":"1.0","id":1,"method":"echo"}`:                    `"id":1,"error":{"code":-32600,`,
		`{"jsonrpc":"2.0","id":1.5,"method":"echo"}`:                  `"id":null,"error":{"code":-32600,`,
		`{"jsonrpc":"2.0","id":{},"method":"echo"}`:                   `"id":null,"error":{"code":-32600,`,
		`{"jsonrpc":"2.0","id":1,"method":5}`:                         `"code":-32600,`,
		`{"jsonrpc":"2.0","id":1,"method":"none"}`:                    `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no method \"none\""}}`,
		`{"jsonrpc":"2.0","id":"x","method":"fail","params":7}`:       `{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"no 7"}}`,
		`{"jsonrpc":"2.0","id":"é","method":"echo","params":{"a":1}}`: `{"jsonrpc":"2.0","id":"é","result":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"echo"}`:                           "",
		`{"jsonrpc":"2.0","id":9,"result":{}}`:                        "",
		``:                                                            "",
	} {
		got := answers(t, strings.NewReader(in+"\n"+`{"jsonrpc":"2.0","id":77,"method":"echo","params":"alive"}`), echo)
		if n := len(got); n == 0 || want == "" && n != 1 || want != "" && (n != 2 || !strings.Contains(strings.Join(got, "\n"), want)) || !strings.Contains(strings.Join(got, "\n"), `{"jsonrpc":"2.0","id":77,"result":"alive"}`) {
			t.Errorf("%s gives %q, want %s", in, got, want)
		}
	}
}

// A line that is too long is refused and skipped, and not held in memory.
func TestLongLine(t *testing.T) {
	pacetest.Costly(t)
	long := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo","params":"`), io.LimitReader(zeros{}, acp.MaxLine+10), strings.NewReader("\"}\n"+`{"jsonrpc":"2.0","id":2,"method":"echo","params":"alive"}`+"\n"))
	got := strings.Join(answers(t, long, echo), "\n")
	if !strings.Contains(got, `"code":-32600,"message":"a message is at most 64 MB long"`) || !strings.Contains(got, `"id":2,"result":"alive"`) {
		t.Errorf("it says %.500s", got)
	}
	fits := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo","params":"`), io.LimitReader(zeros{}, 1<<20), strings.NewReader("\"}"))
	if got := answers(t, fits, echo); len(got) != 1 || len(got[0]) < 1<<20 {
		t.Error("a line that is long, but not too long, was not read")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// wire joins two connections.
func wire(t *testing.T, one, two acp.Handler) (a, b *acp.Conn) {
	t.Helper()
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	a, b = acp.New(aw, one), acp.New(bw, two)
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() { _ = a.Serve(ctx, ar, func() {}) })
	all.Go(func() { _ = b.Serve(ctx, br, func() {}) })
	t.Cleanup(func() {
		stop()
		ar.Close()
		br.Close()
		all.Wait()
	})
	return a, b
}

// Both sides send requests at the same time, also from within requests.
func TestBothDirections(t *testing.T) {
	var a, b *acp.Conn
	ready := make(chan bool)
	relay := func(other **acp.Conn) acp.Handler {
		return func(method string, params json.RawMessage, _ bool) (acp.Work, error) {
			return func(ctx context.Context) (any, error) {
				<-ready
				if method == "relay" {
					var back string
					err := (*other).Call(ctx, "echo", params, &back)
					return "relayed " + back, err
				}
				return params, nil
			}, nil
		}
	}
	a, b = wire(t, relay(&a), relay(&b))
	close(ready)
	var all sync.WaitGroup
	for i := range 100 {
		for _, c := range []*acp.Conn{a, b} {
			all.Go(func() {
				var got string
				if err := c.Call(t.Context(), "relay", fmt.Sprint(i), &got); err != nil || got != fmt.Sprint("relayed ", i) {
					t.Errorf("%d: %q, %v", i, got, err)
				}
			})
		}
	}
	all.Wait()
}

// Giving up on a call cancels the work on the other side.
func TestCancelRequest(t *testing.T) {
	began, ended := make(chan bool), make(chan error, 1)
	a, _ := wire(t, echo, func(string, json.RawMessage, bool) (acp.Work, error) {
		return func(ctx context.Context) (any, error) {
			close(began)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if err := a.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the work ends with %v", err)
	}

	// Over the line the answer to a canceled request says so.
	r, w := io.Pipe()
	started := make(chan bool)
	go func() {
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":"q","method":"wait"}`)
		<-started
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}`)
		w.Close()
	}()
	got := answers(t, r, func(string, json.RawMessage, bool) (acp.Work, error) {
		return func(ctx context.Context) (any, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil
	})
	if want := `{"jsonrpc":"2.0","id":"q","error":{"code":-32800,"message":"the request was canceled"}}`; len(got) != 1 || got[0] != want {
		t.Errorf("it says %q", got)
	}
}

// A peer that does not read blocks no reader, and its queue is bounded.
func TestSlowReader(t *testing.T) {
	in, out := io.Pipe()        // what the connection reads
	stuck, release := io.Pipe() // what it writes, which nobody reads at first
	var c *acp.Conn
	seen := make(chan string, 10)
	c = acp.New(release, func(method string, _ json.RawMessage, _ bool) (acp.Work, error) {
		seen <- method
		return func(context.Context) (any, error) { return "done", nil }, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(t.Context(), in, func() {}) }()
	ctx, stop := context.WithCancel(t.Context())
	sent := make(chan int, 1)
	go func() {
		n := 0
		for c.Notify(ctx, "update", strings.Repeat("x", 10_000)) == nil {
			n++
		}
		sent <- n
	}()
	for i := range 5 { // it goes on reading
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"ask"}`+"\n", i)
		if got := <-seen; got != "ask" {
			t.Fatal(got)
		}
	}
	select { // whoever sends much waits
	case n := <-sent:
		t.Fatalf("%d notifications were taken", n)
	case <-time.After(100 * time.Millisecond):
	}
	stop()
	n := <-sent
	if n > 300 {
		t.Errorf("%d notifications of 10 KB wait", n)
	}
	lines, asked := bufio.NewScanner(stuck), 0
	lines.Buffer(nil, 1<<20)
	go out.Close()
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"result":"done"`) {
			asked++
		}
		if asked == 5 {
			break
		}
	}
	if asked != 5 {
		t.Errorf("%d of 5 answers came", asked)
	}
	go func() { _, _ = io.Copy(io.Discard, stuck) }()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Requests beyond the limit are refused, and none is lost.
func TestManyRequests(t *testing.T) {
	var in strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"wait"}`+"\n", i)
	}
	got := answers(t, strings.NewReader(in.String()), func(string, json.RawMessage, bool) (acp.Work, error) {
		return func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil
	})
	refused := 0
	for _, line := range got {
		if strings.Contains(line, "256 requests are in progress") {
			refused++
		}
	}
	if len(got) != 1000 || refused != 1000-256 {
		t.Errorf("%d answers, %d refusals", len(got), refused)
	}
}

// A call on a closed connection fails at once.
func TestClosed(t *testing.T) {
	var out bytes.Buffer
	c := acp.New(&out, echo)
	if err := c.Serve(t.Context(), strings.NewReader(""), func() {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), "echo", nil, nil); !errors.Is(err, acp.ErrClosed) {
		t.Errorf("the call ends with %v", err)
	}
	broken := acp.New(badWriter{}, echo)
	if err := broken.Serve(t.Context(), io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo"}`+"\n"), never{t.Context()}), func() {}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("where nothing can be written it ends with %v", err)
	}
}

type badWriter struct{}

func (badWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// never is a reader that waits.
type never struct{ ctx context.Context }

func (n never) Read([]byte) (int, error) {
	<-n.ctx.Done()
	return 0, io.EOF
}

// Whatever comes in, each line gets at most one response, and each response is a valid message.
func FuzzConn(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`, "junk\n\n{}", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, "[1,2]\n{\"id\":\"\\ud800\"}",
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := answers(t, bytes.NewReader(in), echo)
		if lines := bytes.Count(in, []byte("\n")) + 1; len(got) > lines {
			t.Errorf("%d answers to %d lines", len(got), lines)
		}
		for _, line := range got {
			var m struct {
				Version string           `json:"jsonrpc"`
				ID      *json.RawMessage `json:"id"`
				Result  json.RawMessage
				Error   *acp.Error
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || (m.Result == nil) == (m.Error == nil) {
				t.Errorf("%v: %q", err, line)
			}
		}
	})
}
