package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

// away reads a stream to its end, which says that the server goes and when to connect again.
func (f *followed) away() {
	f.t.Helper()
	var lines []string
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-f.lines:
			if ok {
				lines = append(lines, line)
				continue
			}
			if text := strings.Join(lines[max(0, len(lines)-3):], "\n"); text != "retry: 2000\ndata: {\"away\":true}\n" {
				f.t.Errorf("the stream ended with %q", text)
			}
			return
		case <-late:
			f.t.Fatal("the stream goes on")
		}
	}
}

func (c *httpClient) signal() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
}

// A server that is told to end takes no more requests and tells its streams. A turn gets to the next
// boundary: its answer and calls are complete, and no further request begins. What was
// acknowledged is there for the next server, which reads what waited.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd, "--approval", "full")
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	at := "/v1/sessions/" + made.ID
	f := c.follow("", "session="+made.ID)
	c.must(http.StatusOK, "POST", at+"/submit", saying("gate run touch made"), nil)
	f.until("turn_start", nil)
	c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"message": saying("say later")["message"], "when": "after"}, nil)
	gate := <-b.gates // the model has been asked
	c.signal()
	f.away()
	if answer, err := http.DefaultClient.Do(c.request("GET", "/healthz", "")); err == nil {
		answer.Body.Close()
		t.Error("it still takes requests")
	}
	close(gate)
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); err != nil {
		t.Errorf("the call of the answer was not made: %v, %s", err, c.said)
	}
	if n := len(b.srv.Requests()); n != 1 {
		t.Errorf("the model was asked %d times before the end", n)
	}

	c = serveIt(t, cmd, "--approval", "full")
	g := c.follow(f.id, "")
	c.must(http.StatusOK, "POST", at+"/submit", saying("say again"), nil)
	answered := ""
	g.until("message_end", func(e map[string]any) bool {
		raw, err := json.Marshal(e)
		answered += string(raw)
		return err == nil && strings.Contains(answered, `"text":"again"`) && strings.Contains(answered, `"text":"later"`)
	})
	sent := strings.TrimSpace(b.sent())
	sent = sent[strings.LastIndexByte(sent, '\n')+1:] // the last request has the whole conversation
	for _, want := range []string{"gate run touch made", "say later", "tool_result"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the next server has lost %q: %s", want, sent)
		}
	}
	if n := strings.Count(sent, `"tool_use"`); n != 1 {
		t.Errorf("the conversation has %d calls: %s", n, sent)
	}
	c.end()
}

// A turn that reaches no boundary is cut off after --drain; a second signal ends the server at once.
func TestServeDrainEnds(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, tt := range []struct {
		name, drain string
		again       bool
		most        time.Duration
	}{
		{"time", "1", false, 30 * time.Second},
		{"signal", "3600", true, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBrain(t)
			cmd := machine(t, b, rpcConfig)
			c := serveIt(t, cmd, "--drain", tt.drain)
			var made struct{ ID string }
			c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
			f := c.follow("", "session="+made.ID)
			c.must(http.StatusOK, "POST", "/v1/sessions/"+made.ID+"/submit", saying("hold"), nil)
			f.until("turn_start", nil)
			c.signal()
			f.away()
			began := time.Now()
			if tt.again {
				c.signal()
			}
			_ = c.cmd.Wait() // a signal ends it
			if took := time.Since(began); took > pacetest.Within(tt.most) || !tt.again && took < 500*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			killed := c.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled()
			if killed != tt.again {
				t.Errorf("it ended with %v", c.cmd.ProcessState)
			}
			next := serveIt(t, cmd)
			var open struct{ Facts struct{ Working bool } }
			next.must(http.StatusOK, "GET", "/v1/sessions/"+made.ID, nil, &open)
			next.end()
		})
	}
}

// The log names the client that a trusted proxy does; headers of others mean nothing.
func TestServeProxies(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, tt := range []struct {
		config string
		args   []string
		want   string
	}{
		{"", nil, "127.0.0.1"},
		{"", []string{"--proxy", "127.0.0.1"}, "198.51.100.7"},
		{"", []string{"--proxy", "10.0.0.0/8", "--proxy", "127.0.0.0/8"}, "198.51.100.7"},
		{"server:\n  proxies: [127.0.0.0/8]\n", nil, "198.51.100.7"},
	} {
		cmd := machine(t, newBrain(t), rpcConfig+tt.config)
		c := serveIt(t, cmd, append(tt.args, "--log")...)
		r := c.request("GET", "/v1/sessions", "")
		r.Header.Set("X-Forwarded-For", "192.0.2.66, 198.51.100.7")
		r.Header.Set("X-Forwarded-Proto", "https")
		if status, body := c.do(r); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		c.end()
		var e struct {
			Route, From string
			HTTPS       bool
		}
		for line := range strings.Lines(c.said.String()) {
			if json.Unmarshal([]byte(line), &e) == nil && e.Route == "GET /v1/sessions" {
				break
			}
		}
		if e.From != tt.want || e.HTTPS != (tt.want == "198.51.100.7") {
			t.Errorf("%v %q: the log says %+v\n%s", tt.args, tt.config, e, c.said)
		}
	}
	cmd := machine(t, newBrain(t), rpcConfig+"server:\n  proxies: [nobody]\n")
	cmd.Args = append(cmd.Args, "serve", "--addr", "127.0.0.1:0", "--check")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), `server.proxies: "nobody" is not an address or a network`) {
		t.Errorf("%v: %s", err, out)
	}
}
