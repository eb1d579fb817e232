// Package chatfile reads and writes chats as files: the exports of other chat programs, and burin's own form.
//
// What kind of file it is follows from its content. A chat is a tree of messages; its current branch ends at
// [Chat.Current]. What has no counterpart here, such as calls of tools, hidden prompts and thoughts, is left out and
// counted. What a file says is data: nothing in it is run, fetched or opened, and texts stay as they are.
package chatfile

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a file.
const (
	MaxChats    = 10_000   // chats of a file
	MaxChat     = 32 << 20 // bytes of a chat in JSON
	MaxMessages = 20_000   // of a chat
	maxUnpacked = 2 << 30  // bytes that are read of an archive
	maxEntries  = 50_000   // files of an archive
)

// ErrFile begins what is wrong with a file as a whole.
var ErrFile = errors.New("the file can't be imported")

// Kinds of files.
const (
	Burin     = "burin"
	ChatGPT   = "chatgpt"
	Claude    = "claude"
	OpenWebUI = "openwebui"
	LibreChat = "librechat"
)

// Chat is a chat as a file has it.
type Chat struct {
	Format   string    `json:"format"`  // "burin.chat"
	Version  int       `json:"version"` // 1
	ID       string    `json:"id,omitempty"`
	Title    string    `json:"title,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Modified time.Time `json:"modified,omitzero"`
	Pinned   bool      `json:"pinned,omitempty"`
	Archived bool      `json:"archived,omitempty"`
	Tags     []string  `json:"tags,omitempty"`
	Folder   string    `json:"folder,omitempty"`
	// Current is the id of the last message of the branch that is shown.
	Current string `json:"current,omitempty"`
	// Messages are in the order in which they were written. A parent comes before its answers.
	Messages []Message `json:"messages"`
	// Omitted is how many parts were left out, as they have no counterpart.
	Omitted int `json:"omitted,omitempty"`

	// Kind is that of the file.
	Kind string `json:"-"`
}

// Message is what a person or a model said.
type Message struct {
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"` // the message that it answers; "" begins the chat
	Role   string    `json:"role"`             // "user" or "assistant"
	Text   string    `json:"text"`
	Model  string    `json:"model,omitempty"` // of an assistant, as PROVIDER/ID or in words
	Time   time.Time `json:"time,omitzero"`
	Files  []string  `json:"files,omitempty"` // names of attached files that the file doesn't hold
}

// Format and version of burin's own form.
const (
	format  = "burin.chat"
	version = 1
)

// Write writes a chat in burin's own form.
func Write(w io.Writer, c Chat) error {
	c.Format, c.Version = format, version
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(c)
}

// File is a file that was looked through.
type File struct {
	Chats int // how many there are, readable or not
	parts []func() (io.ReadCloser, error)
}

// Open looks through a file, JSON or a ZIP archive with it. The error says why nothing of it can be read.
func Open(data []byte) (*File, error) {
	f := &File{}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		if err := f.unpack(data); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFile, err)
		}
	} else {
		f.parts = append(f.parts, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	}
	known := false
	err := f.each(func(n int, value []byte, long bool) error {
		f.Chats = n
		if n > MaxChats {
			return fmt.Errorf("it has more than %d chats: import it in parts", MaxChats)
		}
		known = known || long || kindOf(value) != ""
		return nil
	})
	switch {
	case err == nil && f.Chats == 0:
		err = errors.New("there are no chats in it")
	case err == nil && !known:
		err = errors.New("it isn't an export of ChatGPT, Claude, Open WebUI, LibreChat or burin")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

// unpack finds the files with chats in an archive: conversations.json if there is one, else all of JSON.
func (f *File) unpack(data []byte) error {
	if n := bytes.Count(data, []byte("PK\x01\x02")); n > maxEntries {
		return fmt.Errorf("the archive has about %d files, and may have %d", n, maxEntries)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	var named, all []*zip.File
	for _, e := range z.File {
		base := path.Base(e.Name)
		if e.FileInfo().IsDir() || !strings.HasSuffix(base, ".json") {
			continue
		}
		all = append(all, e)
		if strings.HasPrefix(base, "conversations") {
			named = append(named, e)
		}
	}
	if named != nil {
		all = named
	}
	if all == nil {
		return errors.New("the archive has no JSON in it")
	}
	slices.SortFunc(all, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range all {
		f.parts = append(f.parts, e.Open)
	}
	return nil
}

// each gives the JSON of each chat with its number, from 1; a longer one than may be comes without its end.
func (f *File) each(yield func(n int, value []byte, long bool) error) error {
	n, left := 0, int64(maxUnpacked)
	for _, open := range f.parts {
		r, err := open()
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		within := &io.LimitedReader{R: r, N: left}
		err = values(within, MaxChat, func(value []byte, long bool) error {
			n++
			return yield(n, value, long)
		})
		left = within.N
		_ = r.Close() // it was only read
		switch {
		case left == 0:
			return fmt.Errorf("it has more than %d GB of text", maxUnpacked>>30)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("the JSON ends too early: the file isn't whole")
		case err != nil:
			return err
		}
	}
	return nil
}

// All gives the chats one after the other. The error of one says what is wrong with it; its title is there if it could be
// read. What yield returns ends the walk, if it isn't nil.
func (f *File) All(yield func(n int, c Chat, err error) error) error {
	return f.each(func(n int, value []byte, long bool) error {
		if long {
			return yield(n, Chat{}, fmt.Errorf("it has more than %d MB", MaxChat>>20))
		}
		c, err := read(value)
		return yield(n, c, err)
	})
}

// read reads a chat.
func read(value []byte) (c Chat, err error) {
	if !utf8.Valid(value) {
		value = bytes.ToValidUTF8(value, []byte("\uFFFD"))
	}
	kind := kindOf(value)
	switch kind {
	case Burin:
		c, err = readBurin(value)
	case ChatGPT:
		c, err = readChatGPT(value)
	case Claude:
		c, err = readClaude(value)
	case OpenWebUI:
		c, err = readOpenWebUI(value)
	case LibreChat:
		c, err = readLibreChat(value)
	default:
		err = errors.New("it isn't a chat of a known program")
	}
	c.Kind = kind
	if err == nil {
		err = c.order()
	}
	if err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s: a %s isn't possible there", wrong.Field, wrong.Value)
		}
		if c.Title == "" {
			c.Title = titleOf(value)
		}
	}
	return c, err
}

// titleOf is the title of a chat, even if the rest of it can't be read.
func titleOf(value []byte) string {
	var about struct {
		Title any `json:"title"`
		Name  any `json:"name"`
	}
	if json.Unmarshal(value, &about) != nil {
		return ""
	}
	title, ok := about.Title.(string)
	if !ok {
		title, _ = about.Name.(string)
	}
	return title
}

// kindOf tells what an object is by what it has; "" is nothing that is known.
func kindOf(value []byte) string {
	var is struct {
		Format         json.RawMessage `json:"format"`
		Mapping        json.RawMessage `json:"mapping"`
		ChatMessages   json.RawMessage `json:"chat_messages"`
		ConversationID json.RawMessage `json:"conversationId"`
		Messages       json.RawMessage `json:"messages"`
		Chat           json.RawMessage `json:"chat"`
		History        json.RawMessage `json:"history"`
	}
	if len(value) == 0 || value[0] != '{' || json.Unmarshal(value, &is) != nil {
		return ""
	}
	switch {
	case string(is.Format) == `"`+format+`"`:
		return Burin
	case is.Mapping != nil:
		return ChatGPT
	case is.ChatMessages != nil:
		return Claude
	case is.Chat != nil || is.History != nil:
		return OpenWebUI
	case is.Messages != nil && (is.ConversationID != nil || bytes.Contains(is.Messages, []byte(`"parentMessageId"`))):
		return LibreChat
	}
	return ""
}

// order puts the messages in the order in which they were written, parents first, and checks what follows what.
func (c *Chat) order() error {
	if len(c.Messages) > MaxMessages {
		return fmt.Errorf("it has %d messages, and may have %d", len(c.Messages), MaxMessages)
	}
	if len(c.Messages) == 0 {
		return errors.New("nothing was said in it")
	}
	at := make(map[string]int, len(c.Messages))
	for i, m := range c.Messages {
		if _, twice := at[m.ID]; twice || m.ID == "" {
			return fmt.Errorf("message %d has no id of its own", i+1)
		}
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("message %d: role %.20q: user or assistant", i+1, m.Role)
		}
		at[m.ID] = i
	}
	children := map[string][]int{}
	for i := range c.Messages {
		m := &c.Messages[i]
		if _, there := at[m.Parent]; !there {
			m.Parent = ""
		}
		children[m.Parent] = append(children[m.Parent], i)
	}
	// A time that is missing, or before that of the parent, is the parent's.
	sorted := make([]Message, 0, len(c.Messages))
	for next := slices.Clone(children[""]); len(next) > 0; {
		i := next[0]
		next = next[1:]
		m := c.Messages[i]
		if p, ok := at[m.Parent]; ok && m.Time.Before(c.Messages[p].Time) {
			m.Time = c.Messages[p].Time
			c.Messages[i].Time = m.Time
		} else if !ok && m.Time.IsZero() {
			m.Time = c.Created
			c.Messages[i].Time = m.Time
		}
		sorted = append(sorted, m)
		next = append(next, children[m.ID]...)
	}
	if len(sorted) < len(c.Messages) {
		return errors.New("its messages answer each other in a circle")
	}
	slices.SortStableFunc(sorted, func(a, b Message) int { return a.Time.Compare(b.Time) })
	c.Messages = sorted
	if _, there := at[c.Current]; !there {
		c.Current = sorted[len(sorted)-1].ID
	}
	if c.Created.IsZero() {
		c.Created = sorted[0].Time
	}
	if last := sorted[len(sorted)-1].Time; c.Modified.Before(last) {
		c.Modified = last
	}
	return nil
}
