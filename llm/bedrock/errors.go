package bedrock

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Error types of Converse, as in the x-amzn-errortype header. In the stream
// they begin with a small letter.
const (
	accessDenied       = "AccessDeniedException"
	throttling         = "ThrottlingException"
	serviceUnavailable = "ServiceUnavailableException"
	quotaExceeded      = "ServiceQuotaExceededException"
	validation         = "ValidationException"
	internalServer     = "InternalServerException"
	modelStreamError   = "ModelStreamErrorException"
	resourceNotFound   = "ResourceNotFoundException"
)

// classify sorts an error answer. Its type stands in a header, with the name
// space and a link behind it: "ThrottlingException:http://internal…".
func classify(status int, h http.Header, body []byte) *llm.Error {
	e := wire.Classify(status, h, body)
	if code := errorType(h.Get("x-amzn-errortype")); code != "" {
		e.Code = code
	} else {
		e.Code = errorType(e.Code)
	}
	sorted := sortError(status, e.Code, e.Message)
	e.Kind = sorted.Kind
	if status == http.StatusNotFound && e.Code == "UnknownOperationException" {
		e.Message = "the server does not know the operation: is the base URL that of Bedrock Runtime?"
	}
	return e
}

func errorType(s string) string {
	s, _, _ = strings.Cut(s, ":")
	if i := strings.LastIndexByte(s, '#'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// sortError is [wire.Sort] with what only AWS says.
func sortError(status int, code, message string) *llm.Error {
	e := wire.Sort(status, code, message)
	low := strings.ToLower(message)
	switch {
	case strings.EqualFold(code, quotaExceeded), strings.Contains(low, "too many tokens per day"):
		e.Kind = llm.ErrUsageLimit
	case strings.EqualFold(code, throttling), strings.EqualFold(code, "ModelNotReadyException"):
		e.Kind = llm.ErrRateLimit // also when it says "too many tokens", which elsewhere means the window
	case e.Kind == llm.ErrContextOverflow:
	case strings.Contains(low, "content filtering policy"), strings.Contains(low, "blocked by the guardrail"):
		e.Kind = llm.ErrContentFilter
	case strings.EqualFold(code, "ModelErrorException"), strings.EqualFold(code, "ModelTimeoutException"):
		e.Kind = llm.ErrOverload
	case strings.EqualFold(code, "InvalidSignatureException"), strings.EqualFold(code, "MissingAuthenticationTokenException"):
		e.Kind = llm.ErrAuth
	}
	return e
}

// exceptionError is the error of an exception inside the stream.
func exceptionError(f wire.Frame) *llm.Error {
	var x exception
	_ = json.Unmarshal(f.Data, &x) // the type says enough if it holds nothing
	e := sortError(x.OriginalStatusCode, string(f.Event), cmp.Or(x.OriginalMessage, x.Message))
	e.Status = 0 // that of another exchange, inside AWS
	return e
}

// exceptionOf returns the type, status and message with which the server reports
// an error, so that a client sorts it into the same kind again.
func exceptionOf(e *llm.Error) (name string, status int, message string) {
	message = e.Message
	switch e.Kind {
	case llm.ErrAuth:
		name, status = accessDenied, http.StatusForbidden
	case llm.ErrRateLimit:
		name, status = throttling, http.StatusTooManyRequests
	case llm.ErrUsageLimit:
		name, status = quotaExceeded, http.StatusBadRequest
	case llm.ErrOverload:
		name, status = serviceUnavailable, http.StatusServiceUnavailable
	case llm.ErrTransport, llm.ErrStalled, llm.ErrAborted:
		name, status = internalServer, http.StatusInternalServerError
	default:
		name, status = validation, http.StatusBadRequest
		if e.Status == http.StatusNotFound {
			name, status = resourceNotFound, http.StatusNotFound
		}
	}
	if sortError(status, name, message).Kind != e.Kind {
		switch e.Kind { // what AWS tells by its message alone
		case llm.ErrContextOverflow:
			message = "Input is too long for requested model. " + message
		case llm.ErrContentFilter:
			message = "Output blocked by content filtering policy. " + message
		}
	}
	return name, status, message
}
