package wire_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		header  map[string]string
		body    string
		kind    llm.ErrorKind
		after   time.Duration
		message string
	}{
		{"anthropic key", 401, nil, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.ErrAuth, 0, "invalid x-api-key"},
		{"anthropic rate", 429, map[string]string{"retry-after": "7"}, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, llm.ErrRateLimit, 7 * time.Second, "slow"},
		{"anthropic busy", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverload, 0, "Overloaded"},
		{"anthropic window", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ErrContextOverflow, 0, ""},
		{"anthropic balance", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, llm.ErrUsageLimit, 0, ""},
		{"openai window", 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.ErrContextOverflow, 0, ""},
		{"openai quota", 429, nil, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.ErrUsageLimit, 0, ""},
		{"openai tokens per minute", 429, nil, `{"error":{"message":"Rate limit reached: too many tokens. Please try again in 1.5s.","code":"rate_limit_exceeded"}}`, llm.ErrRateLimit, 1500 * time.Millisecond, ""},
		{"openai filter", 400, nil, `{"error":{"message":"filtered","code":"content_filter"}}`, llm.ErrContentFilter, 0, "filtered"},
		{"anthropic filter", 400, nil, `{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, llm.ErrContentFilter, 0, ""},
		{"plan limit with reset", 429, nil, `{"error":{"type":"usage_limit_reached","message":"limit","resets_in_seconds":90}}`, llm.ErrUsageLimit, 90 * time.Second, "limit"},
		{"google key", 400, nil, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, llm.ErrAuth, 0, ""},
		{"google rate with delay", 429, nil, `{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"18s"}]}}`, llm.ErrRateLimit, 18 * time.Second, ""},
		{"google list", 503, nil, `[{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}]`, llm.ErrOverload, 0, "The model is overloaded"},
		{"google window", 400, nil, `{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed"}}`, llm.ErrContextOverflow, 0, ""},
		{"bedrock window", 400, nil, `{"message":"Input is too long for requested model."}`, llm.ErrContextOverflow, 0, ""},
		{"bedrock denied", 403, nil, `{"Message":"User is not authorized"}`, llm.ErrAuth, 0, "User is not authorized"},
		{"llama.cpp window", 400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.ErrContextOverflow, 0, ""},
		{"payment", 402, nil, ``, llm.ErrUsageLimit, 0, "the account's limit is used up"},
		{"error as text", 404, nil, `{"error":"model not found"}`, llm.ErrInvalidRequest, 0, "model not found"},
		{"fastapi detail", 422, nil, `{"detail":[{"loc":["body"]}]}`, llm.ErrInvalidRequest, 0, "body"},
		{"gateway page", 502, nil, "<html>\n<h1>Bad\nGateway</h1>", llm.ErrOverload, 0, "it answered with a web page: is the base URL right?"},
		{"nothing", 400, nil, ``, llm.ErrInvalidRequest, 0, "bad request"},
		{"retry in ms", 429, map[string]string{"retry-after-ms": "250", "retry-after": "9"}, ``, llm.ErrRateLimit, 250 * time.Millisecond, ""},
		{"reset", 429, map[string]string{"x-ratelimit-reset": "3"}, ``, llm.ErrRateLimit, 3 * time.Second, ""},
		{"never a window on 429", 429, nil, `{"error":{"message":"too many tokens in the context window per minute"}}`, llm.ErrRateLimit, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tt.header {
				h.Set(k, v)
			}
			e := wire.Classify(tt.status, h, []byte(tt.body))
			if e.Kind != tt.kind || e.RetryAfter != tt.after || e.Status != tt.status {
				t.Errorf("got %s, wait %s, status %d: %v", e.Kind, e.RetryAfter, e.Status, e)
			}
			if tt.message != "" && e.Message != tt.message {
				t.Errorf("message %q, want %q", e.Message, tt.message)
			}
			if strings.ContainsAny(e.Error(), "\n\r") {
				t.Errorf("more than one line: %q", e.Error())
			}
		})
	}
}

func TestClassifyMedia(t *testing.T) {
	for _, tt := range []struct {
		status  int
		message string
		media   bool
	}{
		{400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", true},
		{400, "messages.2.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", true},
		{400, "Could not process image", true},
		{400, "The PDF specified was not valid.", true},
		{400, "A maximum of 100 PDF pages may be provided.", true},
		{400, "You uploaded an unsupported image. Please make sure your image is valid.", true},
		{400, "The image data you provided does not represent a valid image.", true},
		{400, "Image size exceeds the maximum allowed size of 20 MB", true},
		{400, "Unable to process input image. Please retry or report in the forum.", true},
		{404, "No endpoints found that support image input", true},
		{500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", true},
		{400, "The input token count with images exceeds the maximum number of tokens allowed", false},
		{429, "too many images per minute: limit exceeded", false},
		{400, "messages: roles must alternate", false},
		{400, "Your request was rejected by the safety system: the image cannot be used", false},
	} {
		if e := wire.Sort(tt.status, "", tt.message); e.Media != tt.media || e.Media && e.Kind != llm.ErrInvalidRequest {
			t.Errorf("%d %q: media %v, %s", tt.status, tt.message, e.Media, e.Kind)
		}
	}
}

func TestClassifyReset(t *testing.T) {
	h := http.Header{}
	h.Set("anthropic-ratelimit-unified-reset", "1760000000")
	h.Set("request-id", "req_1")
	e := wire.Classify(429, h, []byte(`{"error":{"message":"usage limit reached"}}`))
	if e.Kind != llm.ErrUsageLimit || !e.ResetAt.Equal(time.Unix(1760000000, 0)) || e.RequestID != "req_1" {
		t.Errorf("%+v", e)
	}
}

func TestTransportError(t *testing.T) {
	_, refused := net.Dial("tcp", "127.0.0.1:1")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Name: "api.example", Err: "no such host"}, "the host api.example was not found: is the network up?"},
		{refused, "no connection to 127.0.0.1:1: connection refused"},
		{errors.New("odd"), "the connection failed: odd"},
	} {
		if e := wire.TransportError(tt.err); e.Kind != llm.ErrTransport || e.Error() != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, e, tt.want)
		}
	}
}

// The wait a vendor asks for is never negative, and never longer than it said.
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

// FastAPI's error lists quote the request, which is not shown.
func TestDetailEcho(t *testing.T) {
	e := wire.Classify(422, nil, []byte(`{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{"messages":[{"role":"user","content":"my secret prompt"}]}}]}`))
	if strings.Contains(e.Message, "secret") || !strings.Contains(e.Message, "Field required") {
		t.Error(e.Message)
	}
}
