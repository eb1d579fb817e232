package kit

// Shelved is how many texts a library keeps.
func Shelved(l *Library) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.books)
}

// Ranker tells how many passages of a text fit a question.
func Ranker(text string) func(asked string) int {
	b := &book{text: text, found: newIndex(text)}
	return func(asked string) int { return len(rank([]*book{b}, asked, "")) }
}

// Rank is Ranker for one question.
func Rank(text, asked string) int { return Ranker(text)(asked) }
