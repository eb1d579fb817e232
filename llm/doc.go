// Package llm is the conversation with a language model, independent of any provider: messages
// and their blocks, the request, the events of a streamed answer, usage and cost, and errors.
//
// # How the parts fit
//
// A caller builds a [Request] and passes it to a [Client], which returns a [Stream]. The
// reader pulls [Event] values from the stream until it ends. The package of a wire format
// (llm/anthropic, llm/openai, llm/google, llm/bedrock) has both directions of it and reports
// what it decodes to a [Builder], which assembles the [Message] and guarantees the order of
// events.
//
// # What a stream promises
//
//   - The first event is start (unless nothing came at all), the last is
//     exactly one of done or error. Nothing follows it.
//   - Blocks come as triplets: text_start text_delta* text_end, the same for
//     thinking and toolcall. Deltas of several blocks may interleave; the
//     content index tells them apart. A block that was cut by an error has no
//     end event.
//   - The terminal event carries the whole message, even after an error: what
//     has arrived is never lost.
//   - The stream never reads ahead of its reader (back-pressure). Canceling the
//     context of the request ends it at once with an error of kind [ErrAborted].
//
// # What a tool call promises
//
// Arguments are kept exactly as the model wrote them. A call whose arguments were cut or
// corrupted carries a [Defect] and must not run; see [ToolCall.Object].
//
// # JSON
//
// The JSON of [Message] is the message object of session files, version 3 (camelCase keys,
// times in Unix milliseconds), so that a transcript line contains a message as it is.
package llm
