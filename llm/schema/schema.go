// Package schema turns the JSON schema of a tool's arguments into the dialect a
// provider accepts.
//
// [Plain] reads the drafts from 4 to 2020-12 and writes one form of the latest, in
// which references are local and static. Validation and the functions below begin
// with it.
//
// [Strict] makes a schema one that OpenAI enforces while the model writes (its
// "strict mode" for functions and structured outputs). Where that forces an
// optional property to be present, the model answers null for "not given";
// [DropNulls] removes those nulls. The code that checks a call against its
// schema applies it, not a codec: a codec streams the arguments as the
// model writes them, and what it reports at the end is what it streamed.
//
// All functions are pure, keep the order in which properties were written (a
// model fills them in that order, and a stable order keeps cached prompts
// valid), and give the same bytes for the same input.
package schema
