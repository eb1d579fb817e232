package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/burin-dev/burin/internal/jsontext"
)

// Open reads the tree of a session. It changes nothing in the store; the first append makes
// necessary repairs. The leaf is the last entry.
//
// Options.Unseal opens an encrypted store. The log then has no blobs of its own: everything it
// writes is encrypted.
func Open(store Store, o Options) (*Log, *Damage, error) {
	encrypted, err := Encrypted(store)
	if err != nil {
		return nil, nil, err
	}
	if encrypted {
		if o.Unseal == nil {
			return nil, nil, ErrSealedSession
		}
		if store, err = o.Unseal(store); err != nil {
			return nil, nil, err
		}
		o.Inline = true
	}
	l := newLog(store, o)
	damage, err := l.index()
	if err != nil {
		return nil, nil, err
	}
	return l, damage, nil
}

// Encrypted reports whether transcript/sealed has written a store: one of its first records
// says so. The very first one may be torn.
func Encrypted(store Store) (found bool, err error) {
	n := 0
	enough := errors.New("enough")
	err = store.Records(func(_ Ref, record []byte) error {
		// A record that an opened store can't decrypt ends with the mark.
		if found = isSealed(record) && len(record) > len(sealedMark); found {
			return enough
		}
		if n++; n == 4 {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return found, err
}

// ErrNotSession means that a store doesn't contain a session.
var ErrNotSession = errors.New("not a session")

// tearable is a store that may end with a partial record.
type tearable interface {
	// Torn reports whether the last record from Records was incomplete.
	Torn() bool
}

// Damage is what is wrong with the records of a session.
type Damage struct {
	NoHeader bool      // the header could not be read; a new one was made
	Header   bool      // part of the header could not be read, and is empty
	Bad      []BadLine // records, or parts of them, that can't be read
	Torn     bool      // a record was not written completely, as after a crash: the last one, or one that others follow
	Orphans  int       // entries whose parent is gone; they follow the entry before them
	Migrated bool      // entries had no ids, as in version 1; the next append rewrites them
	Newer    int       // the version, if it is newer than this package knows
}

// BadLine is a record that can't be read as an entry. Opening a session doesn't look for
// damage within a message: [Context.Unread] counts that.
type BadLine struct {
	Line     int // starting at 1
	Ref      Ref
	Salvaged int  // complete entries that were found in it
	TooLong  bool // it is larger than MaxRecord, and was not read
}

// Serious reports whether something was lost that was once acknowledged. A torn last record
// never was.
func (d *Damage) Serious() bool { return d.NoHeader || d.Header || d.Orphans > 0 || len(d.Bad) > 0 }

// String returns one line for users.
func (d *Damage) String() string {
	switch {
	case (d.NoHeader || d.Header) && len(d.Bad) == 0:
		return "its header is damaged"
	case (d.NoHeader || d.Header) && len(d.Bad) == 1:
		return fmt.Sprintf("its header and line %d are damaged", d.Bad[0].Line)
	case d.NoHeader || d.Header:
		return fmt.Sprintf("its header and %d lines are damaged", len(d.Bad))
	case len(d.Bad) == 1 && d.Bad[0].TooLong:
		return fmt.Sprintf("line %d is larger than %d MB and was left out", d.Bad[0].Line, MaxRecord>>20)
	case len(d.Bad) == 1:
		return fmt.Sprintf("line %d is damaged", d.Bad[0].Line)
	case len(d.Bad) > 1:
		return fmt.Sprintf("%d lines are damaged, the first is line %d", len(d.Bad), d.Bad[0].Line)
	case d.Orphans == 1:
		return "1 entry names a parent that is not there"
	case d.Orphans > 0:
		return fmt.Sprintf("%d entries name a parent that is not there", d.Orphans)
	case d.Torn:
		return "a line was not written whole"
	}
	return "nothing is damaged"
}

// index builds the tree from the store.
func (l *Log) index() (*Damage, error) {
	ix := indexer{log: l, last: -1}
	err := l.store.Records(func(ref Ref, record []byte) error {
		ix.line++
		ix.add(ref, record)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ix.finish()
}

// indexer reads the records of a session once.
type indexer struct {
	log    *Log
	d      Damage
	line   int
	headed bool
	last   int32 // the previous entry
	title  string
	tail   bool // the last record was bad
	cut    bool // it was the start of one
	// records are the numbers of the nodes' records, starting at 0.
	records []int32
}

func (ix *indexer) add(ref Ref, record []byte) {
	e, rest, ok := readEnvelope(record)
	if w := (jsontext.Reader{Text: rest}); !ok || w.Peek() != 0 || len(e.typ) == 0 {
		ix.bad(ref, record)
		return
	}
	ix.tail = false
	if ix.cut { // the write was interrupted, and the next one started a new line: it was never acknowledged
		ix.cut, ix.d.Torn = false, true
		ix.d.Bad = ix.d.Bad[:len(ix.d.Bad)-1]
	}
	switch string(e.typ) {
	case "title":
		var t struct{ Title string }
		if !ix.headed && json.Unmarshal(record, &t) == nil {
			ix.title = t.Title
			return
		}
	case "session":
		if !ix.header(record) {
			ix.bad(ref, record)
		}
		return
	}
	ix.entry(ref, record, e)
}

// header takes the header, without values of the wrong type. It ignores a second one.
func (ix *indexer) header(record []byte) bool {
	var h Header
	err := json.Unmarshal(record, &h)
	_, wrong := errors.AsType[*json.UnmarshalTypeError](err)
	if err != nil && !wrong {
		return false
	}
	if ix.headed {
		return true
	}
	ix.headed, ix.d.Header = true, wrong || h.ID == ""
	if h.Version > Version {
		ix.d.Newer = h.Version
	}
	if h.Title == "" {
		h.Title = ix.title
	}
	ix.log.heading = heading{h, slices.Clone(record), ix.d.Header}
	if ix.log.title == "" {
		ix.log.title = h.Title
	}
	return true
}

// entry puts an entry into the tree, after its parent if that was read before. An entry
// without a known parent follows the previous one.
func (ix *indexer) entry(ref Ref, record []byte, e envelope) {
	l := ix.log
	n := node{id: string(e.id), parent: -1, typ: l.tree.typeOf(string(e.typ)), ref: ref}
	switch {
	case len(e.id) == 0:
		n.id, n.parent = fmt.Sprintf("%08x", len(l.tree.nodes)), ix.last
		ix.d.Migrated = true
	case e.parent != nil:
		parent, ok := l.tree.byID[string(e.parent)]
		if !ok {
			parent = ix.last
			ix.d.Orphans++
		}
		n.parent = parent
	case !e.hasParent:
		n.parent = ix.last
	}
	switch string(e.typ) {
	case TypeMessage:
		n.kind = kindOfRole(string(e.role))
		n.name = l.tree.words.number(string(e.toolName))
		l.typed = true
		l.answered = l.answered || n.kind == kindAssistant
	case TypeCustomMessage:
		l.typed = true
		n.name = l.tree.words.number(string(e.customType))
	case TypeCustom:
		n.name = l.tree.words.number(string(e.customType))
		switch string(e.customType) {
		case CustomPrune:
			n.kind = kindPrune
		case CustomQueue:
			l.typed = true
		}
	case TypeLabel, TypeInfo:
		var full Entry
		if json.Unmarshal(record, &full) == nil {
			l.note(&full)
		}
	}
	if stands(e, n.kind) && !json.Valid(record) {
		// It keeps its place in the tree, but its content is unknown.
		ix.d.Bad = append(ix.d.Bad, BadLine{Line: ix.line, Ref: ref})
	}
	ix.last = int32(len(l.tree.nodes))
	l.tree.nodes = append(l.tree.nodes, n)
	ix.records = append(ix.records, int32(ix.line-1))
	l.tree.byID[n.id] = ix.last
}

// stands reports whether an entry is about other entries, so that more than itself is lost
// with it. There are few of them; checking every message would cost as much as reading them
// all.
func stands(e envelope, k kind) bool {
	switch string(e.typ) {
	case TypeCompaction, TypeBranchSummary, TypeModel, TypeThinking, TypeServiceTier, TypeMode, TypeTTSR, TypeMCPTools, TypeLabel, TypeInfo:
		return true
	}
	return k == kindPrune
}

// bad saves what it can of a record that is not one entry.
func (ix *indexer) bad(ref Ref, record []byte) {
	b := BadLine{Line: ix.line, Ref: ref, TooLong: TooLong(record)}
	ix.tail = true
	if b.TooLong {
		ix.cut = false
		ix.d.Bad = append(ix.d.Bad, b)
		return
	}
	for _, part := range salvage(record) {
		e, _, _ := readEnvelope(part)
		if string(e.typ) == "session" {
			ix.header(part)
			continue
		}
		b.Salvaged++
		ix.entry(Ref{}, part, e)
		ix.log.saved[ix.last] = slices.Clone(part)
	}
	ix.d.Bad = append(ix.d.Bad, b)
	ix.cut = b.Salvaged == 0 && CutOff(record)
}

// maxExact is the largest size of a text that is read as JSON to the end even if it is not a
// record.
const maxExact = 1 << 20

// CutOff reports whether a text is the start of a record, as an interrupted write leaves it. A
// record that an encrypted store can't decrypt is not.
func CutOff(text []byte) bool {
	if len(text) > maxExact { // counting the brackets takes only one pass
		w := jsontext.Reader{Text: text}
		return text[0] == '{' && !w.Skip() && w.At >= len(text)
	}
	var any json.RawMessage
	return !isSealed(text) && bytes.HasPrefix(text, []byte("{")) &&
		errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&any), io.ErrUnexpectedEOF)
}

func (ix *indexer) finish() (*Damage, error) {
	l := ix.log
	switch {
	case ix.line == 0:
		return nil, fmt.Errorf("%w: it is empty", ErrNotSession)
	case len(l.tree.nodes) == 0 && (!ix.headed || l.heading.Header.ID == ""):
		return nil, fmt.Errorf("%w: it has neither a header nor an entry", ErrNotSession)
	case !ix.headed:
		ix.d.NoHeader = true
		l.heading.Header = l.o.Header
	}
	if ix.d.NoHeader || ix.d.Header {
		l.heading.Header.ID = cmp.Or(l.heading.Header.ID, l.o.Header.ID, randomHex(8))
		l.heading.Header.Timestamp = cmp.Or(l.heading.Header.Timestamp, stamp(l.o.Now()))
	}
	// A line with a newline was once acknowledged: that is damage, not an interrupted write.
	t, ok := l.store.(tearable)
	if n := len(ix.d.Bad); ix.tail && ok && t.Torn() && n > 0 && ix.d.Bad[n-1].Salvaged == 0 {
		ix.d.Torn = true
		ix.d.Bad = ix.d.Bad[:n-1]
	}
	l.mend = ix.d.NoHeader || ix.d.Header || ix.d.Migrated
	if ix.d.Migrated {
		l.records = ix.records
		if !ix.headed && len(l.records) > 0 && l.records[0] == 0 {
			for i := range l.records { // the header is not damaged, but missing
				l.records[i]++
			}
		}
	}
	l.leaf = ix.last
	return &ix.d, nil
}
