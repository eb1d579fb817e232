// Package wire is what all wire formats stand on: framing (server-sent events
// and the AWS event stream, both as reader and writer), the HTTP exchange with
// its timeouts, and the sorting of providers' errors.
//
// A codec's client encodes a request, hands it to [Endpoint.Stream] together
// with its [Decoder], and is done: wire sends it, reads frame after frame as
// the reader of the stream pulls, lets the decoder report each frame to an
// [llm.Builder], and turns every failure into the stream's one error event.
//
// A codec's server half implements [Server], which is what the gateway and the
// scripted model of tests serve requests with.
package wire
