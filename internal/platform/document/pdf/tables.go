package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
)

const maxTables = 1000 // tables of earlier versions of a file

// readTables reads the tables of objects, the newest first, as the end of the
// file says where they are.
func (f *file) readTables() error {
	tail, err := f.window(max(0, f.size-2048), 2048)
	if err != nil {
		return err
	}
	i := bytes.LastIndex(tail, []byte("startxref"))
	if i < 0 {
		return errors.New("pdf: its end is missing")
	}
	l := &lexer{data: tail, pos: i + len("startxref"), whole: true, content: true}
	o, err := l.next()
	at, ok := o.(int)
	if err != nil || !ok {
		return errors.New("pdf: its end does not say where the tables are")
	}
	seen := map[int]bool{}
	queue := []int{at}
	for len(queue) > 0 {
		at, queue = queue[0], queue[1:]
		if seen[at] {
			continue
		}
		if seen[at] = true; len(seen) > maxTables {
			return fmt.Errorf("pdf: more than %d tables", maxTables)
		}
		d, err := f.readTable(int64(at))
		if err != nil {
			return err
		}
		for k, v := range d {
			if _, ok := f.trailer[k]; !ok {
				f.trailer[k] = v
			}
		}
		for _, key := range []name{"XRefStm", "Prev"} {
			if n, ok := d[key].(int); ok {
				queue = append(queue, n)
			}
		}
	}
	return nil
}

// readTable reads one table of either kind and gives its trailer.
func (f *file) readTable(at int64) (dict, error) {
	if at < 0 || at >= f.size {
		return nil, fmt.Errorf("pdf: table at %d, outside the file", at)
	}
	head, err := f.window(at, 64)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \r\n\t\x00"), []byte("xref")) {
		return f.readPlainTable(at)
	}
	_, o, _, err := f.readAt(at)
	if err != nil {
		return nil, err
	}
	s, ok := o.(*stream)
	if !ok {
		return nil, errors.New("pdf: no table where one should be")
	}
	return s.dict, f.readTableStream(s)
}

func (f *file) readPlainTable(at int64) (dict, error) {
	for window := int64(64 << 10); ; window *= 4 {
		data, err := f.window(at, min(window, 4*maxObject))
		if err != nil {
			return nil, err
		}
		l := &lexer{data: data, whole: at+int64(len(data)) >= f.size, content: true}
		found, d, err := parsePlainTable(l)
		if errors.Is(err, errShort) && !l.whole && window < 4*maxObject {
			continue
		}
		if err != nil {
			return nil, err
		}
		for num, e := range found {
			f.add(num, e)
		}
		return d, nil
	}
}

func parsePlainTable(l *lexer) (map[int]entry, dict, error) {
	found := map[int]entry{}
	if _, err := l.next(); err != nil { // "xref"
		return nil, nil, err
	}
	for {
		o, err := l.next()
		if err != nil {
			return nil, nil, err
		}
		if o == operator("trailer") {
			break
		}
		first, ok1 := o.(int)
		o, err = l.next()
		if err != nil {
			return nil, nil, err
		}
		count, ok2 := o.(int)
		if !ok1 || !ok2 || first < 0 || count < 0 {
			return nil, nil, errors.New("pdf: broken table of objects")
		}
		for i := range count {
			var v [3]object
			for j := range v {
				if v[j], err = l.next(); err != nil {
					return nil, nil, err
				}
			}
			if len(found) >= maxObjects {
				return nil, nil, fmt.Errorf("pdf: more than %d objects", maxObjects)
			}
			if v[2] == operator("n") && first <= math.MaxInt32 {
				found[first+i] = entry{at: int64(toInt(v[0])), gen: toInt(v[1])}
			}
		}
	}
	l.content = false
	o, err := l.next()
	if err != nil {
		return nil, nil, err
	}
	d, ok := o.(dict)
	if !ok {
		return nil, nil, errors.New("pdf: table without a trailer")
	}
	return found, d, nil
}

// add notes where an object is, if no newer table has.
func (f *file) add(num int, e entry) {
	if _, ok := f.xref[num]; !ok && num > 0 && len(f.xref) < maxObjects {
		f.xref[num] = e
	}
}

func (f *file) readTableStream(s *stream) error {
	data, err := f.data(s)
	if err != nil {
		return err
	}
	var w [3]int
	for i, o := range f.array(s.dict["W"]) {
		if i < len(w) {
			w[i] = toInt(o)
		}
	}
	size := 0
	for _, n := range w {
		if n < 0 || n > 8 {
			return errors.New("pdf: broken table of objects")
		}
		size += n
	}
	if size == 0 {
		return errors.New("pdf: table of objects without width")
	}
	index := f.array(s.dict["Index"])
	if index == nil {
		index = array{0, toInt(f.resolve(s.dict["Size"]))}
	}
	for ; len(index) >= 2; index = index[2:] {
		first, count := toInt(index[0]), toInt(index[1])
		for i := 0; i < count && len(data) >= size && first <= math.MaxInt32; i++ {
			kind, a, b := field(data, w[0]), field(data[w[0]:], w[1]), field(data[w[0]+w[1]:], w[2])
			if w[0] == 0 {
				kind = 1
			}
			data = data[size:]
			switch kind {
			case 1:
				f.add(first+i, entry{at: int64(a), gen: b})
			case 2:
				f.add(first+i, entry{in: a})
			}
		}
	}
	return nil
}

func field(data []byte, width int) int {
	n := 0
	for _, c := range data[:width] {
		n = n<<8 | int(c)
	}
	return n
}

// rebuild searches the file for objects. The last of a number counts, as it would
// in a file that was changed at its end.
func (f *file) rebuild() error {
	f.xref, f.trailer, f.cache, f.packs = map[int]entry{}, dict{}, map[int]object{}, map[int]*pack{}
	const step = 1 << 20
	const overlap = 64 << 10
	for at := int64(0); at < f.size; at += step {
		data, err := f.window(at, step+overlap)
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
		f.scan(data, at, min(step, len(data)))
	}
	f.each("XRef", func(_ int, s *stream) {
		for _, key := range []name{"Root", "Encrypt", "ID"} {
			if v := s.dict[key]; v != nil {
				f.trailer[key] = v
			}
		}
	})
	if err := f.unlock(); err != nil { // streams of objects are encrypted too
		return err
	}
	f.each("ObjStm", func(num int, _ *stream) {
		p, err := f.pack(num)
		if err != nil {
			return
		}
		for inner := range p.at {
			f.add(inner, entry{in: num})
		}
	})
	if f.trailer["Root"] == nil {
		for num := range f.xref {
			if d := f.dict(ref{num: num}); f.name(d["Type"]) == "Catalog" && d["Pages"] != nil {
				f.trailer["Root"] = ref{num: num}
			}
		}
	}
	return f.ctx.Err()
}

// scan notes the objects and trailers that begin in the first limit bytes of data,
// or just behind them. One at the very beginning may have lost digits; the scan
// before has seen it whole.
func (f *file) scan(data []byte, at int64, limit int) {
	end := min(len(data), limit+7)
	trailer := -1 // where the next one begins; searched for once for all objects before it
	for i := 0; i < limit; {
		if trailer < i {
			if trailer = end; i < end {
				if k := bytes.Index(data[i:end], []byte("trailer")); k >= 0 {
					trailer = i + k
				}
			}
		}
		j := bytes.Index(data[i:], []byte("obj"))
		if trailer < end && (j < 0 || trailer < i+j) {
			i = trailer + len("trailer")
			f.scanTrailer(data[i:])
			continue
		}
		if j < 0 {
			return
		}
		i += j
		if num, gen, start, ok := headOf(data, i); ok && start <= limit && (start > 0 || at == 0) && len(f.xref) < maxObjects {
			f.xref[num] = entry{at: at + int64(start), gen: gen}
		}
		i += len("obj")
	}
}

func (f *file) scanTrailer(data []byte) {
	l := &lexer{data: data, whole: true}
	if d, ok := must(l.next()).(dict); ok && d["Root"] != nil {
		maps.Copy(f.trailer, d)
	}
}

func must(o object, err error) object {
	if err != nil {
		return nil
	}
	return o
}

// headOf reads the two numbers in front of the "obj" at data[i].
func headOf(data []byte, i int) (num, gen, start int, ok bool) {
	var n [2]int
	for k := range n {
		end := i
		for end > 0 && isSpace(data[end-1]) {
			end--
		}
		begin := end
		for begin > 0 && end-begin < 10 && data[begin-1] >= '0' && data[begin-1] <= '9' {
			begin--
		}
		v, err := strconv.Atoi(string(data[begin:end]))
		if err != nil || end == i && k == 1 {
			return 0, 0, 0, false
		}
		n[k], i = v, begin
	}
	return n[1], n[0], i, n[1] > 0
}

// each visits the streams of a type in a table that was rebuilt.
func (f *file) each(kind name, visit func(num int, s *stream)) {
	for num, e := range maps.Clone(f.xref) {
		if f.ctx.Err() != nil {
			return
		}
		if s, ok := f.load(ref{num, e.gen}).(*stream); ok && e.in == 0 && f.name(s.dict["Type"]) == kind {
			visit(num, s)
		}
	}
}
