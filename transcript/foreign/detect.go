package foreign

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxSniff   = 4 << 20 // bytes of a file that are looked at
	maxObjects = 30      // objects of it
)

// ErrUnknown means that a file or folder is of none of the formats.
var ErrUnknown = errors.New("no known format")

func unknown(path string) error {
	names := make([]string, 0, len(Formats()))
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return fmt.Errorf("%s: %w; what can be imported is %s", prose.Plain(path, maxPath), ErrUnknown, strings.Join(names, ", "))
}

// Detect names the format of a file, or of the first conversation in a folder. It
// looks at what is there, not at names. The error is [ErrUnknown] where it is not one.
func Detect(path string) (Format, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	if !info.IsDir() {
		f, _, err := detectFile(path)
		return f, err
	}
	var found Format
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be listed has no format to offer
		case d.IsDir() && isStorage(at):
			found = OpenCode
			return fs.SkipAll
		case !d.Type().IsRegular() || !readable(at):
			return nil
		}
		if f, _, err := detectFile(at); err == nil {
			found = f
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	if found == "" {
		return "", unknown(path)
	}
	return found, nil
}

// readable reports whether a file's name is one that conversations have.
func readable(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".json", ".zip", ".db":
		return true
	}
	return false
}

// container is how a file holds its records.
type container uint8

const (
	asText container = iota
	asZip
	asSQLite
)

// detectFile looks at one file.
func detectFile(path string) (Format, container, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", asText, fmt.Errorf("detect format: %w", err)
	}
	defer file.Close()
	br := bufio.NewReaderSize(file, 64<<10)
	magic, _ := br.Peek(16) // a shorter file is none of these
	switch {
	case strings.HasPrefix(string(magic), "SQLite format 3\x00"):
		if isOpenCodeDB(path) {
			return OpenCode, asSQLite, nil
		}
		return "", asSQLite, unknown(path)
	case strings.HasPrefix(string(magic), "PK\x03\x04"):
		f, err := detectArchive(path)
		return f, asZip, err
	}
	if f := sniff(br); f != "" {
		return f, asText, nil
	}
	return "", asText, unknown(path)
}

// sniff tells the format by the members of the first objects: those that follow
// each other, or those in a list.
func sniff(r io.Reader) Format {
	br := bufio.NewReader(io.LimitReader(r, maxSniff))
	if _, err := firstByte(br); err != nil {
		return ""
	}
	dec := json.NewDecoder(br)
	dec.UseNumber() // one that is too large is no error here
	list := false
	for range maxObjects {
		tok, err := dec.Token()
		if err != nil {
			return ""
		}
		switch tok {
		case json.Delim('['):
			if list {
				return ""
			}
			list = true
			continue
		case json.Delim('{'):
		default:
			if list {
				continue // such as a null among conversations
			}
			return ""
		}
		if f := sniffObject(dec, list); f != "" {
			return f
		}
	}
	return ""
}

// members are those of an object: the text of strings, "" for other values.
type members map[string]string

func (m members) has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			return false
		}
	}
	return true
}

// sniffObject reads an object whose brace is read, as far as it must. A limit or an
// error within it leaves what was seen so far.
func sniffObject(dec *json.Decoder, list bool) Format {
	m := members{}
	for {
		tok, err := dec.Token()
		key, isKey := tok.(string)
		if err != nil || !isKey {
			break
		}
		m[key] = ""
		if f := formatOf(m, list, false); f != "" {
			return f
		}
		text, err := skipValue(dec)
		m[key] = text
		if err != nil {
			break
		}
		if f := formatOf(m, list, false); f != "" {
			return f
		}
	}
	return formatOf(m, list, true)
}

// skipValue goes over a value and gives the text of a string.
func skipValue(dec *json.Decoder) (string, error) {
	depth := 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return "", err
		}
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '{' || tok == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 0 {
				return tok, nil
			}
		}
		if depth == 0 {
			return "", nil
		}
	}
}

// formatOf tells the format by members that no other format has. whole says that
// there are no more.
func formatOf(m members, list, whole bool) Format {
	switch {
	case m.has("mapping"):
		return ChatGPT
	case m.has("chat_messages"):
		return ClaudeAI
	case m.has("chat", "id"), whole && m.has("chat"), !list && m.has("history", "models"):
		return OpenWebUI
	case list:
		return ""
	case m.has("messagesTree"), m.has("conversationId", "messages"):
		return LibreChat
	case m.has("sessionId", "projectHash"), m.has("sessionId", "startTime"):
		return GeminiCLI
	case m.has("session", "items"):
		return Codex
	case m.has("info", "messages"), m.has("projectID", "directory"):
		return OpenCode
	}
	return lineFormatOf(m, whole)
}

// lineFormatOf tells the format by a line of a JSON Lines file.
func lineFormatOf(m members, whole bool) Format {
	switch m["type"] {
	case "session":
		if m.has("id") && (whole || m.has("cwd")) {
			return Pi
		}
	case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
		if m.has("payload") {
			return Codex
		}
	case "summary":
		if m.has("leafUuid") {
			return ClaudeCode
		}
	case "file-history-snapshot":
		return ClaudeCode
	}
	switch {
	case m.has("sessionId", "uuid"), m.has("parentUuid"), m.has("isSidechain"):
		return ClaudeCode
	case m.has("record_type"), whole && !m.has("type") && m.has("id", "timestamp", "instructions"):
		return Codex
	}
	return ""
}
