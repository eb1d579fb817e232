// Package remote carries a session to another process: [Serve] answers on a connection for
// the process that owns the session, [Connect] gives the other side a [session.Handle].
//
// # The protocol
//
// Both sides send lines of JSON, of at most [MaxLine] bytes; a longer one, or one that is
// no JSON, ends the connection. The first line of the client is a hello with the versions
// it speaks and the rights it wants; the answer is a welcome with the version and the
// rights it got, or a failure. After that:
//
//	client  {"id":1,"do":"submit","with":{…}}   a request; ids count up
//	        {"id":1,"stop":true}                the request is not wanted any more
//	owner   {"id":1,"is":{…}}                   its answer
//	        {"id":1,"failure":{…}}              it failed, see session.Failure
//	        {"id":1,"chunk":"…"}                a piece of an answer that comes in pieces
//	        {"id":1,"event":{…}}                of the request "follow": an event, see docs/events.md
//	        {"facts":{…}}                       the figures of the session, before what comes next says that they changed
//
// Requests are answered as they are done, not in order. A client that does not read holds
// up nobody but itself: its events stay with the session, which drops pieces of answers and
// says so, and after [writeTime] it is cut off.
//
// No file and no key of the session crosses the connection; entries come when they are
// asked for, in the clear that the owner shows to its own face.
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
	maxRequests = 64               // of a connection at a time; more wait to be read
	pageNodes   = 2000             // nodes of an answer
	writeTime   = 30 * time.Second // that a line may take to be written
	helloTime   = 5 * time.Second  // that a hello may take
)

// Rights are what a connection may do. Each includes those before it.
type Rights string

const (
	Watch  Rights = "watch"  // see everything
	Steer  Rights = "steer"  // submit, stop, ask beside, take back what waits
	Answer Rights = "answer" // answer questions, which is to allow calls
	Own    Rights = "own"    // all that the owner's own face may: rules, modes, models, commands, undo
)

var ranks = map[Rights]int{Watch: 1, Steer: 2, Answer: 3, Own: 4}

// hello is the first line of a client.
type hello struct {
	Versions []int  `json:"versions"`
	Name     string `json:"name"` // of the face: "terminal"
	Rights   Rights `json:"rights"`
}

// welcome answers it.
type welcome struct {
	Version     int               `json:"version"`
	Rights      Rights            `json:"rights"`
	Header      transcript.Header `json:"header"`
	Facts       session.Facts     `json:"facts"`
	Cursor      session.Cursor    `json:"cursor"`
	Permissions bool              `json:"permissions"` // there are rules
	Changes     bool              `json:"changes"`     // something can be undone
}

// line is what either side sends.
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

// link is a connection of lines. Any goroutine may send.
type link struct {
	conn net.Conn
	in   *jsontext.Lines

	mu    sync.Mutex
	out   *bufio.Writer
	enc   *json.Encoder
	facts session.Facts // as the other side knows them
	told  bool          // it knows any
	head  []byte        // of writeEvent
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn, in: jsontext.NewLines(conn, MaxLine, 0), out: bufio.NewWriterSize(conn, 64<<10)}
	l.enc = json.NewEncoder(l.out)
	l.enc.SetEscapeHTML(false)
	return l
}

// errTooLong is a line of more than MaxLine bytes.
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

// send writes a line. An error ends the connection: a part of it may have been written.
func (l *link) send(out *line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(out); err != nil {
		return err
	}
	return l.flush()
}

// write puts a line into the buffer. The caller holds mu, and flushes.
func (l *link) write(out *line) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	err := l.enc.Encode(out)
	if err != nil {
		l.conn.Close() //nolint:errcheck // it is of no use any more
	}
	return err
}

// writeEvent is write of a line with an event, which is most of what is sent.
func (l *link) writeEvent(id uint64, raw []byte) error {
	head := append(l.head[:0], `{"id":`...)
	head = strconv.AppendUint(head, id, 10)
	l.head = append(head, `,"event":`...)
	return l.put(l.head, raw, endOfLine)
}

var endOfLine = []byte("}\n")

// put puts what is written already into the buffer. The caller holds mu, and flushes.
func (l *link) put(parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	var err error
	if n > l.out.Available() || l.out.Buffered() == 0 { // what is in the buffer has a time limit already
		err = l.conn.SetWriteDeadline(time.Now().Add(writeTime))
	}
	for _, p := range parts {
		if err == nil {
			_, err = l.out.Write(p)
		}
	}
	if err != nil {
		l.conn.Close() //nolint:errcheck // it is of no use any more
	}
	return err
}

func (l *link) flush() error {
	err := l.out.Flush()
	if err != nil {
		l.conn.Close() //nolint:errcheck // it is of no use any more
	}
	return err
}

// tellFacts sends the figures if the other side has others. The caller holds mu, and
// flushes.
func (l *link) tellFacts(now session.Facts, cache *Cache) error {
	if l.told && same(&l.facts, &now) {
		return nil
	}
	raw, err := cache.tell(&now)
	if err != nil {
		return err
	}
	l.facts, l.told = now, true
	return l.put(raw)
}

// same reports whether two figures are one. Models are changed as a whole.
func same(a, b *session.Facts) bool {
	x, y := *a, *b
	cost := func(f *session.Facts) any {
		if f.Stats.Usage.Cost == nil {
			return nil
		}
		return *f.Stats.Usage.Cost
	}
	if cost(&x) != cost(&y) {
		return false
	}
	x.Stats.Usage.Cost, y.Stats.Usage.Cost = nil, nil
	return x == y
}

// ended says how a connection came to its end: nil where either side has closed it.
func ended(err error) error {
	var op *net.OpError
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.As(err, &op) {
		return nil
	}
	return err
}

// What requests have and answers are, where it is no type of package session.
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
	entryJSON struct {
		Entry     *transcript.Entry     `json:"entry"`
		Execution *transcript.Execution `json:"execution,omitempty"`
		Lost      []transcript.Lost     `json:"lost,omitempty"`
	}
)
