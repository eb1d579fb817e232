package transcript

import "encoding/json"

// heading is the header of a session and its record.
type heading struct {
	Header
	read []byte // the record; nil if there is none
	bad  bool   // part of the record could not be read
}

// encode returns the header as a record of this version, with everything else from its record.
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
		record, err = withField(record, "title", h.Title) // it was in a line of its own
	}
	return record, err
}

// whole returns the record of a partly unreadable header, with known values in place of the
// unreadable ones.
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
