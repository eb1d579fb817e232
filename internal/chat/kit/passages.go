package kit

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/search"
)

const (
	passageSize = 1000 // bytes that a passage has about, and
	passageMost = 1500 // at most
	maxPassages = 8
	maxShown    = 12_000 // bytes of passages that stand beside a message
	maxAsked    = 4000   // bytes of a message that are searched for
	beforeShare = 0.3    // what a word of the message before counts
	nearBest    = 0.35   // of the best passage's score that another needs
)

// passage is a part of a text, from and to bytes, in so many words.
type passage struct {
	from, to, line, words int
	above                 string // the headings above it
}

// index finds passages of a text by their words.
type index struct {
	passages []passage
	terms    map[string][]posting
	words    int
}

type posting struct{ passage, times int32 }

func newIndex(text string) index {
	x := index{passages: split(text), terms: map[string][]posting{}}
	for i := range x.passages {
		p := &x.passages[i]
		search.Words(p.above+"\n"+text[p.from:p.to], func(w string) {
			w = stem(w)
			p.words++
			all := x.terms[w]
			if n := len(all); n > 0 && int(all[n-1].passage) == i {
				all[n-1].times++
				return
			}
			x.terms[w] = append(all, posting{int32(i), 1})
		})
		x.words += p.words
	}
	return x
}

// stem takes the endings off that the plural and cases have in languages such as English and German. That makes two words one
// now and then, which costs less than a passage that isn't found.
func stem(w string) string {
	if len(w) > 4 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		w = w[:len(w)-1]
	}
	for _, end := range []string{"en", "e", "n"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) > 3 {
			w = cut
			break
		}
	}
	if cut, ok := strings.CutSuffix(w, "y"); ok && len(cut) > 2 {
		w = cut + "i"
	}
	return w
}

// split cuts a text at headings, paragraphs, lines and at last at words.
func split(text string) (all []passage) {
	var heads [6]string
	from, fromLine, line, above, bare := 0, 1, 1, "", true // bare: there are only headings yet
	end := func(at int) {
		for from < at && text[from] == '\n' {
			from++
			fromLine++
		}
		if strings.TrimSpace(text[from:at]) != "" {
			all = append(all, passage{from: from, to: at, line: fromLine, above: above})
		}
		from, fromLine, bare = at, line, true
		above = under(heads[:])
	}
	for at := 0; at < len(text); line++ {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		this := strings.TrimSpace(text[at:next])
		level := headingLevel(this)
		switch {
		case level > 0:
			if !bare || at-from > passageSize {
				end(at)
			}
			if strings.TrimSpace(text[from:at]) == "" {
				above = under(heads[:level-1])
			}
			heads[level-1] = shortened(strings.TrimSpace(strings.Trim(this, "#")), 100)
			clear(heads[level:])
		case at > from && next-from > passageSize:
			end(at)
		}
		if level == 0 && this != "" {
			bare = false
		}
		for next-from > passageMost {
			end(cutBefore(text, from, from+passageSize))
			bare = false
		}
		at = next
		if this == "" && at-from > passageSize/2 {
			line++
			end(at)
			line--
		}
	}
	end(len(text))
	return all
}

// headingLevel is that of a Markdown heading; 0: the line is none.
func headingLevel(line string) int {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n == len(line) || line[n] != ' ' {
		return 0
	}
	return n
}

func under(heads []string) string {
	var b strings.Builder
	for _, h := range heads {
		if h != "" && b.Len() > 0 {
			b.WriteString(" / ")
		}
		b.WriteString(h)
	}
	return b.String()
}

// cutBefore is where a long line is cut: at the end of a sentence, else of a word, else of a sign.
func cutBefore(text string, from, at int) int {
	part := text[from:at]
	for _, after := range []string{". ", " "} {
		if i := strings.LastIndex(part, after); i > len(part)/2 {
			return from + i + len(after)
		}
	}
	for at > from+1 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// hit is a passage with how well it fits.
type hit struct {
	book, passage int
	score         float64
}

// common are words that say nothing of what is asked, folded.
const common = " a an and are as at be but by can could did do does for from had has have he her his how i if in into is it its may me my no not of on one or please she so some tell thank thanks that the their them then there these they this to use was we were what when where which who why will with would you your" +
	" aber alle als am an auch auf aus bei bitte da danke dann das dass dein dem den der des die dies diese dieser du ein eine einem einen einer er es etwas fur gibt haben hat ich ihr im in ist ja kann kannst kein keine man mein mir mit nach nicht noch nur sein sie sind so uber um und unser vom von war was welche welcher wer werden wie wir wird wo zu zum zur "

// rank gives the passages that fit a question best, the best first, by BM25. A word that stands in over half of many passages
// tells nothing, whatever the language is.
func rank(books []*book, asked, before string) (best []hit) {
	total, words := 0, 0
	for _, b := range books {
		total += len(b.found.passages)
		words += b.found.words
	}
	type word struct {
		stem   string
		weight float64
	}
	var wanted []word
	weight := 1.0
	for _, text := range []string{asked, before} {
		search.Words(strings.ToValidUTF8(text[:min(len(text), maxAsked)], ""), func(w string) {
			if strings.Contains(common, " "+w+" ") {
				return
			}
			w = stem(w)
			for _, has := range wanted {
				if has.stem == w {
					return
				}
			}
			wanted = append(wanted, word{w, weight})
		})
		weight = beforeShare
	}
	const k, b = 1.2, 0.75
	mean := float64(words) / float64(max(1, total))
	scores := make([][]float64, len(books))
	for _, w := range wanted {
		in := 0
		for _, bk := range books {
			in += len(bk.found.terms[w.stem])
		}
		if in == 0 || total > 20 && in*2 > total {
			continue
		}
		idf := w.weight * math.Log(1+(float64(total-in)+.5)/(float64(in)+.5))
		for i, bk := range books {
			for _, p := range bk.found.terms[w.stem] {
				if scores[i] == nil {
					scores[i] = make([]float64, len(bk.found.passages))
				}
				times := float64(p.times)
				long := float64(bk.found.passages[p.passage].words) / mean
				scores[i][p.passage] += idf * times * (k + 1) / (times + k*(1-b+b*long))
			}
		}
	}
	for i, of := range scores {
		for j, score := range of {
			if score > 0 {
				best = insert(best, hit{i, j, score})
			}
		}
	}
	for i, h := range best {
		if h.score < best[0].score*nearBest {
			return best[:i]
		}
	}
	return best
}

// insert puts a hit among the best, which are in order.
func insert(best []hit, h hit) []hit {
	if len(best) == maxPassages {
		if h.score <= best[len(best)-1].score {
			return best
		}
		best = best[:len(best)-1]
	}
	best = append(best, h)
	for i := len(best) - 1; i > 0 && best[i].score > best[i-1].score; i-- {
		best[i], best[i-1] = best[i-1], best[i]
	}
	return best
}
