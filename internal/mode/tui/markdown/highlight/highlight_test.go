package highlight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var letters = [...]byte{
	Plain: '.', Comment: 'c', Keyword: 'k', Function: 'f', Variable: 'v', String: 's', Number: 'n', Type: 't', Operator: 'o',
	Punctuation: 'p', Added: '+', Removed: '-', Heading: 'h',
}

// drawn gives under each line a letter for the kind of each byte.
func drawn(lang, text string) []string {
	l := New(lang)
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		var b strings.Builder
		for _, p := range l.Line(nil, line) {
			b.WriteString(strings.Repeat(string(letters[p.Kind]), len(p.Text)))
		}
		all = append(all, b.String())
	}
	return all
}

func TestLanguages(t *testing.T) {
	for _, tt := range []struct {
		lang, text string
		want       []string
	}{
		{"go", "func f(a int) string { // x", []string{"kkkk.fp..tttp.tttttt.p.cccc"}},
		{"go", "s := `a\nb` + \"c\\\"d\" + 'x'", []string{"..oo.ss", "ss.o.ssssss.o.sss"}},
		{"go", "/* a\nb */ x", []string{"cccc", "cccc.."}},
		{"rust", "fn f<'a>(x: &'a str) -> Vec<u8> { println!(\"{}\", 'x') }", []string{"kk..oo.op.o.oo..tttp.oo.tttotto.p.fffffffopssssp.sssp.p"}},
		{"python", "@dec\ndef f(x): # c\n    return \"\"\"a\nb\"\"\"", []string{"....", "kkk.fp.po.ccc", "....kkkkkk.ssss", "ssss"}},
		{"ts", "const x: Foo = `a${b}`; /re/", []string{"kkkkk..o.ttt.o.sssssssp.o..o"}},
		{"json", `{"a": [1.5, true]}`, []string{"pvvvo.pnnnp.kkkkpp"}},
		{"yaml", "key: value # c", []string{"vvvo.......ccc"}},
		{"bash", `if [ "$x" ]; then echo $HOME # c`, []string{"kk.p.ssss.pp.kkkk.kkkk.vvvvv.ccc"}},
		{"html", `<a href="x">t</a><!-- c -->`, []string{"pk.vvvvosssp.ppkpcccccccccc"}},
		{"css", ".a { color: #fff; } /* c */", []string{"...p.vvvvvo.nnnnp.p.ccccccc"}},
		{"sql", "SELECT a, count(*) FROM t -- c", []string{"kkkkkk..p.fffffpop.kkkk...cccc"}},
		{"c", "#include <x>\nint f(void) { return 0x1; }", []string{"kkkkkkkk.o.o", "ttt.fpkkkkp.p.kkkkkk.nnnp.p"}},
		{"diff", "@@ -1 +1 @@\n-a\n+b\n c", []string{"hhhhhhhhhhh", "--", "++", ".."}},
		{"brainfuck", "+ 1", []string{"..."}},
	} {
		if diff := cmp.Diff(tt.want, drawn(tt.lang, tt.text)); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", tt.lang, tt.text, diff)
		}
	}
}

// Whatever is read comes out whole, in order.
func FuzzLine(f *testing.F) {
	for name := range languages {
		f.Add(name, "x = \"a\\\" 'b' `c` /* d */ # e // f <!-- g --> $h ${i 1.5 @j #k é")
	}
	f.Add("rust", "'")
	f.Add("css", "#")
	f.Add("bash", "$")
	f.Fuzz(func(t *testing.T, lang, text string) {
		if len(text) > 3000 {
			return
		}
		l := New(lang)
		for line := range strings.SplitSeq(text, "\n") {
			got := ""
			for _, p := range l.Line(nil, line) {
				got += p.Text
			}
			if got != line {
				t.Fatalf("%s: %q became %q", lang, line, got)
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	l := New("go")
	var dst []Piece
	b.ReportAllocs()
	for b.Loop() {
		dst = l.Line(dst[:0], "\tvalue, err := compute(input, 42) // and so on, as it goes")
	}
}
