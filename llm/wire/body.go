package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// UserAgent is sent with every request.
const UserAgent = "burin"

// NewRequest makes the POST of a codec: body with the endpoint's and the
// request's extra keys merged in, the codec's headers, then the endpoint's, then
// the transform over both, then the request's headers. protected are the keys of the body
// that extras cannot touch. path is appended to the path of base; a query of
// base stays the query.
func (e *Endpoint) NewRequest(ctx context.Context, r *llm.Request, base, path string, body []byte, headers map[string]string, protected ...string) (*http.Request, error) {
	body, err := MergeBody(body, r.Extra, e.Transform.ExtraBody, protected...)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
	}
	root, query, _ := strings.Cut(base, "?")
	path, own, _ := strings.Cut(path, "?")
	url := strings.TrimRight(root, "/") + path
	if query = strings.Trim(own+"&"+query, "&"); query != "" {
		url += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	// A base URL may hold a password or a key: the errors do not quote it.
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "the base URL is not usable"}
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "the base URL must begin with http:// or https://"}
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("User-Agent", UserAgent)
	setAll(h, headers)
	setAll(h, e.Headers)
	for _, name := range e.Transform.StripHeaders {
		h.Del(name)
	}
	setAll(h, e.Transform.SetHeaders)
	setAll(h, r.Headers)
	return req, nil
}

// SentBody is the body of r as it will be sent, extra keys included, for who
// signs it.
func SentBody(r *http.Request) ([]byte, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, fmt.Errorf("read back the request: %w", err)
	}
	defer body.Close()
	return io.ReadAll(body)
}

// CredentialError is the error of a request that got no credential: err as it is
// where it says what it is or the wait for it was ended, else of kind auth.
func CredentialError(err error) error {
	var known *llm.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &llm.Error{Kind: llm.ErrAuth, Message: err.Error(), Err: err}
}

// setAll sets headers; an empty value removes one.
func setAll(h http.Header, headers map[string]string) {
	for name, value := range headers {
		if value == "" {
			h.Del(name)
		} else {
			h.Set(name, value)
		}
	}
}

// MergeBody merges the keys of extra, then those of more, into the top level of
// the JSON object body, except protected ones.
func MergeBody(body []byte, extra map[string]json.RawMessage, more map[string]any, protected ...string) ([]byte, error) {
	if len(extra) == 0 && len(more) == 0 {
		return body, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("merge extra keys into the request: %w", err)
	}
	for key, value := range extra {
		if !slices.Contains(protected, key) {
			object[key] = value
		}
	}
	for key, value := range more {
		if slices.Contains(protected, key) {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("extra key %q of the request: %w", key, err)
		}
		object[key] = raw
	}
	return Marshal(object)
}

// Marshal is json.Marshal without escaping <, > and &, which costs tokens.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
