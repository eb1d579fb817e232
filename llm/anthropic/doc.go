// Package anthropic speaks the Anthropic Messages format in both directions.
//
// [Client] sends requests to Anthropic, to hosts that imitate it, to Claude on
// AWS Bedrock and on Google Vertex, and decodes the streamed answer. [Server]
// is the other half: it reads such a request and writes such an answer, for a
// gateway and for the scripted model of tests.
//
// # What a client promises
//
//   - Any history becomes a request the API accepts: roles alternate, each call
//     is answered, reasoning goes back only to the model that wrote it and only
//     with its signature, and no field is sent that the API does not know.
//   - The same history gives the same bytes, and a longer history begins with
//     the same blocks, so that the provider's prompt cache hits from turn to turn.
//     What moves is only where the cache breakpoints stand.
//   - Tools that run at the provider (web search, web fetch) leave their calls and
//     results in the message as [llm.Opaque]; they are returned as they came.
//
// # What is decided here
//
//   - Reasoning of other models is left out, not turned into text: Claude would
//     begin to imitate the tags.
//   - A history that ends with an answer is continued by a user message, because
//     newer models refuse to continue writing in their own answer. The exception is
//     a paused turn, which the provider wants back as it is.
//   - While a model reasons it cannot be forced to call a tool; such a choice is
//     relaxed to "auto" instead of switching the reasoning off.
//
// The source of the format is the provider's API reference, version 2023-06-01.
package anthropic
