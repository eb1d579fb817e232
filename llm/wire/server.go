package wire

import (
	"net/http"

	"github.com/burin-dev/burin/llm"
)

// Server is the server's half of a wire format: what a gateway or a scripted
// model needs to answer the format's clients.
type Server interface {
	// API names the format.
	API() llm.API
	// Match reports whether the request is one of this format, by method and path.
	Match(r *http.Request) bool
	// DecodeRequest reads a client's request. The request's Model holds the id
	// asked for and the API; nothing else is known of it. stream reports whether the
	// client wants a stream. An error is an *llm.Error.
	DecodeRequest(r *http.Request, body []byte) (req *llm.Request, stream bool, err error)
	// NewEncoder begins the answer to req on w, as a stream or whole.
	NewEncoder(w http.ResponseWriter, req *llm.Request, stream bool) Encoder
	// EncodeError answers with an error instead, in the format's shape and with
	// its status code.
	EncodeError(w http.ResponseWriter, err *llm.Error)
}

// Encoder writes one answer. It is given the events of a stream in order. An
// error event after the start becomes the format's in-stream error. The encoder
// flushes after each event that reaches the client.
type Encoder interface {
	Encode(ev llm.Event) error
}
