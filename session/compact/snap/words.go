package snap

// longestWord is the length of the longest of the small words.
const longestWord = 7

// small are words of English that say little: a reader who cannot make them out
// loses nothing, and without them the others stand out.
var small = map[string]bool{
	"a": true, "an": true, "the": true, "this": true, "that": true, "these": true, "those": true,
	"i": true, "me": true, "my": true, "we": true, "us": true, "our": true, "you": true, "your": true,
	"he": true, "him": true, "his": true, "she": true, "her": true, "it": true, "its": true, "they": true, "them": true, "their": true,
	"who": true, "which": true, "what": true, "there": true, "here": true,
	"am": true, "is": true, "are": true, "was": true, "were": true, "be": true, "been": true, "being": true,
	"has": true, "have": true, "had": true, "having": true, "do": true, "does": true, "did": true, "doing": true,
	"will": true, "would": true, "shall": true, "should": true, "can": true, "could": true, "may": true, "might": true, "must": true,
	"of": true, "in": true, "on": true, "at": true, "to": true, "by": true, "for": true, "from": true, "with": true, "into": true,
	"onto": true, "about": true, "over": true, "under": true, "up": true, "out": true, "off": true, "as": true, "than": true, "via": true,
	"and": true, "or": true, "but": true, "so": true, "if": true, "then": true, "while": true, "because": true, "though": true,
	"also": true, "just": true, "very": true, "too": true, "such": true, "some": true, "any": true, "each": true, "both": true,
	"more": true, "most": true, "own": true, "same": true, "let": true, "now": true, "how": true, "when": true, "where": true,
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0xc0 }

// readWord finds the end of the run of letters that begins here, and whether it is a
// small word of prose: parts of names and paths are none.
func (p *pager) readWord() {
	end := p.at
	for end < len(p.codes) && letter(p.codes[end]) {
		end++
	}
	p.word, p.small = end, false
	if end-p.at > longestWord || !p.edge(p.at-1) || !p.edge(end) {
		return
	}
	var word [longestWord]byte
	n := copy(word[:], p.codes[p.at:end])
	for i := range n {
		word[i] |= 0x20
	}
	p.small = small[string(word[:n])]
}

// edge reports whether a word of prose may end or begin next to the code at i.
func (p *pager) edge(i int) bool {
	if i < 0 || i >= len(p.codes) {
		return true
	}
	switch c := p.codes[i]; c {
	case ' ', codeBreak, ',', ';', '!', '?':
		return true
	case '.', ':':
		return i+1 == len(p.codes) || p.codes[i+1] == ' ' || p.codes[i+1] == codeBreak
	default:
		return toggle(c)
	}
}
