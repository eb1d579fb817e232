package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/burin-dev/burin/session"
)

// ErrNoMethod means that no method has this name.
var ErrNoMethod = errors.New("unknown method")

// Methods are the names of all methods that [Do] knows, in order.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Do calls a method by its name, as a client with the right to own does: faces that take
// requests from programs offer the same methods that connections have. Pieces of an answer
// that comes in pieces go to chunk, from one goroutine.
func Do(ctx context.Context, h session.Handle, name string, with json.RawMessage, chunk func(string)) (any, error) {
	m, ok := methods[name]
	if !ok {
		return nil, fmt.Errorf("%w %q", ErrNoMethod, name)
	}
	if len(with) == 0 {
		with = []byte("{}")
	}
	return m.run(ctx, h, with, chunk)
}
