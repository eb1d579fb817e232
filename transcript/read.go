package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/burin-dev/burin/llm"
)

// Read reads a session file. Lines that cannot be read are skipped and counted;
// a file without a header is an error. Nothing is written.
func Read(path string) (Header, []Entry, int, error) {
	file, err := os.Open(path)
	if err != nil {
		return Header{}, nil, 0, err
	}
	defer file.Close()
	h, entries, bad, err := read(file)
	if err != nil {
		return h, entries, bad, fmt.Errorf("session %s: %w", path, err)
	}
	return h, entries, bad, nil
}

func read(r io.Reader) (h Header, entries []Entry, bad int, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			switch {
			case h.ID == "":
				if json.Unmarshal(line, &h) != nil || h.Type != "session" || h.ID == "" {
					return Header{}, nil, 0, errors.New("not a session file: the first line is no header")
				}
			default:
				var e Entry
				if json.Unmarshal(line, &e) != nil || e.ID == "" {
					bad++
					continue
				}
				entries = append(entries, e)
			}
		}
		if errors.Is(err, io.EOF) {
			if h.ID == "" {
				return h, nil, 0, errors.New("not a session file: it is empty")
			}
			return h, entries, bad, nil
		}
		if err != nil {
			return h, entries, bad, err
		}
	}
}

// Messages are the messages of the branch that ends with the last entry, oldest first.
func Messages(entries []Entry) []llm.Message {
	at := make(map[string]int, len(entries))
	for i, e := range entries {
		at[e.ID] = i
	}
	var branch []llm.Message
	for i := len(entries) - 1; i >= 0; {
		if m := entries[i].Message; m != nil {
			branch = append(branch, *m)
		}
		parent := entries[i].ParentID
		if parent == nil {
			break
		}
		next, ok := at[*parent]
		if !ok || next >= i {
			break // its parent was a line that cannot be read
		}
		i = next
	}
	slices.Reverse(branch)
	return branch
}
