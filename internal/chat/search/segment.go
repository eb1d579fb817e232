package search

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"
)

// errSegment means that a segment is not in the form that this burin writes.
var errSegment = errors.New("a part of the search index can't be read")

const version = 1

// doc is a document of a segment.
type doc struct {
	Ref
	parent string
	time   int64 // milliseconds
	length int   // terms
}

// segment is a part of the index, as it is in memory: documents, documents that are gone from
// older segments, and for each term where it stands. Its form is
//
//	version, gone, documents, terms
//
// each of the last three as a number and that many entries. Numbers are varints, texts have
// their length before them. A term has the number of its documents, the length of what follows,
// and for each of its documents the distance from the one before, how often it stands there, and
// the distances between its places.
type segment struct {
	name    string
	docs    []doc
	gone    []Ref
	live    []bool // no newer segment has the document
	terms   []byte
	offsets []uint32 // of each term in terms, in their order
}

// size is about how many bytes a segment takes in memory.
func (s *segment) size() int64 {
	const ofDoc = 120 // the struct, and its id
	return int64(len(s.terms) + 4*len(s.offsets) + ofDoc*len(s.docs))
}

// reader reads the form of a segment. After an error it gives zeros.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > 1<<31 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return int(n)
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > len(r.data) {
		r.bad, r.data = true, nil
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// parse reads a segment. It keeps data.
func parse(name string, data []byte) (*segment, error) {
	r := &reader{data: data}
	if r.number() != version {
		return nil, errSegment
	}
	s := &segment{name: name}
	shared := map[string]string{} // kinds and parents are few
	text := func() string {
		b := r.bytes()
		if t, ok := shared[string(b)]; ok {
			return t
		}
		t := string(b)
		shared[t] = t
		return t
	}
	for range r.number() {
		if s.gone = append(s.gone, Ref{text(), string(r.bytes())}); r.bad {
			return nil, errSegment
		}
	}
	count := r.number()
	s.docs = make([]doc, 0, min(count, len(r.data)))
	for range count {
		d := doc{Ref: Ref{text(), string(r.bytes())}, parent: text(), time: r.signed(), length: r.number()}
		if s.docs = append(s.docs, d); r.bad {
			return nil, errSegment
		}
	}
	s.live = make([]bool, len(s.docs))
	count = r.number()
	s.terms = r.data
	s.offsets = make([]uint32, 0, min(count, len(r.data)))
	for range count {
		s.offsets = append(s.offsets, uint32(len(s.terms)-len(r.data)))
		r.bytes()
		r.number()
		r.bytes()
		if r.bad {
			return nil, errSegment
		}
	}
	if r.bad || len(r.data) > 0 {
		return nil, errSegment
	}
	return s, nil
}

// term is the entry of a term: its text, in how many documents it is, and its places.
func (s *segment) term(i int) (text []byte, count int, places []byte) {
	r := reader{data: s.terms[s.offsets[i]:]}
	text, count, places = r.bytes(), r.number(), r.bytes()
	return text, count, places
}

// find is the terms that are a text, or begin with it: from one to before another.
func (s *segment) find(text string, prefix bool) (from, to int) {
	from = sort.Search(len(s.offsets), func(i int) bool {
		t, _, _ := s.term(i)
		return string(t) >= text
	})
	if !prefix {
		if from < len(s.offsets) {
			if t, _, _ := s.term(from); string(t) == text {
				return from, from + 1
			}
		}
		return from, from
	}
	n := sort.Search(len(s.offsets)-from, func(i int) bool {
		t, _, _ := s.term(from + i)
		return !strings.HasPrefix(string(t), text)
	})
	return from, from + n
}

// postings calls yield with the documents of a term, how often it stands in each, and its places.
func (s *segment) postings(i int, yield func(doc, times int, places []byte)) {
	_, count, data := s.term(i)
	r := reader{data: data}
	at := -1
	for range count {
		at += r.number() + 1
		times := r.number()
		places := r.data
		n := 0
		for left := times; left > 0 && n < len(places); n++ {
			if places[n] < 0x80 { // the last byte of a number
				left--
			}
		}
		if r.bad || at >= len(s.docs) {
			return
		}
		r.data = places[n:]
		yield(at, times, places[:n])
	}
}

// places adds the numbers that [segment.postings] gives.
func places(all []int, data []byte) []int {
	r := reader{data: data}
	at := -1
	for len(r.data) > 0 {
		at += r.number() + 1
		all = append(all, at)
	}
	return all
}

// builder makes a segment.
type builder struct {
	docs  []doc
	gone  []Ref
	terms map[string]*entry
}

// entry is a term of a builder.
type entry struct {
	count int
	last  int // document
	data  []byte
}

func newBuilder() *builder { return &builder{terms: map[string]*entry{}} }

// begin adds a document to a term.
func (b *builder) begin(term string, doc, times int) *entry {
	e := b.terms[term]
	if e == nil {
		e = &entry{last: -1}
		b.terms[term] = e
	}
	e.data = binary.AppendUvarint(e.data, uint64(doc-e.last-1))
	e.data = binary.AppendUvarint(e.data, uint64(times))
	e.count, e.last = e.count+1, doc
	return e
}

// add adds a document.
func (b *builder) add(d Doc) {
	found := map[string][]int{}
	n := 0
	tokens(d.Text, func(t token) {
		found[t.term] = append(found[t.term], t.at)
		n++
	})
	at := len(b.docs)
	b.docs = append(b.docs, doc{Ref: d.Ref, parent: d.Parent, time: d.Time.UnixMilli(), length: n})
	for term, all := range found {
		e := b.begin(term, at, len(all))
		last := -1
		for _, place := range all {
			e.data = binary.AppendUvarint(e.data, uint64(place-last-1))
			last = place
		}
	}
}

// merge adds the live documents of a segment.
func (b *builder) merge(s *segment) {
	as := make([]int, len(s.docs))
	for i, d := range s.docs {
		if as[i] = -1; s.live[i] {
			as[i] = len(b.docs)
			b.docs = append(b.docs, d)
		}
	}
	for i := range s.offsets {
		text, _, _ := s.term(i)
		term := string(text)
		s.postings(i, func(doc, times int, places []byte) {
			if as[doc] >= 0 {
				e := b.begin(term, as[doc], times)
				e.data = append(e.data, places...)
			}
		})
	}
}

func (b *builder) encode() []byte {
	text := func(out []byte, s string) []byte { return append(binary.AppendUvarint(out, uint64(len(s))), s...) }
	out := binary.AppendUvarint(nil, version)
	out = binary.AppendUvarint(out, uint64(len(b.gone)))
	for _, g := range b.gone {
		out = text(text(out, g.Kind), g.ID)
	}
	out = binary.AppendUvarint(out, uint64(len(b.docs)))
	for _, d := range b.docs {
		out = text(text(text(out, d.Kind), d.ID), d.parent)
		out = binary.AppendVarint(out, d.time)
		out = binary.AppendUvarint(out, uint64(d.length))
	}
	out = binary.AppendUvarint(out, uint64(len(b.terms)))
	for _, term := range slices.Sorted(maps.Keys(b.terms)) {
		e := b.terms[term]
		out = binary.AppendUvarint(text(out, term), uint64(e.count))
		out = text(out, string(e.data))
	}
	return out
}

// settle finds which documents of segments are live, the oldest first.
func settle(segments []*segment) {
	docs := 0
	for _, s := range segments {
		docs += len(s.docs)
	}
	seen := make(map[Ref]bool, docs)
	for _, s := range slices.Backward(segments) {
		for i := range slices.Backward(s.docs) {
			s.live[i] = !seen[s.docs[i].Ref]
			seen[s.docs[i].Ref] = true
		}
		for _, g := range s.gone {
			seen[g] = true
		}
	}
}
