// Package google speaks Google's generateContent format, as client and as
// server: the Gemini API of AI Studio (API google-generative-ai) and Vertex AI
// (API google-vertex), which differ in address, credential and a few fields.
//
// # Client
//
// [New] gives an [llm.Client] that posts to
// {base}/models/<id>:streamGenerateContent?alt=sse. The key travels in the
// x-goog-api-key header, never in the URL, so that URLs may be logged.
//
// What the format wants, and what is done about it:
//
//   - Results of parallel calls form one user content, in the order of the calls
//     and with nothing else in it: text or media beside a functionResponse make
//     the API refuse the request. What follows goes into a user content of its own.
//   - Images and documents of tools travel inside the functionResponse for
//     Gemini 3, the first that reads them there, and after the results for others.
//   - Call ids are sent to Gemini 3 on AI Studio only. Vertex refuses the field
//     and older models match results to calls by name and order.
//   - Signatures return on the part they came with. Gemini 3 refuses a turn whose
//     first call has none; a call of another model gets Google's documented
//     placeholder instead.
//   - Tool schemas are sent in the older parameters field, translated by
//     [schema.Google], because it means the same on every version and host of the
//     format; the schema of an answer is sent as it is (responseJsonSchema).
//   - Search and URL reading go together with functions only on Gemini 3 and AI
//     Studio. Elsewhere the functions win and the server tools are left out. A
//     search that is limited to or kept from domains is left out where the limit
//     could not be kept. MaxUses and SequentialTools have no counterpart.
//
// # Answers
//
// Calls arrive whole: one start, one delta, one end. STOP may come with, before
// or after them, on every chunk or on the last, and usage after it; so an answer
// is complete when the connection ends, provided a finish reason was seen, and a
// connection that breaks after it does no harm. What an answer contains besides
// text, thoughts and calls (images, executed code, server tools) is kept as
// [llm.Opaque], the whole part as it came.
//
// # Server
//
// [Server] reads the requests of the format's clients, in camelCase and in
// snake_case, and writes answers as server-sent events or whole. The JSON array
// that streamGenerateContent gives without alt=sse is not offered: events are
// sent in either case.
//
// Sources: the REST references of ai.google.dev/api (v1beta) and of Vertex AI
// (v1), the guides on thought signatures, thinking, function calling and tool
// combination, and the types of googleapis/go-genai.
package google
