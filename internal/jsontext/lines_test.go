package jsontext_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/burin-dev/burin/internal/jsontext"
)

// readLines reads all lines. One that is too long is told by its beginning.
func readLines(r io.Reader, limit, head int) (lines []string, err error) {
	for in := jsontext.NewLines(r, limit, head); ; {
		line, err := in.Next()
		switch {
		case err == nil:
			lines = append(lines, string(line))
		case errors.Is(err, jsontext.ErrTooLong):
			lines = append(lines, "too long: "+string(line))
		default:
			return lines, err
		}
	}
}

func TestLines(t *testing.T) {
	const limit = 100_000 // more than the buffer
	fits, long := strings.Repeat("x", limit), strings.Repeat("y", limit+1)
	huge := strings.Repeat("z", 3*limit)
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"ends", "one\r\ntwo\n\r\n\nthree\r\r\n", []string{"one", "two", "", "", "three\r"}},
		{"no other ends", "a\u2028b\u0085c\rd\n", []string{"a\u2028b\u0085c\rd"}},
		{"no last end", "one\nlast", []string{"one", "last"}},
		{"a last end of half", "last\r", []string{"last"}},
		{"a line of the limit", fits + "\n" + fits + "\r\n" + fits, []string{fits, fits, fits}},
		{"a line over the limit", long + "\nnext\n", []string{"too long: yyyy", "next"}},
		{"of several buffers", huge + "\r\nnext\n" + huge + "\nlast", []string{"too long: zzzz", "next", "too long: zzzz", "last"}},
		{"without an end", "one\n" + huge, []string{"one", "too long: zzzz"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "in halves": iotest.HalfReader(strings.NewReader(tt.in)),
				"end with the data": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				if got, err := readLines(r, limit, 4); !slices.Equal(got, tt.want) || !errors.Is(err, io.EOF) {
					t.Errorf("%s: %.300q (%v), want %.300q", how, got, err, tt.want)
				}
			}
		})
	}
	if got, err := readLines(strings.NewReader("12345\n1234567890\n"), 5, 100); !slices.Equal(got, []string{"12345", "too long: 12345"}) {
		t.Errorf("of a limit below the buffer and the head: %q (%v)", got, err)
	}
}

// A failed read is reported and loses no line that was whole before it.
func TestLinesFailure(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"one\n", "one\nhal", "one\n" + strings.Repeat("x", 200_000)} {
		got, err := readLines(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 1<<20, 0)
		if !errors.Is(err, broken) || !slices.Equal(got, []string{"one"}) {
			t.Errorf("%.20q gives %.100q, %v", in, got, err)
		}
	}
}

// endless repeats one byte for ever, and counts what was read.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.n += len(b)
	return len(b), nil
}

// A line without an end is refused at the limit: whoever wants no more need not read on.
func TestLinesEndless(t *testing.T) {
	in := new(endless)
	if head, err := jsontext.NewLines(in, 1<<20, 3).Next(); !errors.Is(err, jsontext.ErrTooLong) || string(head) != "xxx" {
		t.Errorf("it gives %q, %v", head, err)
	}
	if in.n > 2<<20 {
		t.Errorf("%d bytes were read for a limit of %d", in.n, 1<<20)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("one\r\ntwo\n\nlast", 3, 2)
	f.Add(strings.Repeat("x", 70_000)+"\n"+strings.Repeat("y", 200_000), 65_536, 1)
	f.Fuzz(func(t *testing.T, text string, limit, head int) {
		limit, head = max(limit, 0)%100_000, max(head, 0)%100
		var want []string
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			if len(line) > limit {
				line = "too long: " + line[:min(head, limit)]
			}
			want = append(want, line)
		}
		if got, err := readLines(strings.NewReader(text), limit, head); !slices.Equal(got, want) || !errors.Is(err, io.EOF) {
			t.Fatalf("%q (%v), want %q", got, err, want)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	for _, size := range []int{200, 20_000, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := strings.Repeat("x", size) + "\n"
			in := jsontext.NewLines(&repeat{text: line}, 64<<20, 0)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := in.Next(); err != nil || len(got) != size {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// repeat gives a text again and again.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(b []byte) (n int, err error) {
	for n < len(b) {
		k := copy(b[n:], r.text[r.at:])
		n += k
		r.at = (r.at + k) % len(r.text)
	}
	return n, nil
}

// Lines that fit the buffer cost no allocation.
func TestLinesAllocate(t *testing.T) {
	in := jsontext.NewLines(&repeat{text: strings.Repeat("x", 20_000) + "\r\n"}, 64<<20, 0)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := in.Next(); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a line", n)
	}
}
