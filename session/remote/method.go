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

// ErrNoMethod reports an unknown method.
var ErrNoMethod = errors.New("unknown method")

// Methods returns the names of all methods that [Do] knows, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Do calls a method by name with all rights. Faces that take requests from programs offer the
// same methods as connections this way. Partial output goes to chunk, from one goroutine.
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
