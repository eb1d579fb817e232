package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Log is a session's tree of entries. It is safe for concurrent use.
type Log struct {
	o     Options
	store Store

	mu      sync.Mutex
	heading heading
	tree    tree
	leaf    int32 // -1 before the first entry
	moved   bool  // the leaf is not where a reader of the records would expect it
	title   string
	waiting []waiting // records that are not in the store yet, oldest first
	// saved are entries that were found within damaged records, by node. The next opening
	// finds them again, so they are not written a second time.
	saved map[int32][]byte
	// records are the numbers of the entries' records, with 0 for the header; only for version
	// 1, which refers to entries by them.
	records []int32
	// stubs are pruned results without their content: a long conversation reads them again and
	// again for nothing.
	stubs    map[int32]*Entry
	decoder  decoder
	mend     bool // the records must be rewritten before anything is added
	typed    bool // there is something that the user would miss
	answered bool // a model has answered
	closed   bool
}

// waiting is a record that is not in the store yet.
type waiting struct {
	node   int32 // -1 for the header
	record []byte
}

// Options configure a log.
type Options struct {
	// Blobs stores large images and texts; nil keeps them in the records.
	Blobs *Blobs
	Now   func() time.Time // nil means time.Now
	// Pictures returns what a compaction's summary has in addition to text, such as images of
	// the history; nil if nothing.
	Pictures func(*Entry) []llm.Block
	// Header replaces one that is damaged beyond reading.
	Header Header
	// Unseal decrypts an encrypted store; nil refuses such a session with [ErrSealedSession].
	Unseal func(Store) (Store, error)
	// Inline keeps images and texts in the records and only reads from Blobs. It is for
	// sessions whose blobs nobody else may see or collect.
	Inline bool
}

func (o *Options) fill() {
	if o.Now == nil {
		o.Now = time.Now
	}
}

func newLog(store Store, o Options) *Log {
	o.fill()
	return &Log{o: o, store: store, tree: tree{byID: map[string]int32{}, labels: map[string]string{}}, leaf: -1, saved: map[int32][]byte{}, stubs: map[int32]*Entry{}}
}

// Create starts a session in an empty store. It fills in the type and the version of the
// header and, if they are missing, its id and time. It writes nothing before the first
// message.
func Create(store Store, h Header, o Options) (*Log, error) {
	l := newLog(store, o)
	h.Type, h.Version = "session", Version
	if h.ID == "" {
		h.ID = randomHex(8)
	}
	if h.Timestamp == "" {
		h.Timestamp = stamp(l.o.Now())
	}
	record, err := encode(h)
	if err != nil {
		return nil, fmt.Errorf("start session: %w", err)
	}
	l.heading.Header, l.title = h, h.Title
	l.waiting = append(l.waiting, waiting{-1, record})
	return l, nil
}

// Header returns the session's header.
func (l *Log) Header() Header {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heading.Header
}

// HeaderRecord returns the header as a record of this version, with everything else from its
// record.
func (l *Log) HeaderRecord() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heading.encode()
}

// ID returns the session's id.
func (l *Log) ID() string { return l.Header().ID }

// Title returns the title of the session; "" if it has none.
func (l *Log) Title() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.title
}

// Len returns the number of entries.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tree.nodes)
}

// Stored returns the entries that are in the store, in the order in which they were appended.
func (l *Log) Stored() []Node {
	l.mu.Lock()
	unstored := 0
	for _, w := range l.waiting {
		if w.node >= 0 {
			unstored++
		}
	}
	stored := len(l.tree.nodes) - unstored
	l.mu.Unlock()
	return l.Nodes()[:stored]
}

// Leaf returns the id of the entry that the next one follows; "" before the first.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree.id(l.leaf)
}

// Move makes the entry with that id the leaf; "" moves before the first entry. It writes
// nothing: the next appended entry records the position.
func (l *Log) Move(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(id)
	if err != nil {
		return err
	}
	if i != l.leaf {
		l.leaf, l.moved = i, true
	}
	return nil
}

// Append adds e after the leaf and makes it the leaf. It fills in id, parent and time. Even if
// there is an error, the id is valid and the entry counts: the store could not take it, and
// the next append tries again.
func (l *Log) Append(e Entry) (id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return "", errors.New("append to session: it is closed")
	}
	id = l.tree.freeID()
	e.ID, e.ParentID, e.Timestamp = id, nil, stamp(l.o.Now())
	if l.leaf >= 0 {
		parent := l.tree.nodes[l.leaf].id
		e.ParentID = &parent
	}
	stored := e
	var blobErr error
	if e.Message != nil {
		stored.Message = quote(e.Message)
		// A disk that can't store a blob may still take the entry.
		if !l.o.Inline {
			stored.Message, blobErr = outsource(l.o.Blobs, stored.Message)
		}
	}
	record, err := encode(stored.record())
	if err != nil {
		return "", fmt.Errorf("append to session: %w", err)
	}
	n := node{id: id, parent: l.leaf, typ: l.tree.typeOf(e.Type), kind: kindOf(&e)}
	if n.name = l.tree.words.number(e.CustomType); e.Message != nil {
		n.name = l.tree.words.number(e.Message.ToolName)
	}
	l.tree.nodes = append(l.tree.nodes, n)
	at := int32(len(l.tree.nodes) - 1)
	l.tree.byID[id], l.leaf, l.moved = at, at, false
	l.waiting = append(l.waiting, waiting{at, record})
	l.note(&e)
	l.typed = l.typed || e.Message != nil || e.Type == TypeCustomMessage || e.CustomType == CustomQueue
	l.answered = l.answered || n.kind == kindAssistant
	if !l.typed {
		return id, blobErr
	}
	return id, errors.Join(blobErr, l.flush())
}

// note records what an entry says about the whole session.
func (l *Log) note(e *Entry) {
	switch e.Type {
	case TypeLabel:
		if e.Label == "" {
			delete(l.tree.labels, e.TargetID)
		} else {
			l.tree.labels[e.TargetID] = e.Label
		}
	case TypeInfo:
		l.title = e.Name
	case TypeCompaction:
		clear(l.stubs) // what it left out is not read any more
	}
}

// publisher is a store that keeps a session as a draft until a model has answered.
type publisher interface{ Publish() error }

// keeper is a publisher whose draft is removed on Close unless Keep was called.
type keeper interface{ Keep() }

// flush writes waiting records in one append, and publishes the session if a model has
// answered, even if an earlier try to publish failed.
func (l *Log) flush() error {
	if err := l.write(); err != nil {
		return err
	}
	if p, ok := l.store.(publisher); ok && l.answered {
		return p.Publish()
	}
	return nil
}

func (l *Log) write() error {
	if len(l.waiting) == 0 {
		return nil
	}
	if l.mend {
		return l.rewrite()
	}
	records := make([][]byte, len(l.waiting))
	for i, w := range l.waiting {
		records[i] = w.record
	}
	refs, err := l.store.Append(records...)
	if err != nil {
		return err
	}
	for i, w := range l.waiting {
		if w.node >= 0 {
			l.tree.nodes[w.node].ref = refs[i]
		}
	}
	l.waiting = nil
	return nil
}

// rewrite writes the whole session again, if adding to it would not make it readable: without
// a header, or without ids. The store keeps the previous version.
func (l *Log) rewrite() error {
	head, err := l.heading.encode()
	if err != nil {
		return fmt.Errorf("repair session: %w", err)
	}
	l.heading.Header.Type, l.heading.Header.Version = "session", Version
	records := [][]byte{head}
	for i := range l.tree.nodes {
		record, err := l.placed(int32(i))
		if err != nil {
			return fmt.Errorf("repair session: %w", err)
		}
		records = append(records, record)
	}
	if err := l.store.Replace(slices.Values(records)); err != nil {
		return err
	}
	i := -1
	err = l.store.Records(func(ref Ref, _ []byte) error {
		if i >= 0 {
			l.tree.nodes[i].ref = ref
		}
		i++
		return nil
	})
	if err != nil {
		return err
	}
	l.mend, l.waiting = false, nil
	clear(l.saved)
	return nil
}

// placed returns the record of an entry with its place in the tree.
func (l *Log) placed(i int32) ([]byte, error) {
	record, err := l.record(i)
	if err != nil {
		return nil, err
	}
	e, _, _ := readEnvelope(record)
	if len(e.id) > 0 && (e.parent == nil) == (l.tree.nodes[i].parent < 0) {
		return record, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(record, &fields); err != nil {
		return record, nil // it stays as damaged as it is
	}
	set := func(key string, v any) {
		if raw, err := json.Marshal(v); err == nil {
			fields[key] = raw
		}
	}
	set("id", l.tree.nodes[i].id)
	set("parentId", nil)
	if parent := l.tree.nodes[i].parent; parent >= 0 {
		set("parentId", l.tree.nodes[parent].id)
	}
	if kept := l.keptByIndex(record); kept != "" {
		set("firstKeptEntryId", kept)
		delete(fields, "firstKeptEntryIndex")
	}
	return encode(fields)
}

// keptByIndex returns the first entry that a compaction of version 1 kept, or the one after it
// if it is damaged. It counts records, starting with the header; "" if it doesn't say.
func (l *Log) keptByIndex(record []byte) string {
	var v1 struct {
		Index *int `json:"firstKeptEntryIndex"`
	}
	if json.Unmarshal(record, &v1) != nil || v1.Index == nil || *v1.Index < 1 {
		return ""
	}
	at := sort.Search(len(l.records), func(i int) bool { return int(l.records[i]) >= *v1.Index })
	if at == len(l.records) {
		return ""
	}
	return l.tree.nodes[at].id
}

// Sync returns when everything that was appended survives a power cut. After an error, what
// the store has does so anyway, if the disk can be reached.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.typed {
		err = l.flush()
	}
	return errors.Join(err, l.store.Sync())
}

// Close writes what is waiting and closes the store. If the user has moved in the tree since
// the last entry, an entry records the position. A draft stays if a model has answered or
// something could not be written, and the error says where.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	moved := l.moved && l.typed
	l.mu.Unlock()
	var err error
	if moved {
		_, err = l.Append(Entry{Type: TypeCustom, CustomType: CustomLeaf})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.typed {
		err = errors.Join(err, l.flush())
	}
	if k, ok := l.store.(keeper); ok && (l.answered || err != nil) {
		k.Keep()
	}
	return errors.Join(err, l.store.Close())
}

// Entry reads the entry with that id.
func (l *Log) Entry(id string) (*Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(id)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, errors.New("nothing comes before the first entry")
	}
	return l.read(i)
}

// read decodes an entry and restores its blobs.
func (l *Log) read(i int32) (*Entry, error) {
	n := &l.tree.nodes[i]
	record, err := l.record(i)
	if err != nil {
		return nil, err
	}
	e, err := l.decode(i, record)
	if err != nil {
		return nil, fmt.Errorf("read entry %s: %w", n.id, err)
	}
	// The tree is in the log: a record of version 1 has no place in it, and one that lost its
	// parent has a new one.
	e.Raw = record
	l.tree.place(e, i)
	if e.Type == TypeCompaction && e.FirstKeptID == "" {
		e.FirstKeptID = l.keptByIndex(record)
	}
	if e.Message != nil {
		adopt(e)
	}
	l.o.Blobs.restore(e)
	return e, nil
}

// decode makes an entry from a record, with the fast decoder if possible.
func (l *Log) decode(i int32, record []byte) (*Entry, error) {
	if l.tree.typ(i) == TypeMessage {
		m := new(llm.Message)
		if at, ok := l.decoder.message(record, m); ok {
			return &Entry{Type: TypeMessage, Timestamp: string(at), Message: m}, nil
		}
	}
	e := new(Entry)
	return e, json.Unmarshal(record, e)
}

func (l *Log) record(i int32) ([]byte, error) {
	if n := &l.tree.nodes[i]; n.ref.Len > 0 {
		return l.store.Read(n.ref)
	}
	if record, ok := l.saved[i]; ok {
		return record, nil
	}
	for _, w := range l.waiting {
		if w.node == i {
			return w.record, nil
		}
	}
	return nil, fmt.Errorf("entry %s is not there", l.tree.nodes[i].id)
}

// Nodes returns all entries in the order in which they were written, without their content.
func (l *Log) Nodes() []Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Node, len(l.tree.nodes))
	for i := range l.tree.nodes {
		out[i] = l.tree.node(int32(i))
	}
	return out
}

// Count returns how many messages of a role there are on all branches. The role must be user,
// assistant or tool result.
func (l *Log) Count(role llm.Role) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.tree.nodes {
		if l.tree.nodes[i].kind.role() == role {
			n++
		}
	}
	return n
}

// Label returns the label of an entry.
func (l *Log) Label(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree.labels[id]
}

// All reads all entries in the order in which they were written. The error of an unreadable
// entry doesn't end the iteration.
func (l *Log) All() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for i := int32(0); ; i++ {
			l.mu.Lock()
			if int(i) >= len(l.tree.nodes) {
				l.mu.Unlock()
				return
			}
			e, err := l.read(i)
			l.mu.Unlock()
			if !yield(e, err) {
				return
			}
		}
	}
}

// Answered reports whether a model has answered, so that the session is kept.
func (l *Log) Answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered
}
