// Package bedrock speaks the Converse and ConverseStream operations of Amazon
// Bedrock Runtime, the one format in which AWS serves the chat models of all
// providers.
//
// [Client] sends requests: JSON to POST /model/<id>/converse-stream, where the
// id is that of a model, an inference profile or an ARN, and reads the binary
// event stream that answers. Requests are authorized with a Bedrock API key or
// with the credentials the AWS tools would use. [Server] is the other
// direction, for a gateway and for scripted models.
//
// Converse is the same for all models, but what may stand in it is not: which
// models cache, take images inside tool results, want their reasoning back and
// how they are told to reason is decided by the family of the model, see
// traits. A family is read from the model's id and, since the ARN of an
// application inference profile names no model, from its display name.
//
// The order of keys in the bodies and of everything in them depends on the
// request alone, so that the same history gives the same prefix.
//
// Sources: the Amazon Bedrock API reference (Converse, ConverseStream,
// ContentBlock, TokenUsage), the user guide's pages on prompt caching, tool
// use, structured output and the reasoning of Claude and Nova models. How the
// models of other providers are told to reason is not documented by AWS; what is
// sent to them was seen to work by others and is noted where it is chosen.
package bedrock
