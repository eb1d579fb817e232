package edit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sourceFiles are files as projects have them, in languages that indent in
// different ways.
func sourceFiles(t testing.TB) map[string][]string {
	t.Helper()
	names, err := filepath.Glob("testdata/sources/*")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d sources: %v", len(names), err)
	}
	all := map[string][]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
	return all
}

// change replaces the lines from from to to of a file.
type change struct {
	from, to int
	fresh    []string
}

func (c change) after(lines []string) string {
	out := append(append(append([]string{}, lines[:c.from]...), c.fresh...), lines[c.to:]...)
	return strings.Join(out, "\n") + "\n"
}

// drawChange makes a small change as people make them: lines are changed, removed,
// added beside others, doubled, or put into a block.
func drawChange(rng *rand.Rand, lines []string) change {
	for {
		c := change{from: 1 + rng.IntN(len(lines)-2)}
		if strings.TrimSpace(lines[c.from]) == "" {
			continue
		}
		c.to = min(c.from+1+rng.IntN(3), len(lines)-1)
		indent := lines[c.from][:len(lines[c.from])-len(strings.TrimLeft(lines[c.from], " \t"))]
		unit := "    "
		if strings.Contains(strings.Join(lines, "\n"), "\n\t") {
			unit = "\t"
		}
		switch rng.IntN(6) {
		case 0: // changed
			for _, l := range lines[c.from:c.to] {
				if l != "" {
					l += " + changed"
				}
				c.fresh = append(c.fresh, l)
			}
		case 1: // removed
		case 2: // added
			c.to = c.from
			c.fresh = []string{indent + "fresh line one", indent + "fresh line two"}
		case 3: // one for another
			c.to = c.from + 1
			c.fresh = []string{indent + "when different:", indent + unit + "nested"}
			if rng.IntN(2) == 0 {
				c.fresh = []string{indent + "if different {", "", indent + unit + "nested", indent + "}"}
			}
		case 4: // doubled
			c.to = c.from
			c.fresh = []string{lines[c.from]}
		default: // put into a block
			c.fresh = []string{indent + "wrapped ("}
			for _, l := range lines[c.from:c.to] {
				if l != "" {
					l = unit + l
				}
				c.fresh = append(c.fresh, l)
			}
			c.fresh = append(c.fresh, indent+")")
		}
		return c
	}
}

// hunk writes the change as a hunk with some lines of context. Signs are what
// stands in front of context and of removed lines.
func (c change) hunk(lines []string, context int, sign func(op byte, line string) string) string {
	var b strings.Builder
	b.WriteString("@@\n")
	for i := max(c.from-context, 0); i < c.from; i++ {
		b.WriteString(sign(' ', lines[i]) + "\n")
	}
	for _, l := range lines[c.from:c.to] {
		b.WriteString(sign('-', l) + "\n")
	}
	for _, l := range c.fresh {
		b.WriteString("+" + l + "\n")
	}
	for i := c.to; i < min(c.to+context, len(lines)); i++ {
		b.WriteString(sign(' ', lines[i]) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// tally counts how a set of edits came out. Nothing may be wrong.
type tally struct {
	right, noted, refused, wrong int
	literal                      int // as it was written, where that can be meant
	show                         int // refusals, if the test is verbose
}

func (n *tally) all() int { return n.right + n.literal + n.refused + n.wrong }

func (n *tally) String() string {
	return fmt.Sprintf("%d edits: %d right (%d with a note), %d as written, %d refused, %d wrong",
		n.all(), n.right, n.noted, n.literal, n.refused, n.wrong)
}

// try makes an edit, which has to come out as want or be refused.
func (n *tally) try(t *testing.T, engine, name, before string, args any, want string) {
	t.Helper()
	got, res, r := apply(t, engine, files{"a.go": before}, args)
	switch {
	case r != nil:
		n.refused++
		if testing.Verbose() && n.show > 0 {
			n.show--
			t.Logf("%s: refused: %v\n%v", name, r, args)
		}
	case got["a.go"] == want:
		n.right++
		if len(res.Notes) > 0 {
			n.noted++
		}
	default:
		n.wrong++
		if n.wrong <= 3 {
			t.Errorf("%s: wrong without a refusal (notes %q):\n%v\n%s", name, res.Notes, args, res.Diff)
		}
	}
}

func (n *tally) add(m *tally) {
	n.right, n.noted, n.literal = n.right+m.right, n.noted+m.noted, n.literal+m.literal
	n.refused, n.wrong = n.refused+m.refused, n.wrong+m.wrong
}

// A model that forgets signs of a hunk: it is applied as it was meant, or refused.
func TestPatchLosesSigns(t *testing.T) {
	proper := func(op byte, line string) string { return string(op) + line }
	for _, tt := range []struct {
		name  string
		sign  func(rng *rand.Rand) func(op byte, line string) string
		least int // percent that is applied
	}{
		{"none", func(*rand.Rand) func(byte, string) string { return proper }, 90},
		{"all context slipped", func(*rand.Rand) func(byte, string) string {
			return func(op byte, line string) string {
				if op == '-' {
					return "-" + line
				}
				return line
			}
		}, 90},
		{"some context slipped", func(rng *rand.Rand) func(byte, string) string {
			return func(op byte, line string) string {
				if op == '-' || rng.IntN(2) == 0 {
					return string(op) + line
				}
				return line
			}
		}, 50},
		{"some removed lines without -", func(rng *rand.Rand) func(byte, string) string {
			return func(op byte, line string) string {
				if op == '-' && line != "" && rng.IntN(2) == 0 { // an empty one can't be told from context
					return line
				}
				return string(op) + line
			}
		}, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sum := &tally{show: 5}
			for name, lines := range sourceFiles(t) {
				rng := rand.New(rand.NewPCG(11, uint64(len(name))))
				n := &tally{show: 2}
				for range 80 {
					c := drawChange(rng, lines)
					hunk := c.hunk(lines, 1+rng.IntN(3), tt.sign(rng))
					n.try(t, "patch", name, strings.Join(lines, "\n")+"\n", patchArgs(updating(hunk)), c.after(lines))
				}
				t.Log(name, n)
				sum.add(n)
			}
			t.Log(sum)
			if sum.all() < 137 || sum.right*100 < sum.all()*tt.least {
				t.Errorf("too few were applied: %s", sum)
			}
		})
	}
}

// replacement is the change as old and new lines, with some lines before and after.
func (c change) replacement(lines []string, before, after int) (old, fresh []string) {
	from, to := max(c.from-before, 0), min(c.to+after, len(lines))
	old = append(old, lines[from:to]...)
	fresh = append(fresh, lines[from:c.from]...)
	fresh = append(fresh, c.fresh...)
	fresh = append(fresh, lines[c.to:to]...)
	return old, fresh
}

// dedent takes the whitespace off that all lines have in front.
func dedent(all ...[]string) {
	prefix, first := "", true
	for _, lines := range all {
		for _, l := range lines {
			if strings.TrimSpace(l) == "" {
				continue
			}
			in := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
			if first {
				prefix, first = in, false
			}
			for !strings.HasPrefix(in, prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
	}
	for _, lines := range all {
		for i, l := range lines {
			lines[i] = strings.TrimPrefix(l, prefix)
		}
	}
}

// ambiguous says that what a model wrote can be meant as it stands: old is in the
// file, and begins a line or, from the first letter on, new has lines that all have
// the indentation of that line.
func ambiguous(before string, p pair) bool {
	at := strings.Index(before, p.Old)
	if at < 0 {
		return false
	}
	indent := before[strings.LastIndexByte(before[:at], '\n')+1 : at]
	lines := strings.Split(p.New, "\n")
	for _, l := range lines[1:] {
		if l != "" && !strings.HasPrefix(l, indent) {
			return false
		}
	}
	return indent == "" || strings.TrimSpace(indent) == "" && len(lines) > 1 && strings.TrimSpace(strings.Join(lines[1:], "")) != ""
}

// either makes an edit that can be meant in two ways: it is refused, or comes out
// as one of them.
func (n *tally) either(t *testing.T, before string, p pair, want string) {
	t.Helper()
	got, _, r := apply(t, "replace", files{"a.go": before}, replaceArgs(p))
	switch literal := strings.Replace(before, p.Old, p.New, 1); {
	case r != nil:
		n.refused++
		if testing.Verbose() && n.show > 0 {
			n.show--
			t.Logf("refused: %v\n%v", r, p)
		}
	case got["a.go"] == want:
		n.right++
	case got["a.go"] == literal:
		n.literal++
	default:
		n.wrong++
		t.Errorf("%q for %q: %q", p.New, p.Old, got["a.go"])
	}
}

// A model that leaves indentation out: the file has its own afterwards, or the edit
// is refused.
func TestReplaceWithoutIndentation(t *testing.T) {
	stripFirst := func(old, fresh []string) {
		for _, lines := range [][]string{old, fresh} {
			if len(lines) > 0 {
				lines[0] = strings.TrimLeft(lines[0], " \t")
			}
		}
	}
	for _, tt := range []struct {
		name          string
		before, after int // lines of context, at most
		write         func(old, fresh []string)
		least         int // percent that is applied
	}{
		{"as it is", 2, 2, func(_, _ []string) {}, 95},
		{"dedented", 2, 2, func(old, fresh []string) { dedent(old, fresh) }, 90},
		{"dedented, no context", 0, 0, func(old, fresh []string) { dedent(old, fresh) }, 70},
		{"dedented, in spaces", 1, 1, func(old, fresh []string) {
			dedent(old, fresh)
			for _, lines := range [][]string{old, fresh} {
				for i, l := range lines {
					rest := strings.TrimLeft(l, "\t")
					lines[i] = strings.Repeat("    ", len(l)-len(rest)) + rest
				}
			}
		}, 80},
		{"from the first letter", 2, 2, stripFirst, 90},
		{"from the first letter, no context", 0, 0, stripFirst, 70},
	} {
		for _, newline := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, newline=%v", tt.name, newline), func(t *testing.T) {
				sum := &tally{}
				for name, lines := range sourceFiles(t) {
					rng := rand.New(rand.NewPCG(12, uint64(len(name))))
					n := &tally{show: 3}
					for n.all() < 80 {
						c := drawChange(rng, lines)
						old, fresh := c.replacement(lines, rng.IntN(tt.before+1), rng.IntN(tt.after+1))
						if len(old) == 0 || !newline && len(fresh) == 0 {
							continue
						}
						tt.write(old, fresh)
						p := pair{Old: strings.Join(old, "\n"), New: strings.Join(fresh, "\n")}
						if newline {
							p.Old, p.New = p.Old+"\n", p.New+"\n"
							if len(fresh) == 0 {
								p.New = ""
							}
						}
						before, want := strings.Join(lines, "\n")+"\n", c.after(lines)
						if ambiguous(before, p) {
							n.either(t, before, p, want)
						} else {
							n.try(t, "replace", name, before, replaceArgs(p), want)
						}
					}
					t.Log(name, n)
					sum.add(n)
				}
				t.Log(sum)
				if sum.right*100 < sum.all()*tt.least {
					t.Errorf("too few were applied: %s", sum)
				}
			})
		}
	}
}
