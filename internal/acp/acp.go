// Package acp implements the Agent Client Protocol, version 1: JSON-RPC 2.0, one message per
// line, in both directions at once. It knows nothing about burin: a [Conn] carries messages,
// and the types are the part of the published schema that burin uses.
//
// # Promises of a connection
//
// A connection keeps reading while requests are being answered and while the other side does
// not read: outgoing messages go through a queue. While more than 1 MB is queued,
// [Conn.Notify] blocks, which slows down whoever sends too much. Responses and requests are
// always queued, but above 32 MB the connection stops reading. Lines that are too long and
// requests beyond the limit get an error.
package acp

import (
	"encoding/json"
	"fmt"
)

// Version is the version of the protocol that burin speaks.
const Version = 1

// Limits of a connection.
const (
	MaxLine     = 64 << 20 // bytes of a message; a longer one is refused and skipped
	maxRequests = 256      // incoming requests in progress; more are refused
	maxQueue    = 1 << 20  // queued bytes above which Notify blocks
	maxBacklog  = 32 << 20 // queued bytes above which reading pauses
)

// Error codes.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // not a JSON-RPC message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800 // its sender canceled the request
	CodeAuthRequired   = -32000
	CodeNotFound       = -32002 // no such session or resource
)

// Error is a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an [Error] with a formatted message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an [Error] about invalid parameters.
func Invalid(format string, args ...any) *Error { return Errorf(CodeInvalidParams, format, args...) }

// message is any incoming message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// Outgoing messages.
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
