package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
)

const (
	maxUnpacked   = 64 << 20 // bytes of all streams together
	maxStream     = 12 << 20 // bytes of one
	maxObjects    = 300_000
	maxObject     = 2 << 20  // bytes of an object that is not a stream's data
	maxCached     = 20_000   // objects that are kept
	maxCachedText = 1 << 20  // bytes that these were read from; they take some ten times that
	maxCachedData = 12 << 20 // bytes of object streams that are kept
)

// entry says where an object is: at an offset, or in a stream of objects.
type entry struct {
	at  int64
	gen int
	in  int // number of the stream of objects; 0: none
}

// file is a PDF that is open. It is read in windows, never whole.
type file struct {
	ctx     context.Context // of the one call that reads the file
	r       io.ReaderAt
	size    int64
	left    int64 // of maxUnpacked
	xref    map[int]entry
	trailer dict
	crypt   *crypt

	cache   map[int]object
	opening map[int]bool // objects that are being read, to find loops
	cached  int          // bytes of text of what is in cache
	packs   map[int]*pack
	packed  int
	cut     bool // a stream was longer than maxStream
}

// pack is an unpacked stream of objects.
type pack struct {
	data []byte
	at   map[int]int // number of an object -> offset in data
}

// open reads where the objects are. A file whose tables are wrong is searched
// from its beginning for objects.
func open(ctx context.Context, r io.ReaderAt, size int64) (*file, error) {
	f := &file{
		ctx: ctx, r: r, size: size, left: maxUnpacked, xref: map[int]entry{}, trailer: dict{},
		cache: map[int]object{}, opening: map[int]bool{}, packs: map[int]*pack{},
	}
	err := f.readTables()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = f.unlock()
	}
	if errors.Is(err, errLocked) {
		return nil, err
	}
	if err == nil && f.pages() != nil {
		return f, nil
	}
	if err := f.rebuild(); err != nil {
		return nil, err
	}
	if f.pages() == nil {
		return nil, errors.New("pdf: no pages found")
	}
	return f, nil
}

// pages is the root of the tree of pages.
func (f *file) pages() dict {
	root := f.dict(f.trailer["Root"])
	return f.dict(root["Pages"])
}

func (f *file) unlock() error {
	f.crypt = nil
	enc := f.dict(f.trailer["Encrypt"])
	if enc == nil {
		return nil
	}
	for k, v := range enc {
		enc[k] = f.resolve(v)
	}
	var id []byte
	if ids, ok := f.resolve(f.trailer["ID"]).(array); ok && len(ids) > 0 {
		id = []byte(str(f.resolve(ids[0])))
	}
	c, err := newCrypt(enc, id)
	if err != nil {
		return err
	}
	f.crypt = c
	clear(f.cache) // what was read before is not decrypted
	clear(f.packs)
	if r, ok := f.trailer["Encrypt"].(ref); ok {
		f.cache[r.num] = enc
	}
	return nil
}

// resolve follows references to an object. What cannot be read is nil.
func (f *file) resolve(o object) object {
	for range 32 {
		r, ok := o.(ref)
		if !ok {
			return o
		}
		o = f.load(r)
	}
	return nil
}

func (f *file) dict(o object) dict {
	switch o := f.resolve(o).(type) {
	case dict:
		return o
	case *stream:
		return o.dict
	}
	return nil
}

func (f *file) array(o object) array {
	a, _ := f.resolve(o).(array)
	return a
}

func (f *file) name(o object) name {
	n, _ := f.resolve(o).(name)
	return n
}

func (f *file) load(r ref) object {
	if o, ok := f.cache[r.num]; ok {
		return o
	}
	e, ok := f.xref[r.num]
	if !ok || f.opening[r.num] || f.ctx.Err() != nil {
		return nil
	}
	f.opening[r.num] = true
	defer delete(f.opening, r.num)
	var o object
	var n int
	var err error
	if e.in != 0 {
		o, n, err = f.loadPacked(r.num, e.in)
	} else {
		var found ref
		if found, o, n, err = f.readAt(e.at); err == nil && found.num != r.num {
			err = fmt.Errorf("pdf: object %d stands where %d should", found.num, r.num)
		}
		if err == nil && f.crypt != nil {
			o = f.crypt.decrypt(found, o)
		}
	}
	if err != nil {
		o = nil
	}
	if f.cached += n; len(f.cache) >= maxCached || f.cached > maxCachedText {
		clear(f.cache)
		f.cached = n
	}
	f.cache[r.num] = o
	return o
}

// readAt reads "num gen obj" and the object at an offset. n is its length.
func (f *file) readAt(at int64) (own ref, o object, n int, err error) {
	if at < 0 || at >= f.size {
		return ref{}, nil, 0, fmt.Errorf("pdf: object at %d, outside the file", at)
	}
	for window := int64(4 << 10); ; window *= 8 {
		data, err := f.window(at, min(window, maxObject))
		if err != nil {
			return ref{}, nil, 0, err
		}
		l := &lexer{data: data, whole: at+int64(len(data)) >= f.size}
		own, o, err = readObject(l, at)
		if !errors.Is(err, errShort) || l.whole || window >= maxObject {
			return own, o, l.pos, err
		}
	}
}

func (f *file) window(at, n int64) ([]byte, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	data := make([]byte, min(n, f.size-at))
	read, err := f.r.ReadAt(data, at)
	if read == 0 && err != nil {
		return nil, err
	}
	return data[:read], nil
}

// readObject reads an object with its number in front. At is where the lexer's
// data begins in the file.
func readObject(l *lexer, at int64) (own ref, o object, err error) {
	var head [2]int
	for i := range head {
		l.content = true // "1 0 obj" must not become a reference
		v, err := l.next()
		if err != nil {
			return ref{}, nil, err
		}
		n, ok := v.(int)
		if !ok {
			return ref{}, nil, errors.New("pdf: no object here")
		}
		head[i] = n
	}
	if v, err := l.next(); err != nil || v != operator("obj") {
		return ref{}, nil, errors.Join(errors.New("pdf: no object here"), err)
	}
	l.content = false
	own = ref{head[0], head[1]}
	if o, err = l.next(); err != nil {
		return ref{}, nil, err
	}
	d, ok := o.(dict)
	if !ok {
		if _, bad := o.(operator); bad {
			o = nil // "1 0 obj endobj"
		}
		return own, o, nil
	}
	l.skipSpace()
	if l.pos+8 > len(l.data) && !l.whole {
		return ref{}, nil, errShort
	}
	if !bytes.HasPrefix(l.data[l.pos:], []byte("stream")) {
		return own, d, nil
	}
	l.pos += len("stream")
	if l.pos < len(l.data) && l.data[l.pos] == '\r' {
		l.pos++
	}
	if l.pos < len(l.data) && l.data[l.pos] == '\n' {
		l.pos++
	}
	return own, &stream{dict: d, at: at + int64(l.pos), own: own}, nil
}

// loadPacked reads an object out of a stream of objects.
func (f *file) loadPacked(num, in int) (o object, n int, err error) {
	p, err := f.pack(in)
	if err != nil {
		return nil, 0, err
	}
	at, ok := p.at[num]
	if !ok || at < 0 || at >= len(p.data) {
		return nil, 0, fmt.Errorf("pdf: object %d is not in stream %d", num, in)
	}
	l := &lexer{data: p.data[:min(len(p.data), at+maxObject)], pos: at, whole: true}
	o, err = l.next()
	return o, l.pos - at, err
}

func (f *file) pack(num int) (*pack, error) {
	if p := f.packs[num]; p != nil {
		return p, nil
	}
	e := f.xref[num]
	if e.in != 0 {
		return nil, errors.New("pdf: stream of objects within another")
	}
	s, ok := f.load(ref{num, e.gen}).(*stream)
	if !ok {
		return nil, fmt.Errorf("pdf: object %d is not a stream", num)
	}
	data, err := f.data(s)
	if err != nil {
		return nil, err
	}
	p := &pack{data: data, at: map[int]int{}}
	l := &lexer{data: data, whole: true, content: true}
	first := toInt(f.resolve(s.dict["First"]))
	for range min(toInt(f.resolve(s.dict["N"])), len(data)/4+1) {
		n, err1 := l.next()
		at, err2 := l.next()
		if err1 != nil || err2 != nil {
			break
		}
		p.at[toInt(n)] = first + toInt(at)
	}
	if f.packed += len(data); f.packed > maxCachedData {
		clear(f.packs)
		f.packed = len(data)
	}
	f.packs[num] = p
	return p, nil
}

// data unpacks a stream. The error wraps [bounded.ErrTooLarge] when the whole
// file's allowance is used up; of a single stream the first 12 MB count.
func (f *file) data(s *stream) ([]byte, error) {
	length, known := f.resolve(s.dict["Length"]).(int)
	if !known || length < 0 || s.at+int64(length) > f.size || !f.endsAt(s.at+int64(length)) {
		length = f.streamEnd(s.at)
	}
	var r io.Reader = io.NewSectionReader(f.r, s.at, int64(length))
	if f.crypt != nil && f.name(s.dict["Type"]) != "XRef" {
		r = f.crypt.reader(s.own, r)
	}
	filters, params := f.list(s.dict, "Filter", "F"), f.list(s.dict, "DecodeParms", "DP")
	if len(filters) > 8 {
		return nil, errors.New("pdf: more than 8 filters on a stream")
	}
	for i, o := range filters {
		var p dict
		if i < len(params) {
			p = f.resolved(params[i])
		}
		var err error
		if r, err = filtered(r, f.name(o), p); err != nil {
			return nil, err
		}
	}
	data, err := all(bounded.Reader(f.ctx, r, &f.left), maxStream)
	if err != nil && (errors.Is(err, bounded.ErrTooLarge) || f.ctx.Err() != nil) {
		return nil, err
	}
	f.cut = f.cut || len(data) == maxStream
	return data, nil // what broke off is better than nothing
}

// resolved is a dictionary with its values in place of references.
func (f *file) resolved(o object) dict {
	d := f.dict(o)
	out := make(dict, len(d))
	for k, v := range d {
		out[k] = f.resolve(v)
	}
	return out
}

// list is a value that may stand alone or in an array.
func (f *file) list(d dict, key, short name) array {
	v := f.resolve(d[key])
	if v == nil {
		v = f.resolve(d[short])
	}
	switch v := v.(type) {
	case nil:
		return nil
	case array:
		return v
	default:
		return array{v}
	}
}

// endsAt reports whether a stream's data ends at an offset.
func (f *file) endsAt(at int64) bool {
	data, err := f.window(at, 32)
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(data, "\r\n \t\x00"), []byte("endstream"))
}

// streamEnd finds how long a stream is whose length is wrong.
func (f *file) streamEnd(at int64) int {
	mark := []byte("endstream")
	const step = 64 << 10
	for from := at; from < f.size && from-at < maxStream; from += step {
		data, err := f.window(from, step+int64(len(mark)))
		if err != nil {
			break
		}
		if i := bytes.Index(data, mark); i >= 0 {
			return int(from-at) + i
		}
	}
	return int(min(f.size-at, maxStream))
}
