package wire_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm/wire"
)

func TestRetryAfter(t *testing.T) {
	for name, value := range map[string]string{"Retry-After": "1e30", "Retry-After-Ms": "+Inf", "X-Ratelimit-Reset-Tokens": "-5s"} {
		e := wire.Classify(429, http.Header{name: {value}}, nil)
		if e.RetryAfter < 0 {
			t.Errorf("%s: %s waits %s", name, value, e.RetryAfter)
		}
	}
	e := wire.Classify(503, http.Header{"X-Ratelimit-Reset-Tokens": {"6m0s"}}, nil)
	if e.RetryAfter > time.Minute {
		t.Errorf("503 waits %s for a token bucket to fill", e.RetryAfter)
	}
	e = wire.Classify(429, http.Header{"X-Ratelimit-Reset-Tokens": {"6m0s"}}, []byte(`{"error":{"message":"Rate limit reached. Please try again in 1.2s."}}`))
	if e.RetryAfter != 1200*time.Millisecond {
		t.Errorf("429 waits %s, told 1.2s", e.RetryAfter)
	}
	e = wire.Classify(429, nil, []byte(`{"error":{"message":"m","resets_in_seconds":9223372036854775807,"details":[{"retryDelay":"-3s"}]}}`))
	if e.RetryAfter < 0 {
		t.Errorf("waits %s", e.RetryAfter)
	}
}

func TestDetailEcho(t *testing.T) {
	e := wire.Classify(422, nil, []byte(`{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{"messages":[{"role":"user","content":"my secret prompt"}]}}]}`))
	if strings.Contains(e.Message, "secret") || !strings.Contains(e.Message, "Field required") {
		t.Error(e.Message)
	}
}
