// Package remote carries a session to another process: [Serve] serves it on a connection in the
// process that owns it, and [Connect] returns a [session.Handle] on the other side.
//
// # The protocol
//
// Both sides send lines of JSON of at most [MaxLine] bytes; a longer line or invalid JSON ends
// the connection. The client's first line is a hello with the versions it speaks and the rights
// it wants. The owner answers with a welcome, which has the version and the granted rights, or
// with a failure. After that:
//
//	client  {"id":1,"do":"submit","with":{…}}   a request; ids count up
//	        {"id":1,"stop":true}                cancels the request
//	owner   {"id":1,"is":{…}}                   the response
//	        {"id":1,"failure":{…}}              the request failed, see session.Failure
//	        {"id":1,"chunk":"…"}                a piece of output, before the response
//	        {"id":1,"event":{…}}                an event of the request "follow", see docs/events.md
//	        {"facts":{…}}                       the session's facts, sent before an event or response that may depend on them
//
// Responses come as requests finish, not in order. A client that does not read delays only
// itself: its events stay in the session's feed, which drops pieces of answers and says so, and
// after [writeTime] the owner cuts the connection.
//
// No file and no key of the session crosses the connection. Entries are sent on request,
// decrypted as the owner shows them to its own face.
package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Version is the newest version of the protocol.
const Version = 1

// Limits.
const (
	MaxLine     = 64 << 20         // bytes of a line
	maxRequests = 64               // of a connection at a time; more stay unread
	pageNodes   = 2000             // nodes in a response
	pageEntries = 100              // entries in a response
	writeTime   = 30 * time.Second // for writing a line
	helloTime   = 5 * time.Second  // for the hello to arrive
)

// Rights are what a connection may do. Each includes those before it.
type Rights string

const (
	Watch  Rights = "watch"  // see everything
	Steer  Rights = "steer"  // submit, stop, ask aside, take back queued messages
	Answer Rights = "answer" // answer questions, and so allow calls
	Own    Rights = "own"    // everything the owner's face may do: rules, modes, models, commands, undo
)

var ranks = map[Rights]int{Watch: 1, Steer: 2, Answer: 3, Own: 4}

// Known reports whether these are rights that there are.
func (r Rights) Known() bool { return ranks[r] > 0 }

// Include reports whether others are among these rights.
func (r Rights) Include(others Rights) bool { return others.Known() && ranks[r] >= ranks[others] }

// hello is the first line of a client.
type hello struct {
	Versions []int  `json:"versions"`
	Name     string `json:"name"` // of the face: "terminal"
	Rights   Rights `json:"rights"`
	Agent    string `json:"agent,omitempty"` // id of a sub-agent, whose session is meant
}

// welcome answers a hello.
type welcome struct {
	Version     int               `json:"version"`
	Rights      Rights            `json:"rights"`
	Header      transcript.Header `json:"header"`
	Facts       session.Facts     `json:"facts"`
	Cursor      session.Cursor    `json:"cursor"`
	Permissions bool              `json:"permissions"`     // the session has rules
	Changes     bool              `json:"changes"`         // the session has an undo journal
	Agent       string            `json:"agent,omitempty"` // as in the hello
	Owner       Owner             `json:"owner,omitzero"`
}

// Owner describes the process that owns a session.
type Owner struct {
	PID        int       `json:"pid"`
	Since      time.Time `json:"since"`                // when it opened the session
	First      string    `json:"first,omitempty"`      // what the session begins with, as a title for one that nobody has named
	Background bool      `json:"background,omitempty"` // it has no face of its own, and clients can end it
	Faces      int       `json:"faces,omitempty"`      // how many clients are attached, those that only look for a moment not counted
}

// line is a line of either side.
type line struct {
	Hello   *hello           `json:"hello,omitempty"`
	Welcome *welcome         `json:"welcome,omitempty"`
	ID      uint64           `json:"id,omitempty"`
	Do      string           `json:"do,omitempty"`
	With    json.RawMessage  `json:"with,omitempty"`
	Stop    bool             `json:"stop,omitempty"`
	Is      json.RawMessage  `json:"is,omitempty"`
	Failure *session.Failure `json:"failure,omitempty"`
	Chunk   *string          `json:"chunk,omitempty"`
	Event   json.RawMessage  `json:"event,omitempty"`
	Facts   *session.Facts   `json:"facts,omitempty"`
}

// link is a connection. Any goroutine may send.
type link struct {
	conn net.Conn
	in   *jsontext.Lines

	mu    sync.Mutex
	out   *bufio.Writer
	enc   *json.Encoder
	facts session.Facts // those that the other side has
	told  bool          // facts are set
	head  []byte        // a buffer of writeEvent
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn, in: jsontext.NewLines(conn, MaxLine, 0), out: bufio.NewWriterSize(conn, 64<<10)}
	l.enc = json.NewEncoder(l.out)
	l.enc.SetEscapeHTML(false)
	return l
}

// errTooLong reports a line of more than MaxLine bytes.
var errTooLong = fmt.Errorf("a line of more than %d MB", MaxLine>>20)

// receive reads the next line.
func (l *link) receive() (*line, error) {
	raw, err := l.in.Next()
	if errors.Is(err, jsontext.ErrTooLong) {
		return nil, errTooLong
	}
	if err != nil {
		return nil, err
	}
	in := new(line)
	if err := json.Unmarshal(raw, in); err != nil {
		return nil, fmt.Errorf("read a line of the connection: %w", err)
	}
	return in, nil
}

// send writes a line. An error ends the connection, because part of the line may be written.
func (l *link) send(out *line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(out); err != nil {
		return err
	}
	return l.flush()
}

// write adds a line to the buffer. The caller holds mu and flushes.
func (l *link) write(out *line) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	err := l.enc.Encode(out)
	if err != nil {
		l.conn.Close() //nolint:errcheck // the connection is broken
	}
	return err
}

// writeEvent adds a line with an event to the buffer. Most lines are events, so it does not
// allocate.
func (l *link) writeEvent(id uint64, raw []byte) error {
	head := append(l.head[:0], `{"id":`...)
	head = strconv.AppendUint(head, id, 10)
	l.head = append(head, `,"event":`...)
	return l.put(l.head, raw, endOfLine)
}

var endOfLine = []byte("}\n")

// put adds encoded text to the buffer. The caller holds mu and flushes.
func (l *link) put(parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	var err error
	if n > l.out.Available() || l.out.Buffered() == 0 { // buffered text has a deadline already
		err = l.conn.SetWriteDeadline(time.Now().Add(writeTime))
	}
	for _, p := range parts {
		if err == nil {
			_, err = l.out.Write(p)
		}
	}
	if err != nil {
		l.conn.Close() //nolint:errcheck // the connection is broken
	}
	return err
}

func (l *link) flush() error {
	err := l.out.Flush()
	if err != nil {
		l.conn.Close() //nolint:errcheck // the connection is broken
	}
	return err
}

// tellFacts adds the facts to the buffer if the other side has others. The caller holds mu and
// flushes.
func (l *link) tellFacts(now session.Facts, cache *Cache) error {
	if l.told && l.facts.Same(&now) {
		return nil
	}
	raw, err := cache.tell(&now)
	if err != nil {
		return err
	}
	l.facts, l.told = now, true
	return l.put(raw)
}

// ended returns why a connection ended; nil: either side closed it.
func ended(err error) error {
	var op *net.OpError
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.As(err, &op) {
		return nil
	}
	return err
}

// Parameters and results that are not types of package session.
type (
	idJSON struct {
		ID string `json:"id"`
	}
	keysJSON struct {
		ID   string `json:"id"`
		Keys []byte `json:"keys"`
	}
	sizeJSON struct {
		ID   string `json:"id"`
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
	}
	textJSON struct {
		Text string `json:"text"`
	}
	runJSON struct {
		Command string `json:"command"`
		Private bool   `json:"private,omitempty"`
	}
	moveJSON struct {
		ID   string             `json:"id"`
		How  session.Navigation `json:"how"`
		Name string             `json:"name,omitempty"`
	}
	answerJSON struct {
		ID    string        `json:"id"`
		Reply session.Reply `json:"reply"`
	}
	grantJSON struct {
		Rules []string `json:"rules"`
		Scope string   `json:"scope,omitempty"`
	}
	pageJSON struct {
		From int `json:"from"`
	}
	nodesJSON struct {
		Nodes []transcript.Node `json:"nodes"`
		Total int               `json:"total"`
	}
	idsJSON struct {
		IDs []string `json:"ids"`
	}
	entriesJSON struct {
		Entries []entryJSON `json:"entries"`
	}
	entryJSON struct {
		Entry     *transcript.Entry     `json:"entry"`
		Execution *transcript.Execution `json:"execution,omitempty"`
		Lost      []transcript.Lost     `json:"lost,omitempty"`
	}
)
