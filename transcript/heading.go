package transcript

import "encoding/json"

// heading is the header of a session and the record it was read from.
type heading struct {
	Header
	read []byte // the record; nil: there is none
	bad  bool   // some of the record could not be read
}

// encode is the header as a record of this version, with what else the record held.
func (g *heading) encode() ([]byte, error) {
	h := g.Header
	h.Type, h.Version = "session", Version
	if g.read == nil {
		return encode(h)
	}
	if g.bad {
		return g.whole(h)
	}
	record, err := withField(g.read, "version", h.Version)
	var was Header
	if err == nil && h.Title != "" && json.Unmarshal(record, &was) == nil && was.Title != h.Title {
		record, err = withField(record, "title", h.Title) // it stood in a line of its own
	}
	return record, err
}

// whole is the record of a header of which some could not be read, with what is known in
// the place of that.
func (g *heading) whole(h Header) (record []byte, err error) {
	record = g.read
	for _, f := range []struct {
		key   string
		value any
	}{
		{"version", h.Version}, {"id", h.ID}, {"timestamp", h.Timestamp}, {"cwd", h.CWD}, {"title", h.Title}, {"parentSession", h.ParentSession},
	} {
		if record, err = withField(record, f.key, f.value); err != nil {
			return nil, err
		}
	}
	return record, nil
}
