package llmtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve plays the turns in the format at /a.
func serve(t *testing.T, turns ...llmtest.Turn) (*llmtest.Server, *http.Client) {
	t.Helper()
	srv, err := llmtest.Serve(lines{"/a"}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return srv, &http.Client{Transport: tr}
}

type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func post(t *testing.T, c *http.Client, url, body string) (answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(got), err}, nil
}

// want posts and expects an answer.
func want(t *testing.T, c *http.Client, url, body string, status int, parts ...string) answer {
	t.Helper()
	got, err := post(t, c, url, body)
	if err != nil || got.err != nil {
		t.Fatal(err, got.err)
	}
	if got.status != status {
		t.Errorf("status %d, want %d: %s", got.status, status, got.body)
	}
	for _, part := range parts {
		if !strings.Contains(got.body, part) {
			t.Errorf("no %q in\n%s", part, got.body)
		}
	}
	return got
}

func TestScript(t *testing.T) {
	srv, c := serve(t,
		llmtest.Turn{Parts: []llmtest.Part{{Thinking: "hm", Signature: "s"}, {Text: "Reading."}, {Call: "read", Args: `{}`}, {Call: "read"}}},
		llmtest.Turn{Reply: func(r *llm.Request) []llm.Event { return llmtest.Say("echo:" + r.Messages[0].Text()) }},
		llmtest.Turn{Check: func(*llm.Request) error { return errors.New("a result was expected") }},
	)
	want(t, c, srv.URL+"/a", "one", 200, `"thinkingSignature":"s"`, "Reading.", "call_0_2", "call_0_3", `"stop":"toolUse"`)
	want(t, c, srv.URL+"/a", "two", 200, "echo:two")
	if err := srv.Err(); err != nil {
		t.Errorf("so far all was well, but: %v", err)
	}
	want(t, c, srv.URL+"/a", "three", 400, "request 3: a result was expected")
	want(t, c, srv.URL+"/a", "four", 400, "the script has ended: request 4, but 3 turns")
	want(t, c, srv.URL+"/a", "", 400, "nothing was asked")
	want(t, c, srv.URL+"/b", "five", 404, "no format of the script takes POST /b")

	if err := srv.Err(); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("four things went wrong, Err says: %v", err)
	}
	requests, raw := srv.Requests(), srv.Raw()
	if len(requests) != 4 || len(raw) != 4 {
		t.Fatalf("%d requests and %d bodies were kept", len(requests), len(raw))
	}
	if requests[1].Messages[0].Text() != "two" || string(raw[1].Body) != "two" || raw[1].URL != "/a" || raw[1].Header.Get("User-Agent") == "" {
		t.Errorf("request 2 was kept as %v, %+v", requests[1].Messages, raw[1])
	}
}

func TestTwoFormatsShareTheTurns(t *testing.T) {
	srv, err := llmtest.Serve(lines{"/a"}, llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Text: "first"}}}, {Parts: []llmtest.Part{{Text: "second"}}},
	}}, lines{"/b"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	want(t, c, srv.URL+"/b", "x", 200, "first")
	want(t, c, srv.URL+"/a", "x", 200, "second")
	if api := srv.Requests()[0].Model.API; api != "lines/b" {
		t.Errorf("the first request was read as %s", api)
	}
}

func TestFaults(t *testing.T) {
	say := []llmtest.Part{{Text: "one two three"}}
	whole := bodyOf(t, llmtest.Turn{Parts: say})

	t.Run("error", func(t *testing.T) {
		srv, c := serve(t, llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Message: "busy"}, Header: http.Header{"Retry-After": {"7"}}}})
		if got := want(t, c, srv.URL+"/a", "x", http.StatusTeapot, "busy"); got.header.Get("Retry-After") != "7" {
			t.Errorf("header %v", got.header)
		}
		if err := srv.Err(); err != nil {
			t.Errorf("a fault of the script is no fault of the client: %v", err)
		}
	})
	t.Run("drop", func(t *testing.T) {
		srv, c := serve(t, llmtest.Turn{Fault: llmtest.Fault{Drop: true}})
		if _, err := post(t, c, srv.URL+"/a", "x"); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
	for _, n := range []int{-1, 1, 50, len(whole) - 1} {
		srv, c := serve(t, llmtest.Turn{Parts: say, Fault: llmtest.Fault{CutAfterBytes: n}})
		got, err := post(t, c, srv.URL+"/a", "x")
		if err != nil || got.body != whole[:max(0, n)] || got.err != io.ErrUnexpectedEOF {
			t.Errorf("cut after %d bytes: %v, %v, %d bytes", n, err, got.err, len(got.body))
		}
	}
	t.Run("malformed", func(t *testing.T) {
		got := bodyOf(t, llmtest.Turn{Parts: say, Fault: llmtest.Fault{MalformedAfterEvents: 2}})
		frames, sound := strings.Split(got, "\n"), strings.Split(whole, "\n")
		for i := range frames {
			if (frames[i] != sound[i]) != (i == 2) {
				t.Errorf("frame %d is %q", i, frames[i])
			}
		}
	})
	t.Run("end", func(t *testing.T) {
		got := bodyOf(t, llmtest.Turn{Parts: say, Fault: llmtest.Fault{RepeatEnd: true, Trailing: "junk"}})
		last := whole[strings.LastIndex(whole[:len(whole)-1], "\n")+1:]
		if got != whole+last+"junk" {
			t.Errorf("got\n%s", got)
		}
	})
}

// bodyOf is the body of the turn's answer.
func bodyOf(t *testing.T, turn llmtest.Turn) string {
	t.Helper()
	srv, c := serve(t, turn)
	return want(t, c, srv.URL+"/a", "x", 200).body
}

// A stalled answer ends when the client goes away, and when the server closes.
func TestStalls(t *testing.T) {
	for name, c := range map[string]struct {
		fault llmtest.Fault
		lines int // -1 = not even a head
	}{
		"head":  {llmtest.Fault{StallHead: true}, -1},
		"body":  {llmtest.Fault{StallAfterEvents: -1}, 0},
		"third": {llmtest.Fault{StallAfterEvents: 3}, 3},
	} {
		for _, end := range []string{"client", "server"} {
			t.Run(name+" "+end, func(t *testing.T) {
				stalled := make(chan struct{})
				srv, client := serve(t, llmtest.Turn{
					Fault: c.fault,
					Check: func(*llm.Request) error { close(stalled); return nil },
					Parts: []llmtest.Part{{Text: "one two three"}},
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/a", strings.NewReader("x"))
				if err != nil {
					t.Fatal(err)
				}
				stop := func() {
					if end == "client" {
						cancel()
					} else {
						srv.Close()
					}
				}
				if c.lines < 0 {
					go func() { <-stalled; stop() }()
				}
				resp, err := client.Do(req)
				if c.lines < 0 {
					if err == nil {
						t.Fatal("an answer came")
					}
					srv.Close()
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				head := readLines(t, resp.Body, c.lines)
				stop()
				rest, err := io.ReadAll(resp.Body)
				if err == nil || len(rest) > 0 {
					t.Errorf("after %q came %q, %v", head, rest, err)
				}
				srv.Close() // returns only when nothing is left
			})
		}
	}
}

// readLines reads n lines, byte by byte so that nothing more is taken.
func readLines(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	var out []byte
	for one := make([]byte, 1); n > 0; {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatal(err)
		}
		out = append(out, one[0])
		if one[0] == '\n' {
			n--
		}
	}
	return string(out)
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "one two three"}}, Pace: time.Second}}}, lines{"/a"})
		defer srv.Close()
		w := httptest.NewRecorder()
		began := time.Now()
		srv.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", strings.NewReader("x")))
		events := strings.Count(w.Body.String(), "\n")
		if took := time.Since(began); took != time.Duration(events-1)*time.Second || events != 7 {
			t.Errorf("%d events took %s", events, took)
		}
	})
}

// Closing while requests come in must neither hang nor leave anything behind.
func TestCloseUnderLoad(t *testing.T) {
	srv, c := serve(t, make([]llmtest.Turn, 200)...)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			_, _ = post(t, c, srv.URL+"/a", "x")
			if i == 25 {
				srv.Close()
			}
		})
	}
	wg.Wait()
	srv.Close()
}
