package file

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/edit"
)

func isNotebook(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".ipynb") }

var _ edit.Source = (*notebooks)(nil)

// notebooks is where edit engines read: of a notebook they get the text that read
// shows.
type notebooks struct {
	source
	data map[string][]byte // of the notebooks that were read, by the path as written
}

func (s *notebooks) ReadFile(written string) ([]byte, error) {
	data, err := s.source.ReadFile(written)
	if err != nil || !isNotebook(written) {
		return data, err
	}
	text, err := document.NotebookText(data)
	if err != nil {
		return data, nil // it is none, or broken: then its text is what there is to edit
	}
	s.data[written] = data
	return []byte(text), nil
}

// written turns changes of the texts of notebooks into changes of the files.
func (s *notebooks) written(changes []edit.Change) ([]edit.Change, error) {
	out := make([]edit.Change, 0, len(changes))
	for _, c := range changes {
		from := c.Path
		if c.From != "" {
			from = c.From
		}
		if data, ok := s.data[from]; ok && c.Before != nil {
			c.Before = data
			if c.After != nil {
				after, err := document.NotebookApply(data, string(c.After))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.Path, err)
				}
				c.After = after
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// valid reports whether the notebooks that were read are notebooks after changes of
// their JSON.
func (s *notebooks) valid(changes []edit.Change) bool {
	for _, c := range changes {
		if _, ok := s.data[c.Path]; ok && c.After != nil {
			if _, err := document.NotebookText(c.After); err != nil {
				return false
			}
		}
	}
	return true
}
