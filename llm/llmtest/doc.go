// Package llmtest is a model that says what a script tells it to. It serves any
// wire format over HTTP, so that everything from the codec upwards runs as it
// does against a provider: only the model is not real.
//
// A [Script] holds one [Turn] per request. A turn says what the model answers,
// as plain data ([Part]) or as events, how fast, and what goes wrong on the way
// ([Fault]). [Serve] puts a script behind a loopback listener; the [Server]
// remembers what was asked.
//
//	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{
//		{Parts: []llmtest.Part{{Text: "Let me look."}, {Call: "read", Args: `{"path":"go.mod"}`}}},
//		{Parts: []llmtest.Part{{Text: "It is a Go module."}}},
//	}})
//
// The program's demo is such a script, so the package imports nothing of
// testing. The suite that every codec passes is in llmtest/conformance.
package llmtest
