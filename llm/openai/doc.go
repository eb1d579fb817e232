// Package openai speaks the two wire formats of OpenAI, each in both
// directions: as a client of the provider and of the many services that imitate
// it, and as the server that such clients talk to.
//
//   - Chat Completions: [NewCompletions] and [CompletionsServer]. This is the
//     format that everyone imitates, no two in the same way. What an endpoint
//     departs in is described by a [Compat]; [Detect] knows the common ones by
//     their URL, and what a user sets explicitly wins.
//   - Responses: [NewResponses] and [ResponsesServer], also for Azure and Codex.
//
// # Reasoning in Chat Completions
//
// The format itself has no reasoning; endpoints have added it in three text
// fields (reasoning_content, reasoning, reasoning_text) and a list of records
// (reasoning_details). The signature of an [llm.Thinking] block says how it
// came and how it goes back: nothing for reasoning_content, the name of another
// text field, or the records as a JSON list. Anything else is the signature of
// another provider's block that passed through a [CompletionsServer]; it travels
// inside a record of its own.
//
// # What is not applied
//
// Tool arguments are reported as the model wrote them. Where a strict schema
// made the model write null for an optional property, the caller removes it
// with schema.DropNulls when it checks the call; a codec that did so would
// report other arguments at the end than it had streamed.
package openai
