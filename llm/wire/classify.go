package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Classify sorts the answer to a request that was refused. It knows the error
// bodies of all providers served here, because gateways pass on each other's:
// {"error":{"message","type","code","status"}}, the same in a list, {"message"}
// and {"error":"text"}.
func Classify(status int, header http.Header, body []byte) *llm.Error {
	p := parseErrorBody(body)
	e := Sort(status, p.code, p.message)
	e.RetryAfter, e.ResetAt = retryHints(status, header, p.message, time.Now())
	if p.retryAfter > e.RetryAfter {
		e.RetryAfter = p.retryAfter
	}
	if p.resetAt > 0 && e.ResetAt.IsZero() {
		e.ResetAt = time.Unix(p.resetAt, 0)
	}
	for _, name := range []string{"request-id", "x-request-id", "x-amzn-requestid", "apim-request-id"} {
		if id := header.Get(name); id != "" {
			e.RequestID = id
			break
		}
	}
	return e
}

// Sort makes the error of a status (0 for an error inside a stream), a provider's
// code or type, and its message.
func Sort(status int, code, message string) *llm.Error {
	e := &llm.Error{Status: status, Code: code, Message: prose.Short(message, maxMessage)}
	lowCode, low := strings.ToLower(code), strings.ToLower(message)
	in := func(s string, words ...string) bool {
		for _, w := range words {
			if strings.Contains(s, w) {
				return true
			}
		}
		return false
	}
	switch {
	case aboutMedia(status, in, low):
		// Before overflow: "image size exceeds the maximum" is not about the window.
		e.Kind, e.Media = llm.ErrInvalidRequest, true
	case in(lowCode, "context_length_exceeded", "model_context_window_exceeded", "request_too_large", "string_above_max_length"),
		status != 429 && !in(lowCode, "throttl") && overflow().MatchString(low):
		e.Kind = llm.ErrContextOverflow
	case in(lowCode, "insufficient_quota", "usage_limit_reached", "usage_not_included", "billing_error", "insufficient_balance", "exceeded_current_quota"),
		status == 402,
		in(low, "insufficient balance", "insufficient credits", "credit balance is too low", "usage limit", "quota exceeded for", "monthly limit", "exceeded your current quota", "weekly limit"):
		e.Kind = llm.ErrUsageLimit
	case status == 429, in(lowCode, "rate_limit", "too_many_requests", "throttlingexception", "resource_exhausted"):
		e.Kind = llm.ErrRateLimit
	case in(lowCode, "content_filter", "content_policy", "content_policy_violation", "responsibleaipolicyviolation", "safety", "prohibited_content"),
		in(low, "content filtering policy"):
		e.Kind = llm.ErrContentFilter
	case status == 401, status == 403, status == 407,
		in(lowCode, "authentication_error", "invalid_api_key", "permission_error", "permission_denied", "unauthenticated", "accessdenied", "unrecognizedclient", "expiredtoken", "invalid_grant"),
		status == 400 && in(low, "api key not valid", "api key expired", "invalid api key"):
		e.Kind = llm.ErrAuth
	case status >= 500, in(lowCode, "overloaded", "server_error", "internal_error", "api_error", "service_unavailable", "serviceunavailable", "internalserver", "modelstreamerror", "modeltimeout", "modelnotready", "unavailable", "internal", "timeout"):
		e.Kind = llm.ErrOverload
	case status == 408, status == 409, status == 425:
		e.Kind = llm.ErrTransport
	case status == 0 && in(low, "overloaded", "try again later", "internal error", "server error", "retry your request"):
		e.Kind = llm.ErrOverload
	default:
		e.Kind = llm.ErrInvalidRequest
	}
	if e.Message == "" {
		e.Message = plain(e.Kind, status)
	}
	return e
}

// aboutMedia reports whether a provider, a gateway or a local server says that it does not
// accept an image or a document of a request.
func aboutMedia(status int, in func(string, ...string) bool, low string) bool {
	switch status {
	case 401, 402, 403, 429:
		return false
	}
	return in(low, "image", "pdf", "mmproj") && !in(low, "token", "safety", "policy") &&
		in(low, "exceed", "too large", "too big", "too many", "too small", "maximum of", "support", "invalid", "not valid",
			"not a valid", "not represent a valid", "corrupt", "damaged", "not process", "unable to", "cannot", "failed to", "password", "mmproj")
}

// overflow matches what providers and local servers say when a conversation does
// not fit. 429 is never one.
var overflow = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`prompt is too long|input is too long|context (length|window|size)|context_length|maximum (context|prompt) length|too many (input )?tokens|` +
		`exceeds the (maximum|model's|limit of|available context)|input token count .* exceeds|tokens? in your prompt|reduce the length of the (messages|prompt|input)|` +
		`prompt (token )?(count|length).* exceed|requested token count exceeds|input length .* exceed`)
})

func plain(k llm.ErrorKind, status int) string {
	switch k {
	case llm.ErrAuth:
		return "the key was not accepted"
	case llm.ErrRateLimit:
		return "too many requests for now"
	case llm.ErrOverload:
		return "the service is busy or failing"
	case llm.ErrUsageLimit:
		return "the account's limit is used up"
	case llm.ErrContextOverflow:
		return "the conversation is larger than the model's window"
	}
	if t := http.StatusText(status); t != "" {
		return strings.ToLower(t)
	}
	return "the request was refused"
}

type errorBody struct {
	message, code string
	retryAfter    time.Duration
	resetAt       int64 // Unix seconds
}

func parseErrorBody(body []byte) errorBody {
	type detail struct {
		RetryDelay string `json:"retryDelay"`
	}
	type inner struct {
		Message         string          `json:"message"`
		Type            string          `json:"type"`
		Code            json.RawMessage `json:"code"`
		Status          string          `json:"status"`
		Details         []detail        `json:"details"`
		ResetsAt        int64           `json:"resets_at"`
		ResetsInSeconds int64           `json:"resets_in_seconds"`
	}
	type outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Upper   string          `json:"Message"`
		Type    string          `json:"__type"`
		Code    json.RawMessage `json:"code"`
		Detail  json.RawMessage `json:"detail"`
	}
	var o outer
	if err := json.Unmarshal(body, &o); err != nil {
		var list []outer
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			if text := bytes.TrimSpace(body); len(text) > 0 && text[0] == '<' {
				return errorBody{message: "it answered with a web page: is the base URL right?"}
			}
			return errorBody{message: string(body[:min(len(body), 300)])}
		}
		o = list[0]
	}
	var in inner
	if json.Unmarshal(o.Error, &in) != nil {
		_ = json.Unmarshal(o.Error, &in.Message) // {"error":"text"}
	}
	p := errorBody{message: in.Message, resetAt: in.ResetsAt}
	if p.message == "" {
		p.message = o.Message
	}
	if p.message == "" {
		p.message = o.Upper
	}
	if p.message == "" {
		p.message = detailText(o.Detail)
	}
	if p.resetAt == 0 && in.ResetsInSeconds > 0 {
		p.retryAfter = time.Duration(in.ResetsInSeconds) * time.Second
	}
	for _, d := range in.Details {
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil {
			p.retryAfter = delay
		}
	}
	for _, raw := range []json.RawMessage{in.Code, o.Code} {
		if json.Unmarshal(raw, &p.code) == nil && p.code != "" {
			break
		}
	}
	for _, s := range []string{in.Status, in.Type, o.Type} {
		if p.code == "" {
			p.code = s
		}
	}
	return p
}

// detailText reads FastAPI's detail: a text, or a list of what is wrong with
// the request. Each entry of the list quotes the request, so only its words and
// its place are taken.
func detailText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct {
		Place []any  `json:"loc"`
		Text  string `json:"msg"`
	}
	_ = json.Unmarshal(raw, &list) // another shape says nothing that can be shown
	for _, e := range list {
		place := strings.Trim(fmt.Sprint(e.Place), "[]")
		text += "; " + strings.Trim(place+": "+e.Text, ": ")
	}
	return strings.TrimPrefix(text, "; ")
}

// retryHints reads when to come back: retry-after-ms, retry-after (seconds or a
// date), x-ratelimit-reset-ms and x-ratelimit-reset, anthropic-ratelimit-unified-reset,
// "try again in 1.5s" of a message, and x-ratelimit-reset-tokens. The last comes
// with every answer and tells when the allowance is full again, which is later
// than needed: it counts only where nothing else is said.
func retryHints(status int, h http.Header, message string, now time.Time) (after time.Duration, reset time.Time) {
	number := func(name string) (float64, bool) {
		n, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64)
		return n, err == nil && n > 0
	}
	if n, ok := number("anthropic-ratelimit-unified-reset"); ok {
		reset = time.Unix(int64(n), 0)
	}
	if n, ok := number("retry-after-ms"); ok {
		return time.Duration(n * float64(time.Millisecond)), reset
	}
	if n, ok := number("retry-after"); ok {
		return time.Duration(n * float64(time.Second)), reset
	}
	if t, err := http.ParseTime(h.Get("retry-after")); err == nil && t.After(now) {
		return t.Sub(now), reset
	}
	if n, ok := number("x-ratelimit-reset-ms"); ok {
		return sinceEpochOr(n, time.Millisecond, now), reset
	}
	if n, ok := number("x-ratelimit-reset"); ok {
		return sinceEpochOr(n, time.Second, now), reset
	}
	if m := tryAgain().FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(m[1] + m[2]); err == nil {
			return d, reset
		}
	}
	if d, err := time.ParseDuration(h.Get("x-ratelimit-reset-tokens")); err == nil && status == http.StatusTooManyRequests {
		return d, reset
	}
	return 0, reset
}

var tryAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|m|h)\b`)
})

// sinceEpochOr reads n units as a moment since 1970 if it is large enough for
// one, else as a wait.
func sinceEpochOr(n float64, unit time.Duration, now time.Time) time.Duration {
	d := time.Duration(n * float64(unit))
	if n*unit.Seconds() < 1e9 {
		return d
	}
	return max(0, time.Unix(0, 0).Add(d).Sub(now))
}

// TransportError is the error of a connection that failed, in words the user
// can act on.
func TransportError(err error) *llm.Error {
	e := &llm.Error{Kind: llm.ErrTransport, Err: err}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		e.Message = "the host " + dns.Name + " was not found: is the network up?"
	case errors.As(err, &op) && op.Op == "dial" && op.Addr != nil:
		e.Message = "no connection to " + op.Addr.String() + ": " + rootCause(op)
	default:
		e.Message = "the connection failed: " + rootCause(err)
	}
	return e
}

// rootCause is the innermost message, which names neither URL nor key.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return prose.Short(err.Error(), maxMessage)
		}
		err = next
	}
}

// maxMessage is how many characters of a provider's words are shown.
const maxMessage = 400
