package anthropic

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// EncodeError answers with an error. Waiting times travel in retry-after and
// retry-after-ms, the end of a usage limit in anthropic-ratelimit-unified-reset,
// the request's id in request-id.
func (Server) EncodeError(w http.ResponseWriter, e *llm.Error) {
	status, kind := errorType(e)
	if e.Status >= 400 && e.Status < 600 {
		status = e.Status
	}
	h := w.Header()
	if d := e.RetryAfter; d > 0 {
		h.Set("retry-after", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
		h.Set("retry-after-ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	if !e.ResetAt.IsZero() {
		h.Set("anthropic-ratelimit-unified-reset", strconv.FormatInt(e.ResetAt.Unix(), 10))
	}
	if e.RequestID != "" {
		h.Set("request-id", e.RequestID)
	}
	body := errorAnswer{Type: "error", Error: errorBody{kind, errorMessage(e)}, RequestID: e.RequestID}
	_ = writeJSON(w, status, body) // the client is gone when this fails
}

// errorType is the status and the provider's word for an error.
func errorType(e *llm.Error) (int, string) {
	switch e.Kind {
	case llm.ErrAuth:
		if e.Status == http.StatusForbidden {
			return e.Status, "permission_error"
		}
		return http.StatusUnauthorized, "authentication_error"
	case llm.ErrRateLimit:
		return http.StatusTooManyRequests, "rate_limit_error"
	case llm.ErrUsageLimit:
		return http.StatusPaymentRequired, "billing_error"
	case llm.ErrOverload:
		if e.Status != 0 && e.Status != 529 {
			return e.Status, "api_error"
		}
		return 529, "overloaded_error"
	case llm.ErrStalled:
		return http.StatusGatewayTimeout, "timeout_error"
	case llm.ErrTransport, llm.ErrAborted:
		return http.StatusBadGateway, "api_error"
	}
	if e.Status == http.StatusNotFound {
		return e.Status, "not_found_error"
	}
	return http.StatusBadRequest, "invalid_request_error"
}

// errorMessage is the message of an error. Where the provider's word does not say
// what kind it is, the provider's own phrase does.
func errorMessage(e *llm.Error) string {
	text := e.Message
	if text == "" {
		text = strings.ReplaceAll(string(e.Kind), "_", " ")
	}
	switch e.Kind {
	case llm.ErrContextOverflow:
		if wire.Sort(http.StatusBadRequest, "", text).Kind != e.Kind {
			return "prompt is too long: " + text
		}
	case llm.ErrContentFilter:
		if !strings.Contains(strings.ToLower(text), filterPhrase) {
			return "Output blocked by " + filterPhrase + ": " + text
		}
	}
	return text
}

// filterPhrase marks refusals of content among the errors of other reasons.
const filterPhrase = "content filtering policy"
