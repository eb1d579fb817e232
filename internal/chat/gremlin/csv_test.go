package gremlin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readAll(t testing.TB, in io.Reader) (rows [][]string, err error) {
	t.Helper()
	r, err := newReader(in)
	for err == nil {
		var row []string
		if row, err = r.next(); err == nil {
			rows = append(rows, row)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rows, err
}

func written(t testing.TB, rows ...[]string) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	for _, r := range rows {
		if err := writeRow(w, r...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Vector V8; EXP-02.
func TestWriteCSV(t *testing.T) {
	for want, row := range map[string][]string{
		`app_metadata,k,__METADATA__,,,"{""value"":""x""}"` + "\n": {"app_metadata", "k", "__METADATA__", "", "", `{"value":"x"}`},
		"a b,'c',;\t,\u2028\n":             {"a b", "'c'", ";\t", "\u2028"},
		"\"a,b\",\"\"\"\",\"\n\",\"\r\"\n": {"a,b", `"`, "\n", "\r"},
		"\"\"\"\"\"x\"\"\"\n":              {`""x"`},
	} {
		if got := written(t, row); got != want {
			t.Errorf("%q is %q, want %q", row, got, want)
		}
	}
}

// EXP-08, EXP-10, ACC-11.
func TestReadCSV(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                   nil,
		"\n\r\n\r\r\n":       nil,
		"\ufeffa,b\n":        {{"a", "b"}},
		"a,b\r\nc,d\re,f\ng": {{"a", "b"}, {"c", "d"}, {"e", "f"}, {"g"}},
		"a,\n,\n":            {{"a", ""}, {"", ""}},
		"\"\"\n":             nil, // as blank as a blank line, in the original too
		"\"a\r\n,\"\"b\",c":  {{"a\r\n,\"b", "c"}},
		"a\"b,\"c\"d\"\"e,f": {{`ab,cd"e,f`}}, // a quote anywhere begins and ends quotes
		"\"open,\n":          {{"open,\n"}},
		"\"a\"\"":            {{`a"`}},
		"a,b,c,d,e,f,g,h\ni": {{"a", "b", "c", "d", "e", "f"}, {"i"}},
		"a\xffb,\xe2\x82\n":  {{"a\ufffdb", "\ufffd"}},
	} {
		for name, in := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			got, err := readAll(t, in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q %s: %s", text, name, diff)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := readAll(t, io.MultiReader(strings.NewReader("a,b\nc"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("an error of the file: %v", err)
	}
}

// TRP-10, ACC-11: what has more than one byte stands at every offset around the borders of what is read
// at once.
func TestReadCSVAtBorders(t *testing.T) {
	const border = 64 << 10
	for _, mark := range []string{`""`, "\r\n", "€", "😀", `"",""`, "\"\"\r\n\"\""} {
		for offset := -4; offset <= 4; offset++ {
			row := []string{"t", "i", "", "x", "", "y"}
			raw := strings.ReplaceAll(mark, `""`, `"`)
			// Quotes are doubled, so that the mark begins at the border plus the offset.
			row[2] = strings.Repeat("x", border+offset-len(`t,i,"`)) + raw + strings.Repeat("x", border-len(mark)) + raw + "end"
			text := written(t, row, []string{"t", "j", "z", "", "", ""})
			if !strings.HasPrefix(text[border+offset:], mark) && strings.ContainsAny(raw, "\",\n") {
				t.Fatalf("the mark is not at %d", border+offset)
			}
			for name, in := range map[string]io.Reader{"": strings.NewReader(text), "with halves": iotest.HalfReader(strings.NewReader(text))} {
				rows, err := readAll(t, in)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([][]string{row, {"t", "j", "z", "", "", ""}}, rows); diff != "" {
					t.Fatalf("%q at %d %s: %.500s", mark, offset, name, diff)
				}
			}
		}
	}
}

func TestReadCSVIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`"`), &repeated{"x"})
	for _, in := range []io.Reader{endless, &repeated{","}} {
		r, err := newReader(in)
		if err != nil {
			t.Fatal(err)
		}
		r.most = 1 << 20
		if _, err := r.next(); err == nil || !strings.Contains(err.Error(), "isn't a backup") || len(r.row) > len(header) {
			t.Errorf("an endless row: %v", err)
		}
	}
}

// repeated is a text without end.
type repeated struct{ text string }

func (r *repeated) Read(b []byte) (int, error) {
	return copy(b, strings.Repeat(r.text, len(b)/len(r.text)+1)), nil
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b", "\"", "\r\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, s := range []*string{&a, &b, &c} {
			*s = strings.ToValidUTF8(*s, "\ufffd")
		}
		want := [][]string{{"t" + a, b, c}, {"u", c, a + b}}
		got, err := readAll(t, strings.NewReader(written(t, want...)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(fmt.Sprintf("%q %q %q", a, b, c), diff)
		}
	})
}
