// Package acp speaks the Agent Client Protocol, version 1: JSON-RPC 2.0, a message a line,
// in both directions at once. It knows the protocol and nothing of burin: a [Conn] carries
// messages, and the types beside it are those of the published schema that burin uses.
//
// # Promises of a connection
//
// Reading goes on while requests are answered and while the other side does not read: what
// is written waits in a queue. The queue is bounded. [Conn.Notify] waits while it is full,
// so that whoever sends much feels it; answers and requests are always taken, and the
// connection reads nothing more while far too much waits. A line has a limit, requests in
// progress have one, and each says so.
package acp

import (
	"encoding/json"
	"fmt"
)

// Version is the version of the protocol that burin speaks.
const Version = 1

// Limits of a connection.
const (
	MaxLine     = 64 << 20 // bytes of a message; a longer one is refused and passed over
	maxRequests = 256      // requests of the other side in progress; more are refused
	maxQueue    = 1 << 20  // bytes that wait to be written before Notify waits
	maxBacklog  = 32 << 20 // bytes that wait to be written before reading pauses
)

// Codes of errors.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // not a message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800 // the request was canceled by who made it
	CodeAuthRequired   = -32000
	CodeNotFound       = -32002 // no such session or resource
)

// Error is an error of the protocol.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error of the protocol.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is an error of parameters.
func Invalid(format string, args ...any) *Error { return Errorf(CodeInvalidParams, format, args...) }

// message is any message, as it is read.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// Messages as they are written.
type (
	request struct {
		Version string `json:"jsonrpc"`
		ID      uint64 `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	notification struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	response struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	failure struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *Error          `json:"error"`
	}
)
