package transcript

// words numbers frequent words, so that the index of a session has each of them once.
type words struct {
	all     []string // by number - 1
	numbers map[string]uint16
}

const (
	maxWords = 1000 // later ones are unknown, and read where they matter
	longWord = 64   // bytes; longer ones are unknown too
)

// number returns the number of a word; 0 if there is none or it is unknown.
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

// word returns the word of a number; "" for 0.
func (w *words) word(n uint16) string {
	if n == 0 {
		return ""
	}
	return w.all[n-1]
}
