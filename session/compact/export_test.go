package compact

import "github.com/burin-dev/burin/transcript"

// Files are the files that calls on the path read and did not change, and those that
// they changed, each sorted. Calls that failed do not count, addresses with a scheme
// are no files, and earlier summaries tell of what came before them.
func Files(path []transcript.Entry) (read, modified []string) {
	f := newFileSet()
	f.addAll(path)
	d := f.details()
	return d.ReadFiles, d.ModifiedFiles
}

// Pays says whether a prune is worth its price.
func Pays(saved, after int, c Cache) bool {
	return saved > 0 && (c.free() || c.gain(saved, after) > 0)
}

// TokensOf estimates the context that a path gives: its latest summary, what that
// kept and what came after, in the form that prunes left of it. The system prompt
// and the tools are not part of it.
func TokensOf(path []transcript.Entry) int {
	w := windowOf(path)
	n := 0
	if w.previous >= 0 {
		n = messageTokens + textTokens(path[w.previous].Summary)
	}
	var cut shortened
	for i := len(path) - 1; i >= w.start; i-- {
		cut.note(&path[i])
		n += cut.tokens(&path[i])
	}
	return n
}
