package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Dump writes the next request to a model, and what comes back, into files: for reports
// of faults in a wire format. The zero value waits for nothing.
type Dump struct {
	mu   sync.Mutex
	path string // "" waits for no request
	done func(error)
}

// Next has the next request written to path, as JSON with method, url, headers and body,
// and its answer, byte for byte behind its status, to path.res.log. Neither is
// overwritten. done is called when the request is written, from any goroutine. Headers
// hold no key: of those that are not known to be harmless the name alone is written.
// What secrets the body had are hidden in it already.
func (d *Dump) Next(path string, done func(error)) error {
	for _, name := range []string{path, path + answerSuffix} {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s exists: choose another name, or move it away", name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.path, d.done = path, done
	return nil
}

const answerSuffix = ".res.log"

// take is where the request goes that is sent now; each is taken once.
func (d *Dump) take() (path string, done func(error)) {
	if d == nil {
		return "", nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path, done = d.path, d.done
	d.path, d.done = "", nil
	return path, done
}

// dumping is a transport that writes down what a Dump asks for.
type dumping struct {
	next http.RoundTripper
	dump *Dump
}

func (t *dumping) RoundTrip(r *http.Request) (*http.Response, error) {
	path, done := t.dump.take()
	if path == "" {
		return t.next.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			done(err)
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	err := writeRequest(path, r, body)
	done(err)
	resp, failed := t.next.RoundTrip(r)
	if err != nil {
		return resp, failed
	}
	f, err := create(path + answerSuffix)
	if err != nil {
		return resp, failed // the request was the more important half
	}
	if failed != nil {
		fmt.Fprintln(f, failed)
		f.Close()
		return resp, failed
	}
	fmt.Fprintf(f, "%s %s\n", resp.Proto, resp.Status)
	for name, value := range harmless(resp.Header) {
		fmt.Fprintf(f, "%s: %s\n", name, value)
	}
	fmt.Fprintln(f)
	resp.Body = &recorded{ReadCloser: resp.Body, to: f}
	return resp, nil
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// writeRequest writes a request as JSON.
func writeRequest(path string, r *http.Request, body []byte) error {
	url := *r.URL
	url.User = nil
	if url.RawQuery != "" {
		query := url.Query()
		for name := range query {
			if name != "alt" && name != "api-version" && name != "beta" {
				query[name] = []string{hidden}
			}
		}
		url.RawQuery = query.Encode()
	}
	out := struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    any               `json:"body"`
	}{Method: r.Method, URL: url.String(), Headers: harmless(r.Header)}
	switch {
	case json.Valid(body):
		out.Body = json.RawMessage(body)
	case utf8.Valid(body):
		out.Body = string(body)
	default:
		out.Body = body // base64
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	text := b.Bytes()
	if used := usedBy(r.Context()); used != nil && used.Secret != "" {
		text = bytes.ReplaceAll(text, []byte(used.Secret.Reveal()), []byte(hidden))
	}
	f, err := create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

const hidden = "[hidden]"

// harmless are headers with the values of those that never hold a key or name a person.
func harmless(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, values := range h {
		lower := strings.ToLower(name)
		if slices.Contains(plainHeaders, lower) || strings.Contains(lower, "ratelimit") || strings.HasSuffix(lower, "request-id") {
			out[name] = strings.Join(values, ", ")
		} else {
			out[name] = hidden
		}
	}
	return out
}

var plainHeaders = []string{
	"accept", "anthropic-beta", "anthropic-version", "content-encoding", "content-length", "content-type", "date",
	"openai-beta", "openai-processing-ms", "retry-after", "server", "transfer-encoding", "user-agent",
}

// recorded is an answer that is written down as it is read.
type recorded struct {
	io.ReadCloser
	to *os.File
}

func (r *recorded) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	_, _ = r.to.Write(p[:n]) // the answer goes on, whatever becomes of its copy
	return n, err
}

func (r *recorded) Close() error {
	r.to.Close()
	return r.ReadCloser.Close()
}
