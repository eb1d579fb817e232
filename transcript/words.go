package transcript

// words gives numbers to words that come again and again, so that the index of a
// session holds each of them once.
type words struct {
	all     []string // by number - 1
	numbers map[string]uint16
}

const (
	maxWords = 1000 // what comes after them is not known, and is read where it matters
	longWord = 64   // bytes; a longer one is not known either
)

// number gives the number of a word; 0 is none, and what is not known.
func (w *words) number(word string) uint16 {
	if n, ok := w.numbers[word]; ok || word == "" || len(word) > longWord || len(w.all) >= maxWords {
		return n
	}
	if w.numbers == nil {
		w.numbers = map[string]uint16{}
	}
	w.all = append(w.all, word)
	n := uint16(len(w.all))
	w.numbers[word] = n
	return n
}

// word gives the word of a number; "" of 0.
func (w *words) word(n uint16) string {
	if n == 0 {
		return ""
	}
	return w.all[n-1]
}
