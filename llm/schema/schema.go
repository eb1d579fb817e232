// Package schema turns the JSON schema of a tool's arguments into the dialect a
// vendor accepts.
package schema
