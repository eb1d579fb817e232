package openai_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

func TestResponsesConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{
		Name:   "responses",
		Server: openai.ResponsesServer{},
		Model:  *respModel(),
		Open: func(base string, e wire.Endpoint) llm.Client {
			e.BaseURL = base
			return openai.NewResponses(openai.ResponsesOptions{Endpoint: e})
		},
		NoRedactedThinking: true, // told as reasoning whose signature is the item
		NoPause:            true,
		NoCacheTiers:       true,
		NoErrorInStream:    []llm.ErrorKind{llm.ErrTransport, llm.ErrStalled, llm.ErrAborted},
		NoStop:             true,
		NoTemperature:      true,
		NoToolErrors:       true,
		CallIDs:            `^[a-zA-Z0-9_-]{1,64}(\|fc_[a-zA-Z0-9_-]{1,61})?$`,
	})
}
